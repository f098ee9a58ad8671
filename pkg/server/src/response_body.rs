//! A response body that keeps the request alive until its last byte, and holds it to its bounds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use endpoints::dispatch::{Body, BoxError};

use crate::metrics::Metrics;

/// Passes frames through. A panic while a frame is made and a deadline that passes meanwhile end the
/// body with an error, which cuts the stream: the client must not take what it has for the whole.
pub(crate) struct ResponseBody<G> {
    inner: Body,
    deadline: Option<Pin<Box<Sleep>>>,
    metrics: Arc<Metrics>,
    /// Seats and counters of the request, given back when the body is dropped.
    _held: G,
}

impl<G> ResponseBody<G> {
    pub(crate) fn new(
        inner: Body,
        deadline: Option<Pin<Box<Sleep>>>,
        metrics: Arc<Metrics>,
        held: G,
    ) -> Self {
        ResponseBody { inner, deadline, metrics, _held: held }
    }
}

impl<G: Unpin> http_body::Body for ResponseBody<G> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.inner).poll_frame(cx)));
        match frame {
            Ok(Poll::Ready(frame)) => Poll::Ready(frame),
            Ok(Poll::Pending) => match this.deadline.as_mut().map(|deadline| deadline.as_mut().poll(cx)) {
                Some(Poll::Ready(())) => {
                    this.metrics.timeouts.fetch_add(1, Relaxed);
                    Poll::Ready(Some(Err("the request ran out of time while its answer was sent".into())))
                }
                _ => Poll::Pending,
            },
            Err(_) => {
                this.metrics.panics.fetch_add(1, Relaxed);
                tracing::error!("panic while an answer was sent");
                Poll::Ready(Some(Err("panic while the answer was made".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
