//! Bodies that are made while they are sent: a source is asked for some more bytes whenever the
//! connection has room, so that a body of any size takes a chunk or two of memory.

use std::pin::Pin;
use std::task::{Context, Poll};

use apimachinery::status::Status;
use bytes::Bytes;
use http_body::{Body, Frame};
use schema::json_write::Indenter;

use crate::routing::dispatch::BoxError;

/// About how many bytes are made at a time.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Where a body comes from. It has two parts: what differs between two answers with the same items,
/// and the items, which are the same bytes as long as they do not change.
pub(crate) trait Source: Send + 'static {
    /// Finds out a part of what the first part of the body says of the second: some milliseconds of work at most.
    /// Returns whether more is to be found out. Called until it is not, before anything else, but not at all where
    /// the second part is at hand.
    ///
    /// # Errors
    /// What cannot be encoded.
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        Ok(false)
    }

    /// Appends the first part. Called once, before the second is asked for. `rest` is the length of the second
    /// part, where it is known because that part is at hand already; it is not asked for then.
    ///
    /// # Errors
    /// What cannot be encoded.
    fn head(&mut self, rest: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>>;

    /// Appends some of the second part, until `out` holds `enough` bytes, the end is reached, or the thread has been
    /// busy with this for long enough: then it may have appended little or nothing. Returns whether there is more.
    /// Not called again after the end.
    ///
    /// # Errors
    /// What cannot be encoded.
    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>>;
}

/// A source of compact JSON, indented.
pub(crate) struct Indented<S> {
    source: S,
    indenter: Indenter,
    /// A piece before it is indented.
    compact: Vec<u8>,
}

impl<S: Source> Indented<S> {
    /// What `source` makes, for people.
    pub(crate) fn new(source: S) -> Self {
        Indented { source, indenter: Indenter::default(), compact: Vec::new() }
    }
}

impl<S: Source> Source for Indented<S> {
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        self.source.prepare()
    }

    /// The length of the rest is not asked for: nobody keeps a rest that is indented.
    fn head(&mut self, rest: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        self.compact.clear();
        self.source.head(rest, &mut self.compact)?;
        self.indenter.push(&self.compact, out);
        Ok(())
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        loop {
            self.compact.clear();
            let more = self.source.fill(&mut self.compact, CHUNK_BYTES / 2)?;
            self.indenter.push(&self.compact, out);
            if !more || out.len() >= enough || self.compact.len() < CHUNK_BYTES / 2 {
                return Ok(more);
            }
        }
    }
}

/// A body that sends what was made already and then the rest of its source.
pub(crate) struct Chunks<S> {
    made: Option<Bytes>,
    source: Option<S>,
}

impl<S: Source> Chunks<S> {
    /// The body of `made` and whatever `source` still has.
    pub(crate) fn new(made: Vec<u8>, source: S) -> Self {
        Chunks { made: Some(made.into()), source: Some(source) }
    }
}

