//! Body of a watch. It takes events when the connection can send, joins the available frames into one piece,
//! and holds no buffer while idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use apimachinery::status::Status;
use bytes::Bytes;
use component_base::trace::Span;
use futures::{FutureExt, Stream, StreamExt};
use http_body::{Body, Frame as HttpFrame};
use registry::generic::{Event, WatchEvent, WatchEvents};
use tokio::time::Instant;

use crate::response::chunks::CHUNK_BYTES;
use crate::response::gzip;
use crate::routing::dispatch::{BoxError, InitializedFlag};
use crate::watch::drain::TerminationSignal;
use crate::watch::frame::{Encoder, Frame};
use crate::watch::metrics::{Counters, Scope};
use crate::websocket::{Opcode, frame};

/// State of a watch that is sending its initial events.
pub(crate) struct Listing {
    pub(crate) scope: Scope,
    /// Start time.
    pub(crate) started_at: Instant,
    /// Spans of the encoding and of the whole request, if it is sampled. Boxed to keep an idle watch small.
    pub(crate) spans: Option<Box<[Span; 2]>>,
}

pub(crate) trait Events: Stream<Item = WatchEvent> + Unpin {
    /// True if the initial state was delivered or was not requested.
    fn is_current(&self) -> bool;
}

impl Events for WatchEvents {
    fn is_current(&self) -> bool {
        WatchEvents::is_current(self)
    }
}

pub(crate) struct WatchBody<E> {
    events: E,
    encoder: Encoder,
    termination: TerminationSignal,
    ended: bool,
    /// Type of the WebSocket messages that contain the frames; `None` for a stream of frames.
    messages: Option<Opcode>,
    counters: Arc<Counters>,
    /// Present until the initial state is sent. Boxed, because most watches are idle and have none.
    listing: Option<Box<Listing>>,
    /// Flag to set when the initial state is sent.
    initialized: Option<InitializedFlag>,
}

impl<E: Events> WatchBody<E> {
    pub(crate) fn new(
        events: E,
        encoder: Encoder,
        termination: TerminationSignal,
        counters: Arc<Counters>,
        listing: Listing,
    ) -> Self {
        let listing = Some(Box::new(listing));
        let initialized = Some(InitializedFlag::default());
        WatchBody {
            events,
            encoder,
            termination,
            ended: false,
            messages: None,
            counters,
            listing,
            initialized,
        }
    }

    /// Compresses the body as a sequence of gzip members, so that an idle watch holds no compressor.
    pub(crate) fn compressed(mut self) -> Self {
        self.encoder.compresses = true;
        self
    }

    /// Sends each event as a WebSocket message of this type.
    pub(crate) fn in_messages(mut self, opcode: Opcode) -> Self {
        self.messages = Some(opcode);
        self
    }

    /// Returns the flag that is set when the initial state is sent.
    pub(crate) fn initialized(&self) -> InitializedFlag {
        self.initialized.clone().unwrap_or_default()
    }

    fn add(&mut self, event: &WatchEvent, piece: &mut FrameBatch) {
        if self.encoder.leaves_out(event) {
            return;
        }
        let encoded = match self.messages {
            Some(opcode) => self.add_message(event, opcode, piece),
            None => self.add_frame(event, piece),
        };
        let len = match encoded {
            Ok(len) => len,
            Err(status) => {
                // The status is already on the wire, so the client only sees the end of the stream.
                let error = &status.message;
                if status.code >= 500 {
                    tracing::error!(error, "a watch ends because an event cannot be encoded")
                } else {
                    tracing::debug!(error, "a watch ends because it asks for what there is not")
                }
                self.ended = true;
                return;
            }
        };
        self.counters.record_event(len);
        match event {
            WatchEvent::Event(Event { initial_events_end: true, .. }) => {
                if let Some(Listing { scope, started_at, spans }) =
                    self.listing.take().map(|listing| *listing)
                {
                    self.counters.listed(scope, started_at.elapsed());
                    spans.iter().for_each(|spans| spans[0].event("Writing initial events done"));
                }
            }
            WatchEvent::Event(_) => {}
            WatchEvent::Error(_) => self.ended = true,
        }
    }
}

