//! Bodies that are kept while they pass by.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use endpoints::dispatch::{Body, BoxError};

/// The pieces of a body, as far as they have passed by. They are shared with whoever reads the body.
#[derive(Clone)]
pub(super) struct Kept(Arc<Mutex<Pieces>>);

struct Pieces {
    pieces: Vec<Bytes>,
    /// How many more bytes are kept; `None` if there were more.
    room: Option<usize>,
}

impl Kept {
    /// Keeps at most so many bytes, and nothing of a longer body.
    pub(super) fn new(bytes_max: usize) -> Self {
        Kept(Arc::new(Mutex::new(Pieces { pieces: Vec::new(), room: Some(bytes_max) })))
    }

    pub(super) fn push(&self, piece: &Bytes) {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.room = pieces.room.and_then(|room| room.checked_sub(piece.len()));
        match pieces.room {
            Some(_) => pieces.pieces.push(piece.clone()),
            None => pieces.pieces.clear(),
        }
    }

    /// All of it; `None` if that is too much.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.room?;
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
