//! Memory reservation for the body of a write; nothing is reserved before bytes arrive.
//!
//! A body beyond a small one reserves its whole announced length. If each of its frames reserved memory, half-received bodies
//! could fill the memory and wait for each other.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use apimachinery::status::Status;
use endpoints::cpu_pool::Overloaded;
use endpoints::routing::dispatch::{Body, BoxError};

use super::reservation::{Growth, work_bytes};
use super::{BODY_BYTES_MAX, Purpose, Reservation, ReservedBytes};

impl Reservation {
    /// Body that reserves one byte per byte of its length. If it gets no memory, it fails with a Status: 429. A length of
    /// which only a few KiB have arrived reserves nothing, otherwise a client could exhaust the memory with an announcement.
    pub(crate) fn reserve_received(&self, body: Body) -> Body {
        self.meter(body, false)
    }

    /// The same body for the handler: reading it reserves the memory for processing.
    pub(crate) fn reserve_while_read(&self, body: Body) -> Body {
        self.meter(body, true)
    }

    fn meter(&self, body: Body, is_processed: bool) -> Body {
        match &self.0 {
            Some(reserved) => {
                let reserved = Arc::clone(reserved);
                let length_max = BODY_BYTES_MAX as u64;
                let announced =
                    http_body::Body::size_hint(&body).upper().unwrap_or(length_max).min(length_max);
                MeteredBody { body, reserved, announced, is_processed, waiting: None }.boxed_unsync()
            }
            None => body,
        }
    }
}

struct MeteredBody {
    body: Body,
    reserved: Arc<ReservedBytes>,
    /// Length that the client announced; without one, the maximum.
    announced: u64,
    /// True if the reader processes the body.
    is_processed: bool,
    waiting: Option<WaitingFrame>,
}

/// Frame that waits for its memory. The sender of the body waits, too, because nothing more is read.
struct WaitingFrame {
    frame: Frame<Bytes>,
    growth: BoxFuture<'static, Result<(), Overloaded>>,
}

impl MeteredBody {
    /// Reserves the memory of a frame, or starts to wait for it.
    fn admit(&mut self, frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        if length == 0 {
            return Some(frame);
        }
        let Growth { purpose, bytes } = if self.is_processed {
            Growth { purpose: Purpose::ProcessPart, bytes: work_bytes(length) }
        } else {
            self.reserved.growth_of_received(length, self.announced)
        };
        if bytes == 0 || self.reserved.try_grow(purpose, bytes) {
            return Some(frame);
        }
        let reserved = Arc::clone(&self.reserved);
        let growth = async move { reserved.grow(purpose, bytes, 0).await }.boxed();
        self.waiting = Some(WaitingFrame { frame, growth });
        None
    }
}

impl http_body::Body for MeteredBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.waiting.is_none() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            if let Some(frame) = self.admit(frame) {
                return Poll::Ready(Some(Ok(frame)));
            }
        }
        let Some(waiting) = &mut self.waiting else { return Poll::Ready(None) };
        let grown = ready!(waiting.growth.poll_unpin(cx));
        let frame = self.waiting.take().map(|waiting| waiting.frame);
        let rejection = |overloaded| -> BoxError { Box::<Status>::from(overloaded) };
        Poll::Ready(frame.map(|frame| grown.map(|()| frame).map_err(rejection)))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.waiting.is_some() { SizeHint::default() } else { self.body.size_hint() }
    }
}
