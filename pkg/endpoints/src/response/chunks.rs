//! Streamed response bodies. A source is polled for more bytes whenever the connection can send, so a body of
//! any size takes one or two chunks of memory.

use std::pin::Pin;
use std::task::{Context, Poll};

use apimachinery::status::Status;
use bytes::Bytes;
use http_body::{Body, Frame};
use schema::json_write::Indenter;

use crate::routing::dispatch::BoxError;

/// Approximate size of a chunk in bytes.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Source of a body. It has two parts: a first part that differs between responses with the same items, and
/// the items. The bytes of the items are the same as long as the items do not change.
pub(crate) trait Source: Send + 'static {
    /// Computes a part of the data that the first part needs about the second: some milliseconds of work at
    /// most. Returns true if there is more to compute.
    ///
    /// Called before anything else, until it returns false. Not called if the second part is cached.
    ///
    /// # Errors
    /// An object cannot be encoded.
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        Ok(false)
    }

    /// Appends the first part. Called once, before the second part is requested. `rest` is the length of the
    /// second part if that part is cached; it is not requested then.
    ///
    /// # Errors
    /// An object cannot be encoded.
    fn head(&mut self, rest: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>>;

    /// Appends some of the second part, until `out` holds `enough` bytes, the end is reached, or the time
    /// slice is used up. In the last case it may append little or nothing. Returns true if there is more. Not
    /// called again after the end.
    ///
    /// # Errors
    /// An object cannot be encoded.
    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>>;
}

/// Source that indents the compact JSON of another source.
pub(crate) struct IndentedSource<S> {
    source: S,
    indenter: Indenter,
    /// One piece before it is indented.
    compact: Vec<u8>,
}

impl<S: Source> IndentedSource<S> {
    /// Indents the output of `source` (`?pretty=true`).
    pub(crate) fn new(source: S) -> Self {
        IndentedSource { source, indenter: Indenter::default(), compact: Vec::new() }
    }
}

impl<S: Source> Source for IndentedSource<S> {
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        self.source.prepare()
    }

    /// Ignores the length of the rest, because an indented rest is never cached.
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

/// Body that sends bytes that are already encoded and then the rest of its source.
pub(crate) struct Chunks<S> {
    output: Option<Bytes>,
    source: Option<S>,
}

impl<S: Source> Chunks<S> {
    /// Body of `made` and the remaining bytes of `source`.
    pub(crate) fn new(output: Vec<u8>, source: S) -> Self {
        Chunks { output: Some(output.into()), source: Some(source) }
    }
}

impl<S: Source + Unpin> Body for Chunks<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(data) = self.output.take() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let mut out = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        match source.fill(&mut out, CHUNK_BYTES) {
            Ok(true) if out.is_empty() => return yield_now(context),
            Ok(true) => {}
            Ok(false) => self.source = None,
            Err(status) => {
                self.source = None;
                return Poll::Ready(Some(Err(abort_body(&status))));
            }
        }
        Poll::Ready(Some(Ok(Frame::data(out.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.output.is_none() && self.source.is_none()
    }
}

/// Yields to other tasks of the thread.
pub(crate) fn yield_now<T>(context: &Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Error for a body that has started. The stream is cut off, because its status is already on the wire.
pub(crate) fn abort_body(status: &Status) -> BoxError {
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

    /// Produces items of 1000 bytes and counts the produced bytes.
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

    /// Source that scans for this many slices before it finds its only byte.
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
    async fn sparse_body_yields_and_completes() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut body = Box::pin(Chunks::new(b"head".to_vec(), Sparse(2)));
        assert!(body.as_mut().poll_frame(&mut cx).is_ready());
        assert!(body.as_mut().poll_frame(&mut cx).is_pending());
        // The body wakes itself.
        let rest = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        assert_eq!(rest, "x");
        let indented = Chunks::new(Vec::new(), IndentedSource::new(Sparse(2)));
        let all = http_body_util::BodyExt::collect(indented).await.unwrap().to_bytes();
        assert_eq!(all, "x");
    }

    /// A JSON array of this many numbers, one per call.
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
    fn body_is_indented_in_pieces() {
        const COUNT: usize = 100_000;
        let mut source = IndentedSource::new(Numbers(COUNT));
        let mut text = Vec::new();
        let mut pieces = 0;
        source.head(None, &mut text).unwrap();
        loop {
            let mut piece = Vec::new();
            let more = source.fill(&mut piece, CHUNK_BYTES).unwrap();
            assert!(piece.len() < 2 * CHUNK_BYTES, "{}", piece.len());
            text.extend_from_slice(&piece);
            pieces += 1;
            if !more {
                break;
            }
        }
        let mut expected = Vec::new();
        schema::json_write::indent(format!("[{}1]", "12345,".repeat(COUNT - 1)).as_bytes(), &mut expected);
        assert!(text == expected);
        assert!(pieces > 1, "{pieces}");
    }

    #[test]
    fn body_is_produced_on_demand() {
        let produced = Arc::new(AtomicUsize::new(0));
        let mut source = Endless(Arc::clone(&produced));
        let mut first = Vec::new();
        assert!(source.fill(&mut first, CHUNK_BYTES).unwrap());
        let mut body = Box::pin(Chunks::new(first, source));
        let mut cx = Context::from_waker(Waker::noop());
        let mut sent = 0;
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
            let frame = frame.unwrap().into_data().unwrap();
            sent += frame.len();
            assert!(produced.load(Relaxed) <= sent + CHUNK_BYTES + 1000, "{sent}");
            assert!(frame.len() <= CHUNK_BYTES + 1000);
        }
        assert!(sent >= 1_000_000 && sent == produced.load(Relaxed) && body.is_end_stream());
    }

    #[test]
    fn encoding_error_cuts_stream() {
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
