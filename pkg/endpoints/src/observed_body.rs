//! Response body with a completion callback.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::routing::dispatch::{Body, BoxError, full};

/// Result of sending a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendResult {
    /// Number of bytes that the connection has taken.
    pub bytes: usize,
    /// True if the body was sent completely.
    pub complete: bool,
}

/// Body that calls a callback with its result when it is dropped.
pub struct ObservedBody<F: FnOnce(SendResult)> {
    inner: Body,
    bytes: usize,
    ended: bool,
    on_end: Option<F>,
}

impl<F: FnOnce(SendResult) + Send + Unpin + 'static> ObservedBody<F> {
    /// Wraps `inner`. `done` is called when the body is complete or was abandoned.
    pub fn body(inner: Body, on_end: F) -> Body {
        ObservedBody { inner, bytes: 0, ended: false, on_end: Some(on_end) }.boxed_unsync()
    }
}

impl<F: FnOnce(SendResult) + Unpin> http_body::Body for ObservedBody<F> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => self.bytes += frame.data_ref().map_or(0, Bytes::len),
            Poll::Ready(None) => self.ended = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<F: FnOnce(SendResult)> Drop for ObservedBody<F> {
    fn drop(&mut self) {
        let result = SendResult { bytes: self.bytes, complete: self.ended || self.inner.is_end_stream() };
        // The inner body is dropped first, because its work is part of this one's.
        drop(std::mem::replace(&mut self.inner, full(Bytes::new())));
        if let Some(report) = self.on_end.take() {
            report(result);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{Arc, Mutex};
    use std::task::Waker;

    use super::*;

    fn frames(body: &mut Body, count: usize) {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..count {
            assert!(Pin::new(&mut *body).poll_frame(&mut cx).is_ready());
        }
    }

    #[test]
    fn nested_observers_run_from_inside_out() {
        let check = |polls: usize, expected: SendResult| {
            let reports = Arc::<Mutex<Vec<(&str, SendResult)>>>::default();
            let note = |name: &'static str| {
                let reports = Arc::clone(&reports);
                move |result| reports.lock().unwrap().push((name, result))
            };
            let inner = ObservedBody::body(full("abc"), note("inner"));
            let mut body = ObservedBody::body(inner, note("outer"));
            frames(&mut body, polls);
            assert!(reports.lock().unwrap().is_empty());
            drop(body);
            assert_eq!(*reports.lock().unwrap(), [("inner", expected), ("outer", expected)]);
        };
        check(0, SendResult { bytes: 0, complete: false });
        check(1, SendResult { bytes: 3, complete: true });
        check(2, SendResult { bytes: 3, complete: true });
    }
}
