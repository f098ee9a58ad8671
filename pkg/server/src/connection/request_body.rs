//! What is left of a request's body when its answer is ready.
//!
//! A client that was refused before its body was read has often not sent all of it yet. On HTTP/1.1
//! the next request follows the body on the same connection; closing it would look like a failure of
//! the network, and the answer would be lost. On HTTP/2 the stream is reset behind the answer, and some
//! clients (curl) then report the reset and forget the answer. So a short rest is read and thrown away
//! first, as Go's server does on HTTP/1.1.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// The longest rest that is read, in bytes.
const REST_BYTES_MAX: u64 = 256 * 1024;
/// The longest time that is waited for it.
const REST_TIME_MAX: Duration = Duration::from_secs(5);

/// A body that leaves what was not read of it behind.
pub(crate) struct RequestBody {
    inner: Option<Incoming>,
    rest: UnreadBody,
}

/// Where the rest of a body is left.
#[derive(Clone, Default)]
pub(crate) struct UnreadBody(Arc<Mutex<Option<Incoming>>>);

impl RequestBody {
    /// Splits a body into one to read and what will be left of it.
    pub(crate) fn new(body: Incoming) -> (Self, UnreadBody) {
        let rest = UnreadBody::default();
        (RequestBody { inner: Some(body), rest: rest.clone() }, rest)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(body) = self.inner.take().filter(|body| !body.is_end_stream()) {
            *self.rest.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl UnreadBody {
    /// Reads and drops what is left. Returns whether the next request can follow: not when too much
    /// is left, or when the client waits for a word before it sends any (`Expect`).
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
                if read > REST_BYTES_MAX {
                    return None;
                }
            }
            Some(())
        };
        timeout(REST_TIME_MAX, read_all).await.is_ok_and(|done| done.is_some())
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
