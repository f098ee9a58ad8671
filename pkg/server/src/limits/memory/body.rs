//! Memory reservation for the body of a write; nothing is reserved before bytes arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use apimachinery::status::Status;
use endpoints::routing::dispatch::{Body, BoxError};

use super::{Reservation, ReservedBytes};

/// Memory per body byte while the request is handled: its tree, the object, and the response. A malicious
/// body needs more; decoders have limits of their own for that.
const WORK_PER_BYTE: u64 = 15;

impl Reservation {
    /// Body that reserves one byte per received byte. Without memory it fails with a Status: 429. The
    /// announced length reserves nothing, otherwise a client could exhaust the memory with an announcement.
    pub(crate) fn reserve_received(&self, body: Body) -> Body {
        self.meter(body, 1)
    }

    /// The same body for the handler: reading it reserves the memory for processing.
    pub(crate) fn reserve_for_processing(&self, body: Body) -> Body {
        self.meter(body, WORK_PER_BYTE)
    }

    fn meter(&self, body: Body, per_byte: u64) -> Body {
        match &self.0 {
            Some(reserved) => MeteredBody { body, reserved: Arc::clone(reserved), per_byte }.boxed_unsync(),
            None => body,
        }
    }
}

struct MeteredBody {
    body: Body,
    reserved: Arc<ReservedBytes>,
    per_byte: u64,
}

impl http_body::Body for MeteredBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        let bytes = data.map_or(0, |data| data.len() as u64);
        if bytes > 0 && !self.reserved.reserve_more(bytes.saturating_mul(self.per_byte)) {
            let status = Status::too_many_requests("Too many requests, please try again later.", 1);
            return Poll::Ready(Some(Err(Box::new(status))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
