//! Size of a write: the bytes of its body and of the changed object. It is known before the write starts.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;

use endpoints::cpu_pool::POOL_WRITE_BYTES_MIN;
use endpoints::routing::dispatch::{BODY_BYTES_MAX, Body, BoxError, Dispatch, Request};

/// True if a write is expensive. Reads the available body if it is or may be large, so that a pool thread
/// never waits for input. The handler gets the unchanged body.
pub(super) async fn is_expensive(request: Request, dispatch: &dyn Dispatch) -> (Request, bool) {
    if !request.context.info.is_resource {
        // Documents do not read a body. The pool builds them, so their request must not run in the pool.
        return (request, false);
    }
    let stored = dispatch.stored_bytes(&request.context.info);
    let announced = request.body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
    if announced.is_some_and(|bytes| bytes.saturating_add(stored) <= POOL_WRITE_BYTES_MIN) {
        return (request, false);
    }
    let (body, bytes) = read_ahead(request.body).await;
    (Request { body, ..request }, bytes.saturating_add(stored) > POOL_WRITE_BYTES_MIN)
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