impl<S: Source + Unpin> Body for Chunks<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(made) = self.made.take() {
            return Poll::Ready(Some(Ok(Frame::data(made))));
        }
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let mut out = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        match source.fill(&mut out, CHUNK_BYTES) {
            Ok(true) if out.is_empty() => return yield_now(context),
            Ok(true) => {}
            Ok(false) => self.source = None,
            Err(status) => {
                self.source = None;
                return Poll::Ready(Some(Err(cut(&status))));
            }
        }
        Poll::Ready(Some(Ok(Frame::data(out.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.made.is_none() && self.source.is_none()
    }
}

/// Lets other work of the thread go first.
pub(crate) fn yield_now<T>(context: &Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

/// The failure of a body that has begun: the stream is cut, for its status is on the wire already.
pub(crate) fn cut(status: &Status) -> BoxError {
    tracing::error!(message = %status.message, "an answer is cut because it cannot be encoded");
    status.message.clone().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Waker;

    use super::*;

    /// Gives items of 1000 bytes, and says how many bytes it has made.
    struct Endless(Arc<AtomicUsize>);

    impl Source for Endless {
        fn head(&mut self, _: Option<usize>, _: &mut Vec<u8>) -> Result<(), Box<Status>> {
            Ok(())
        }

        fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
            while out.len() < enough {
                out.extend_from_slice(&[b'x'; 1000]);
                self.0.fetch_add(1000, Relaxed);
            }
            Ok(self.0.load(Relaxed) < 1_000_000)
        }
    }

    /// Has to look for so long before it finds its only byte.
    struct Sparse(usize);

    impl Source for Sparse {
        fn head(&mut self, _: Option<usize>, _: &mut Vec<u8>) -> Result<(), Box<Status>> {
            Ok(())
        }

        fn fill(&mut self, out: &mut Vec<u8>, _: usize) -> Result<bool, Box<Status>> {
            if self.0 == 0 {
                out.push(b'x');
                return Ok(false);
            }
            self.0 -= 1;
            Ok(true)
        }
    }

    #[tokio::test]
    async fn a_body_of_which_little_is_found_gives_way_and_comes_to_its_end() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut body = Box::pin(Chunks::new(b"head".to_vec(), Sparse(2)));
        assert!(body.as_mut().poll_frame(&mut cx).is_ready());
        assert!(body.as_mut().poll_frame(&mut cx).is_pending());
        // Whoever wakes it is the body itself.
        let rest = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        assert_eq!(rest, "x");
        let indented = Chunks::new(Vec::new(), Indented::new(Sparse(2)));
        let all = http_body_util::BodyExt::collect(indented).await.unwrap().to_bytes();
        assert_eq!(all, "x");
    }

    /// An array of so many numbers, one at a time.
    struct Numbers(usize);

    impl Source for Numbers {
        fn head(&mut self, _: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
            out.push(b'[');
            Ok(())
        }

        fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
            while out.len() < enough && self.0 > 1 {
                out.extend_from_slice(b"12345,");
                self.0 -= 1;
            }
            if self.0 == 1 && out.len() < enough {
                out.extend_from_slice(b"1]");
                self.0 = 0;
            }
            Ok(self.0 > 0)
        }
    }

    #[test]
    fn an_indented_body_is_made_piece_by_piece_and_laid_out_as_a_whole() {
        const COUNT: usize = 100_000;
        let mut source = Indented::new(Numbers(COUNT));
        let (mut made, mut pieces) = (Vec::new(), 0);
        source.head(None, &mut made).unwrap();
        loop {
            let mut piece = Vec::new();
            let more = source.fill(&mut piece, CHUNK_BYTES).unwrap();
            assert!(piece.len() < 2 * CHUNK_BYTES, "{}", piece.len());
            made.extend_from_slice(&piece);
            pieces += 1;
            if !more {
                break;
            }
        }
        let mut expected = Vec::new();
        schema::json_write::indent(format!("[{}1]", "12345,".repeat(COUNT - 1)).as_bytes(), &mut expected);
        assert!(made == expected);
        assert!(pieces > 1, "{pieces}");
    }

    #[test]
    fn nothing_is_made_before_the_reader_wants_it() {
        let made = Arc::new(AtomicUsize::new(0));
        let mut source = Endless(Arc::clone(&made));
        let mut first = Vec::new();
        assert!(source.fill(&mut first, CHUNK_BYTES).unwrap());
        let mut body = Box::pin(Chunks::new(first, source));
        let mut cx = Context::from_waker(Waker::noop());
        let mut sent = 0;
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
            let frame = frame.unwrap().into_data().unwrap();
            sent += frame.len();
            assert!(made.load(Relaxed) <= sent + CHUNK_BYTES + 1000, "{sent}");
            assert!(frame.len() <= CHUNK_BYTES + 1000);
        }
        assert!(sent >= 1_000_000 && sent == made.load(Relaxed) && body.is_end_stream());
    }

    #[test]
    fn a_failure_cuts_the_stream() {
        struct Broken;
        impl Source for Broken {
            fn head(&mut self, _: Option<usize>, _: &mut Vec<u8>) -> Result<(), Box<Status>> {
                Ok(())
            }
            fn fill(&mut self, _: &mut Vec<u8>, _: usize) -> Result<bool, Box<Status>> {
                Err(Status::internal_error("broken").into())
            }
        }
        let mut body = Box::pin(Chunks::new(b"begun".to_vec(), Broken));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(body.as_mut().poll_frame(&mut cx), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(body.as_mut().poll_frame(&mut cx), Poll::Ready(Some(Err(_)))));
        assert!(matches!(body.as_mut().poll_frame(&mut cx), Poll::Ready(None)));
    }
}
