//! Response body that keeps the request active until its last byte and enforces its deadline.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Sleep;

use endpoints::routing::dispatch::{Body, BoxError};

use crate::chain::RequestResources;
use crate::limits::limiter::ResponseLimitGuards;

/// Passes frames through. A panic or an expired deadline ends the body with an error. This cuts the stream,
/// so that the client does not mistake it for complete.
pub(crate) struct ResponseBody {
    inner: Body,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Resources of the request, released when the body is dropped. `None` for the response that opens a tunnel.
    resources: Option<RequestResources>,
}

impl ResponseBody {
    pub(crate) fn new(
        inner: Body,
        deadline: Option<Pin<Box<Sleep>>>,
        mut resources: RequestResources,
    ) -> Self {
        if inner.is_end_stream() {
            resources.observer.record_completion();
        }
        ResponseBody { inner, deadline, resources: Some(resources) }
    }

    /// Body whose request is observed elsewhere.
    pub(crate) fn unobserved(inner: Body) -> Self {
        ResponseBody { inner, deadline: None, resources: None }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let Some(resources) = &mut this.resources else { return Pin::new(&mut this.inner).poll_frame(cx) };
        let frame = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.inner).poll_frame(cx)));
        if resources.response_guards.as_deref().is_some_and(ResponseLimitGuards::is_finished) {
            resources.response_guards = None;
        }
        match frame {
            Ok(Poll::Ready(frame)) => {
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                resources.observer.record_sent(data);
                if frame.is_none() || this.inner.is_end_stream() {
                    resources.observer.record_completion();
                }
                Poll::Ready(frame)
            }
            Ok(Poll::Pending) => match this.deadline.as_mut().map(|deadline| deadline.as_mut().poll(cx)) {
                Some(Poll::Ready(())) => {
                    resources.observer.record_send_timeout();
                    Poll::Ready(Some(Err("the request ran out of time while its answer was sent".into())))
                }
                _ => Poll::Pending,
            },
            Err(_) => {
                resources.observer.record_send_panic();
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