impl<E> WatchBody<E> {
    /// Appends the frame of an event. Returns its length before compression.
    fn add_frame(&mut self, event: &WatchEvent, piece: &mut FrameBatch) -> Result<usize, Box<Status>> {
        let begin = piece.len();
        match self.encoder.frame(event, piece.buffer())? {
            Frame::Shared(frame) => Ok(piece.push(frame)),
            Frame::Appended => Ok(piece.len() - begin),
        }
    }

    /// Appends the WebSocket message of an event. Returns the length of its payload.
    fn add_message(
        &mut self,
        event: &WatchEvent,
        opcode: Opcode,
        piece: &mut FrameBatch,
    ) -> Result<usize, Box<Status>> {
        let mut own = Vec::new();
        let frame = match self.encoder.frame(event, &mut own)? {
            Frame::Shared(frame) => frame,
            Frame::Appended => own.into(),
        };
        let payload = self.encoder.without_length(&frame);
        frame::append(opcode, payload, piece.buffer());
        Ok(payload.len())
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
        if this.ended || this.termination.poll_unpin(cx).is_ready() {
            this.ended = true;
            return Poll::Ready(None);
        }
        let mut piece = FrameBatch { compresses: this.encoder.compresses, ..FrameBatch::default() };
        while !this.ended && piece.len() < CHUNK_BYTES {
            match this.events.poll_next_unpin(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => this.ended = true,
                Poll::Ready(Some(event)) => this.add(&event, &mut piece),
            }
        }
        if this.ended || this.events.is_current() {
            this.initialized.take().inspect(InitializedFlag::set);
        }
        match (piece.finish(), this.ended) {
            (Some(bytes), _) => Poll::Ready(Some(Ok(HttpFrame::data(bytes)))),
            (None, true) => Poll::Ready(None),
            (None, false) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// Frames that are sent together. A single shared frame is not copied.
#[derive(Default)]
struct FrameBatch {
    /// The only frame so far, if it is shared.
    only: Bytes,
    /// All frames, if there are several or they are not shared.
    joined: Vec<u8>,
    /// True if shared frames are gzip members, and the batch shall consist of members.
    compresses: bool,
    /// Length of the members at the beginning of `joined`.
    members_len: usize,
}

impl FrameBatch {
    fn len(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    /// Returns the buffer for frames that are not shared.
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.join();
        &mut self.joined
    }

    /// Adds a shared frame. Returns its length before compression.
    fn push(&mut self, frame: Bytes) -> usize {
        let len = if self.compresses { gzip::plain_len(&frame) } else { frame.len() };
        if self.len() == 0 {
            self.only = frame;
        } else {
            self.join();
            self.compress();
            self.joined.extend_from_slice(&frame);
            self.members_len = self.joined.len();
        }
        len
    }

    /// Copies the only frame to the buffer, so that others can follow. The buffer is empty before.
    fn join(&mut self) {
        if !self.only.is_empty() {
            // At least one more frame follows, probably of similar length.
            self.joined.reserve(self.only.len() * 2);
            self.joined.extend_from_slice(&std::mem::take(&mut self.only));
            self.members_len = self.joined.len();
        }
    }

    /// Compresses the frames that are not shared, as one member.
    fn compress(&mut self) {
        let plain = self.joined.get(self.members_len..).unwrap_or_default();
        if self.compresses && !plain.is_empty() {
            let member = gzip::member(plain);
            self.joined.truncate(self.members_len);
            self.joined.extend_from_slice(&member);
            self.members_len = self.joined.len();
        }
    }

    fn finish(mut self) -> Option<Bytes> {
        self.compress();
        if self.joined.is_empty() {
            (!self.only.is_empty()).then_some(self.only)
        } else {
            Some(self.joined.into())
        }
    }
}

#[cfg(test)]
mod tests;
