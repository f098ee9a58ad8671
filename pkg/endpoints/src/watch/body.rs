//! The body of a watch: takes events when the connection has room and they are there, puts those that
//! are ready together into one piece, and holds nothing while nothing happens.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use component_base::trace::Span;
use futures::{FutureExt, Stream, StreamExt};
use http_body::{Body, Frame as HttpFrame};
use registry::generic::{Event, WatchEvent, WatchEvents};
use tokio::time::Instant;

use crate::response::chunks::CHUNK_BYTES;
use crate::routing::dispatch::{BoxError, Initialized};
use crate::watch::drain::TerminationSignal;
use crate::watch::frame::{Encoder, Frame};
use crate::watch::metrics::{Counters, Scope};

/// The part of a watch that sends the state which it begins with.
pub(crate) struct Listing {
    /// What is watched.
    pub(crate) scope: Scope,
    /// Since when.
    pub(crate) begun: Instant,
    /// What is recorded of it, if anything is: how it is written, and the whole of it. An idle watch is small.
    pub(crate) spans: Option<Box<[Span; 2]>>,
}

/// What the events of a watch come from.
pub(crate) trait Events: Stream<Item = WatchEvent> + Unpin {
    /// Whether the state that it begins with was delivered, or none was asked for.
    fn is_current(&self) -> bool;
}

impl Events for WatchEvents {
    fn is_current(&self) -> bool {
        WatchEvents::is_current(self)
    }
}

/// A watch under way.
pub(crate) struct WatchBody<E> {
    events: E,
    encoder: Encoder,
    turn: TerminationSignal,
    over: bool,
    counters: Arc<Counters>,
    /// Until the initial state is sent. Boxed: most watches are idle and have none.
    listing: Option<Box<Listing>>,
    /// Who waits for that.
    initialized: Option<Initialized>,
}

impl<E: Events> WatchBody<E> {
    /// The body of a watch.
    pub(crate) fn new(
        events: E,
        encoder: Encoder,
        turn: TerminationSignal,
        counters: Arc<Counters>,
        listing: Listing,
    ) -> Self {
        let (listing, initialized) = (Some(Box::new(listing)), Some(Initialized::default()));
        WatchBody { events, encoder, turn, over: false, counters, listing, initialized }
    }

    /// Tells when the initial state is sent.
    pub(crate) fn initialized(&self) -> Initialized {
        self.initialized.clone().unwrap_or_default()
    }

    /// Adds an event to a piece.
    fn add(&mut self, event: &WatchEvent, piece: &mut FrameBatch) {
        let before = piece.len();
        match self.encoder.frame(event, piece.buffer()) {
            Ok(Frame::Shared(frame)) => piece.push(frame),
            Ok(Frame::Appended) => {}
            Err(status) => {
                // The status is on the wire already: the client learns no more than that it is over.
                let error = &status.message;
                if status.code >= 500 {
                    tracing::error!(error, "a watch ends because an event cannot be encoded")
                } else {
                    tracing::debug!(error, "a watch ends because it asks for what there is not")
                }
                self.over = true;
                return;
            }
        }
        self.counters.sent(piece.len() - before);
        match event {
            WatchEvent::Event(Event { initial_events_end: true, .. }) => {
                if let Some(Listing { scope, begun, spans }) = self.listing.take().map(|listing| *listing) {
                    self.counters.listed(scope, begun.elapsed());
                    spans.iter().for_each(|spans| spans[0].event("Writing initial events done"));
                }
            }
            WatchEvent::Event(_) => {}
            WatchEvent::Error(_) => self.over = true,
        }
    }
}

impl<E: Events> Body for WatchBody<E> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.over || this.turn.poll_unpin(cx).is_ready() {
            this.over = true;
            return Poll::Ready(None);
        }
        let mut piece = FrameBatch::default();
        while !this.over && piece.len() < CHUNK_BYTES {
            match this.events.poll_next_unpin(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => this.over = true,
                Poll::Ready(Some(event)) => this.add(&event, &mut piece),
            }
        }
        if this.over || this.events.is_current() {
            this.initialized.take().inspect(Initialized::set);
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
struct FrameBatch {
    /// The only one so far, if it is shared.
    only: Bytes,
    /// All of them, if there are more or if they are not shared.
    joined: Vec<u8>,
}

impl FrameBatch {
    fn len(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    /// Where frames are appended that are not shared.
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.join();
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

    /// Copies the only frame to where others can follow it. Nothing has been joined then.
    fn join(&mut self) {
        if !self.only.is_empty() {
            // Others are about as long, and there is one at least.
            self.joined.reserve(self.only.len() * 2);
            self.joined.extend_from_slice(&std::mem::take(&mut self.only));
        }
    }

    fn finish(self) -> Option<Bytes> {
        if self.joined.is_empty() {
            (!self.only.is_empty()).then_some(self.only)
        } else {
            Some(self.joined.into())
        }
    }
}

#[cfg(test)]
mod tests;
