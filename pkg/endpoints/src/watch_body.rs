//! The body of a watch: takes events when the connection has room and they are there, puts those that
//! are ready together into one piece, and holds nothing while nothing happens.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use apimachinery::trace::Span;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body::{Body, Frame as HttpFrame};
use registry::generic::{Event, WatchEvent};
use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::chunks::CHUNK_BYTES;
use crate::dispatch::BoxError;
use crate::watch_frame::{Encoder, Frame};
use crate::watch_metrics::{Counters, Scope};

/// Ready when the server stops.
pub(crate) type Shutdown = Pin<Box<WaitForCancellationFutureOwned>>;

/// The part of a watch that sends the state which it begins with.
pub(crate) struct Listing {
    /// What is watched.
    pub(crate) scope: Scope,
    /// Since when.
    pub(crate) begun: Instant,
    /// What is recorded of it, if anything is: how it is written, and the whole of it. An idle watch is small.
    pub(crate) spans: Option<Box<[Span; 2]>>,
}

/// A watch under way.
pub(crate) struct WatchBody<E> {
    events: E,
    encoder: Encoder,
    shutdown: Shutdown,
    over: bool,
    counters: Arc<Counters>,
    /// Until the initial state is sent.
    listing: Option<Listing>,
}

impl<E: Stream<Item = WatchEvent> + Unpin> WatchBody<E> {
    /// The body of a watch.
    pub(crate) fn new(
        events: E,
        encoder: Encoder,
        shutdown: Shutdown,
        counters: Arc<Counters>,
        listing: Listing,
    ) -> Self {
        WatchBody { events, encoder, shutdown, over: false, counters, listing: Some(listing) }
    }

    /// Adds an event to a piece.
    fn add(&mut self, event: &WatchEvent, piece: &mut Piece) {
        let before = piece.len();
        match self.encoder.frame(event, piece.buffer()) {
            Ok(Frame::Shared(frame)) => piece.push(frame),
            Ok(Frame::Appended) => {}
            Err(status) => {
                // The status is on the wire already: the client learns no more than that it is over.
                let message = &status.message;
                match status.code >= 500 {
                    true => tracing::error!(message, "a watch ends because an event cannot be encoded"),
                    false => tracing::debug!(message, "a watch ends because it asks for what there is not"),
                }
                self.over = true;
                return;
            }
        }
        self.counters.sent(piece.len() - before);
        match event {
            WatchEvent::Event(Event { initial_events_end: true, .. }) => {
                if let Some(Listing { scope, begun, spans }) = self.listing.take() {
                    self.counters.listed(scope, begun.elapsed());
                    spans.iter().for_each(|spans| spans[0].event("Writing initial events done"));
                }
            }
            WatchEvent::Event(_) => {}
            WatchEvent::Error(_) => self.over = true,
        }
    }
}

impl<E: Stream<Item = WatchEvent> + Unpin> Body for WatchBody<E> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.over || this.shutdown.as_mut().poll(cx).is_ready() {
            this.over = true;
            return Poll::Ready(None);
        }
        let mut piece = Piece::default();
        while !this.over && piece.len() < CHUNK_BYTES {
            match this.events.poll_next_unpin(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => this.over = true,
                Poll::Ready(Some(event)) => this.add(&event, &mut piece),
            }
        }
        match (piece.finish(), this.over) {
            (Some(bytes), _) => Poll::Ready(Some(Ok(HttpFrame::data(bytes)))),
            (None, true) => Poll::Ready(None),
            (None, false) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }
}

/// Frames that go out together. A shared one that goes alone is not copied.
#[derive(Default)]
struct Piece {
    /// The only one so far, if it is shared.
    only: Bytes,
    /// All of them, if there are more or if they are not shared.
    joined: Vec<u8>,
}

impl Piece {
    fn len(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    /// Where frames are appended that are not shared.
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.joined
    }

    fn push(&mut self, frame: Bytes) {
        if self.len() == 0 {
            self.only = frame;
            return;
        }
        self.join();
        self.joined.extend_from_slice(&frame);
    }

    fn join(&mut self) {
        if !self.only.is_empty() {
            self.joined.splice(..0, std::mem::take(&mut self.only));
        }
    }

    fn finish(mut self) -> Option<Bytes> {
        if !self.joined.is_empty() {
            self.join();
            return Some(self.joined.into());
        }
        (!self.only.is_empty()).then_some(self.only)
    }
}

#[cfg(test)]
mod tests;
