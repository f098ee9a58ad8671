//! Handles the unread rest of a request's body when the response is ready.
//!
//! A client that was rejected early has often not sent its whole body. In HTTP/1.1 the next request follows
//! on the same connection. Closing the connection would look like a network failure and lose the response. In
//! HTTP/2 the stream is reset after the response, and some clients (curl) then report the reset instead of
//! the response. So a short rest is read and discarded first, like Go's server does for HTTP/1.1.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// Maximum length of the discarded rest in bytes.
const DISCARD_BYTES_MAX: u64 = 256 * 1024;
/// Maximum wait for the rest.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// Body that leaves its unread part in a [`UnreadBody`] when it is dropped.
pub(crate) struct RequestBody {
    inner: Option<Incoming>,
    unread: UnreadBody,
}

/// Unread part of a body.
#[derive(Clone, Default)]
pub(crate) struct UnreadBody(Arc<Mutex<Option<Incoming>>>);

impl RequestBody {
    /// Splits a body into a readable body and its later rest.
    pub(crate) fn new(body: Incoming) -> (Self, UnreadBody) {
        let unread = UnreadBody::default();
        (RequestBody { inner: Some(body), unread: unread.clone() }, unread)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(body) = self.inner.take().filter(|body| !body.is_end_stream()) {
            *self.unread.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl UnreadBody {
    /// Reads and discards the rest. Returns true if the connection can be reused. This is not the case if the
    /// rest is too long, or if the client waits for a 100 response (`Expect`).
    pub(crate) async fn discard(self, expects: bool) -> bool {
        let Some(mut body) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return true;
        };
        if expects {
            return false;
        }
        let read_all = async {
            let mut read = 0_u64;
            while let Some(frame) = body.frame().await {
                read += frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
                if read > DISCARD_BYTES_MAX {
                    return None;
                }
            }
            Some(())
        };
        timeout(DISCARD_TIMEOUT, read_all).await.is_ok_and(|done| done.is_some())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.inner.as_mut() {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}
