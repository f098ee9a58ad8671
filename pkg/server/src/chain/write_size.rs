//! Size of a write: the bytes of its body and of the changed object. It is known before the write starts.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;

use endpoints::cpu_pool::{CpuPool, Overloaded, POOL_WRITE_BYTES_MIN, StartRequest};
use endpoints::routing::dispatch::{BODY_BYTES_MAX, Body, BoxError, Dispatch, Request};
use tokio::time::Instant;

use crate::limits::memory::head_bytes;

/// Write with the decision if it runs in the CPU pool.
pub(super) struct SizedWrite {
    pub(super) request: Request,
    /// Present for an expensive write, which runs in the CPU pool.
    pub(super) pool: Option<PoolWrite>,
}

/// Data for the start of an expensive write.
pub(super) struct PoolWrite {
    user: String,
    /// Length of the request head in bytes.
    head_bytes: u64,
    body_bytes: u64,
    stored_bytes: u64,
}

impl PoolWrite {
    /// Bytes of the body and of the stored object.
    pub(super) fn object_bytes(&self) -> u64 {
        self.body_bytes.saturating_add(self.stored_bytes)
    }

    /// Request for a start until `start_by`. The write retains its head and its body while it waits.
    pub(super) fn start(&self, start_by: Instant) -> StartRequest<'_> {
        let retained_bytes = self.head_bytes.saturating_add(self.body_bytes);
        StartRequest { user: &self.user, retained_bytes, start_by }
    }
}

impl SizedWrite {
    /// Reads the available body if it is or may be large, so that a pool thread never waits for input. The
    /// handler gets the unchanged body.
    ///
    /// # Errors
    /// The pool has no room for the announced length. Nothing was read.
    pub(super) async fn read(
        request: Request,
        dispatch: &dyn Dispatch,
        pool: &CpuPool,
    ) -> Result<Self, Overloaded> {
        if !request.context.info.is_resource {
            // Documents do not read a body. The pool builds them, so their request must not run in the pool.
            return Ok(SizedWrite { request, pool: None });
        }
        let stored = dispatch.stored_bytes(&request.context.info);
        let announced = request.body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
        if announced.is_some_and(|bytes| bytes.saturating_add(stored) <= POOL_WRITE_BYTES_MIN) {
            return Ok(SizedWrite { request, pool: None });
        }
        let announced = announced.unwrap_or(0).min(BODY_BYTES_MAX);
        let head_bytes = head_bytes(&request.parts);
        let user = request.authorized.user().name.as_str();
        pool.check_room(user, head_bytes.saturating_add(announced as u64))?;
        let (body, read) = read_ahead(request.body).await;
        let user = request.authorized.user().name.clone();
        let write = PoolWrite { user, head_bytes, body_bytes: read as u64, stored_bytes: stored as u64 };
        let is_expensive = write.object_bytes() > POOL_WRITE_BYTES_MIN as u64;
        Ok(SizedWrite { request: Request { body, ..request }, pool: is_expensive.then_some(write) })
    }
}

/// Reads a body to its end, its error, or just beyond the maximum size. Returns the whole body again with the
/// number of bytes read.
async fn read_ahead(mut unread_body: Body) -> (Body, usize) {
    let mut read = BytesMut::new();
    let mut failure = None;
    while read.len() <= BODY_BYTES_MAX {
        match unread_body.frame().await {
            None => break,
            Some(Ok(frame)) => read.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Some(Err(error)) => {
                failure = Some(error);
                break;
            }
        }
    }
    let bytes = read.len();
    let read = Some(read.freeze()).filter(|read| !read.is_empty());
    (ReadAhead { read, failure, unread_body }.boxed_unsync(), bytes)
}

/// Body whose start was already read.
struct ReadAhead {
    read: Option<Bytes>,
    failure: Option<BoxError>,
    unread_body: Body,
}

impl http_body::Body for ReadAhead {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(read) = self.read.take() {
            return Poll::Ready(Some(Ok(Frame::data(read))));
        }
        match self.failure.take() {
            Some(failure) => Poll::Ready(Some(Err(failure))),
            None => Pin::new(&mut self.unread_body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_none() && self.failure.is_none() && self.unread_body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http_body_util::StreamBody;

    /// Reads the start of a body made of these pieces, then the whole body. Compares the number of bytes read
    /// ahead and the reader's result.
    async fn check(pieces: Vec<Result<usize, &'static str>>, ahead: usize, expected: Result<usize, &str>) {
        let frames = pieces.clone().into_iter().map(|piece| match piece {
            Ok(bytes) => Ok(Frame::data(vec![b'x'; bytes].into())),
            Err(text) => Err(BoxError::from(text)),
        });
        let body = StreamBody::new(futures::stream::iter(frames)).boxed_unsync();
        let (body, read) = read_ahead(body).await;
        assert_eq!(read, ahead, "{pieces:?}");
        let collected = body.collect().await.map(|body| body.to_bytes().len());
        assert_eq!(
            collected.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{pieces:?}"
        );
    }

    #[tokio::test]
    async fn read_ahead_preserves_body() {
        check(vec![], 0, Ok(0)).await;
        check(vec![Ok(1), Ok(0), Ok(70_000)], 70_001, Ok(70_001)).await;
        check(vec![Ok(5), Err("reset")], 5, Err("reset")).await;
        check(vec![Ok(BODY_BYTES_MAX), Ok(1), Ok(9)], BODY_BYTES_MAX + 1, Ok(BODY_BYTES_MAX + 10)).await;
    }
}
