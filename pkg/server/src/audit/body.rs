//! Bodies that are kept while they pass by.

use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use endpoints::dispatch::{Body, BoxError};

/// Room for what is kept, shared by all requests.
pub(super) struct Room(AtomicUsize);

impl Room {
    /// For so many bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Room(AtomicUsize::new(bytes))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }
}

/// The pieces of a body, as far as they have passed by. They are shared with whoever reads the body.
#[derive(Clone)]
pub(super) struct Kept(Arc<Mutex<Pieces>>);

struct Pieces {
    pieces: Vec<Bytes>,
    /// How many more bytes may be kept; `None` if there were more.
    left: Option<usize>,
    /// How many are.
    bytes: usize,
    room: Arc<Room>,
}

impl Pieces {
    fn push(&mut self, piece: &Bytes) {
        self.left = self.left.and_then(|left| left.checked_sub(piece.len()));
        if self.left.is_none() || !self.room.take(piece.len()) {
            self.left = None;
            self.pieces.clear();
            self.room.give_back(std::mem::take(&mut self.bytes));
            return;
        }
        self.bytes = self.bytes.saturating_add(piece.len());
        self.pieces.push(piece.clone());
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
    }
}

impl Kept {
    /// Keeps at most so many bytes, while there is room, and nothing of a longer body.
    pub(super) fn new(bytes_max: usize, room: &Arc<Room>) -> Self {
        let (left, room) = (Some(bytes_max), Arc::clone(room));
        Kept(Arc::new(Mutex::new(Pieces { pieces: Vec::new(), left, bytes: 0, room })))
    }

    pub(super) fn push(&self, piece: &Bytes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
    }

    /// All of it; `None` if that is too much.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.left?;
        Some(std::mem::take(&mut pieces.pieces).concat())
    }

    /// The body, which is kept as it is read.
    pub(super) fn keeping(self, body: Body) -> Body {
        Keeping { body, kept: self }.boxed_unsync()
    }
}

struct Keeping {
    body: Body,
    kept: Kept,
}

impl http_body::Body for Keeping {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(piece) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.kept.push(piece);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_or_finds_no_room_is_not_kept() {
        let room = Arc::new(Room::of(10));
        let check = |max: usize, pieces: &[&'static str], expected: Option<&str>| {
            let kept = Kept::new(max, &room);
            pieces.iter().for_each(|piece| kept.push(&Bytes::from_static(piece.as_bytes())));
            assert_eq!(kept.take(), expected.map(|text| text.as_bytes().to_vec()), "{max} {pieces:?}");
        };
        check(5, &["abc", "de"], Some("abcde"));
        check(5, &["abc", "def", "g"], None);
        let other = Kept::new(100, &room);
        other.push(&Bytes::from_static(b"12345678"));
        check(5, &["abc"], None);
        drop(other);
        check(100, &["1234567890"], Some("1234567890"));
        assert_eq!(room.0.load(Relaxed), 10, "all is given back");
    }
}
