//! `exec` and `attach`: a WebSocket with channels (`v5.channel.k8s.io`) becomes SPDY streams. Pure.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::CREATE_TIMEOUT;
use super::outcome::{Outcome, Version};
use super::relay::{Outputs, TICK, Translator};
use super::sizes::Sizes;
use crate::proxy::spdy::{
    Decoder, Encoder, Event, ResetReason, append_data, append_go_away, append_ping, append_reset,
};
use crate::websocket::frame::{self, NORMAL, PROTOCOL_ERROR};
use crate::websocket::{Input, Opcode, Piece, Received};

/// Maximum time without a message from or to the client (upstream's `defaultIdleConnectionTimeout`).
const IDLE_TIMEOUT: Duration = Duration::from_secs(4 * 60 * 60);
/// Maximum size of the kubelet's error stream, in bytes.
const ERROR_BYTES_MAX: usize = 1 << 20;
/// First byte of a message that closes a channel.
const CLOSE_SIGNAL: u8 = 255;
/// Number of channels.
const CHANNEL_COUNT: u8 = 5;
/// Failure of a connection that ends before a status.
const LOST: &str = "error reading from error stream: unexpected EOF";

/// Streams that the client requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

/// Channel of the WebSocket, by its number in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Stdin = 0,
    Stdout = 1,
    Stderr = 2,
    Error = 3,
    Resize = 4,
}

impl Channel {
    /// Value of the header `streamType`.
    fn stream_type(self) -> &'static str {
        match self {
            Channel::Stdin => "stdin",
            Channel::Stdout => "stdout",
            Channel::Stderr => "stderr",
            Channel::Error => "error",
            Channel::Resize => "resize",
        }
    }

    /// True if the command continues while the kubelet has not ended this stream.
    fn is_output(self) -> bool {
        matches!(self, Channel::Stdout | Channel::Stderr | Channel::Error)
    }
}

/// SPDY stream of a channel.
#[derive(Debug)]
struct Stream {
    id: u32,
    channel: Channel,
    /// True after the kubelet's reply.
    accepted: bool,
    /// True if the kubelet sends no more.
    kubelet_ended: bool,
    /// True if this server sends no more.
    server_ended: bool,
}

/// A message of the client, of which a part has arrived.
#[derive(Debug, Default)]
struct Message {
    channel: Option<u8>,
    /// First two bytes of a message that closes a channel; one is valid.
    closed: Vec<u8>,
}

/// Translation of one command.
pub(super) struct RemoteCommand {
    version: Version,
    streams: Vec<Stream>,
    client: Input,
    kubelet: Decoder,
    message: Message,
    sizes: Sizes,
    /// Content of the error stream.
    error: Vec<u8>,
    /// Time since the start, until the kubelet has accepted all streams.
    creating: Duration,
    /// Time since the last message of the client or to it.
    idle: Duration,
    /// Odd, because this server is the client of the kubelet.
    next_ping: u32,
    /// Set at the end. A command whose client left first has no failure.
    code: Option<u16>,
}

/// Returns the first message, which confirms the connection: an empty one on the first channel that the server writes to.
pub(super) fn first_message(options: Options) -> BytesMut {
    let channel = match options {
        Options { stdout: true, .. } => Channel::Stdout,
        Options { stderr: true, .. } => Channel::Stderr,
        _ => Channel::Error,
    };
    let mut out = BytesMut::new();
    append_message(channel, &[], &mut out);
    out
}

/// Appends the last messages of a command: its status, and the end of the WebSocket.
pub(super) fn append_status(outcome: &Outcome, out: &mut BytesMut) {
    let status = serde_json::to_vec(&outcome.status()).unwrap_or_default();
    append_message(Channel::Error, &status, out);
    frame::append_close(NORMAL, out);
}

fn append_message(channel: Channel, bytes: &[u8], out: &mut BytesMut) {
    frame::append_header(Opcode::Binary, 1 + bytes.len(), out);
    out.put_u8(channel as u8);
    out.put_slice(bytes);
}

impl RemoteCommand {
    /// Opens the streams in upstream's order.
    pub(super) fn start(options: Options, version: Version, out: &mut Outputs) -> Self {
        let requested = [
            (Channel::Error, true),
            (Channel::Stdin, options.stdin),
            (Channel::Stdout, options.stdout),
            // The output of a terminal is one stream.
            (Channel::Stderr, options.stderr && !options.tty),
            (Channel::Resize, options.tty && version >= Version::V3),
        ];
        let channels = requested.into_iter().filter_map(|(channel, wanted)| wanted.then_some(channel));
        let mut encoder = Encoder::default();
        let mut streams = Vec::new();
        for (id, channel) in (1..).step_by(2).zip(channels) {
            encoder.append_syn_stream(id, "streamtype", channel.stream_type(), &mut out.kubelet);
            streams.push(Stream { id, channel, accepted: false, kubelet_ended: false, server_ended: false });
        }
        RemoteCommand {
            version,
            streams,
            client: Input::default(),
            kubelet: Decoder::default(),
            message: Message::default(),
            sizes: Sizes::default(),
            error: Vec::new(),
            creating: Duration::ZERO,
            idle: Duration::ZERO,
            next_ping: 1,
            code: None,
        }
    }

    /// Code for metrics.
    pub(super) fn code(&self) -> u16 {
        self.code.unwrap_or(200)
    }

    /// True if the kubelet has accepted all streams. It drops data that arrives before.
    fn is_ready(&self) -> bool {
        self.streams.iter().all(|stream| stream.accepted)
    }

    /// Handles a part of a message of the client. The first byte of a message is its channel.
    fn receive_piece(&mut self, piece: Piece, out: &mut Outputs) {
        let mut bytes = piece.bytes;
        if piece.first {
            self.message = Message::default();
        }
        if self.message.channel.is_none() && !bytes.is_empty() {
            self.message.channel = Some(bytes.get_u8());
        }
        match self.message.channel {
            Some(CLOSE_SIGNAL) => {
                let missing = 2 - self.message.closed.len();
                self.message.closed.extend(bytes.iter().take(missing));
                if piece.last {
                    self.close_channel(out);
                }
            }
            Some(channel) if channel == Channel::Stdin as u8 => {
                self.send(Channel::Stdin, &bytes, &mut out.kubelet);
            }
            Some(channel) if channel == Channel::Resize as u8 => {
                let lines = self.sizes.receive(&bytes);
                self.send(Channel::Resize, &lines, &mut out.kubelet);
            }
            _ => {}
        }
    }

    /// Closes the channel of a complete close signal. An invalid signal ends the connection.
    fn close_channel(&mut self, out: &mut Outputs) {
        match *self.message.closed {
            [channel] if channel == Channel::Stdin as u8 => self.finish_stdin(&mut out.kubelet),
            [channel] if channel == Channel::Resize as u8 => self.sizes.end(),
            [channel] if channel < CHANNEL_COUNT => {}
            _ => self.leave(NORMAL, out),
        }
    }

    fn send(&self, channel: Channel, bytes: &[u8], out: &mut BytesMut) {
        let stream = self.streams.iter().find(|stream| stream.channel == channel);
        if let Some(stream) = stream.filter(|stream| !stream.server_ended && !bytes.is_empty()) {
            append_data(stream.id, false, bytes, out);
        }
    }

    fn finish_stdin(&mut self, out: &mut BytesMut) {
        let stdin = self.streams.iter_mut().find(|stream| stream.channel == Channel::Stdin);
        if let Some(stdin) = stdin.filter(|stdin| !stdin.server_ended) {
            append_data(stdin.id, true, &[], out);
            stdin.server_ended = true;
        }
    }

    fn receive_event(&mut self, event: Event, out: &mut Outputs) {
        match event {
            Event::Data { stream, bytes, fin } => {
                self.receive_data(stream, &bytes, out);
                if fin {
                    self.end_stream(stream, out);
                }
            }
            Event::Accepted { stream, fin } => {
                if let Some(stream) = self.stream(stream) {
                    stream.accepted = true;
                }
                if fin {
                    self.end_stream(stream, out);
                }
            }
            Event::Opened { stream } => append_reset(stream, ResetReason::RefusedStream, &mut out.kubelet),
            Event::Reset { stream } => {
                let Some(stream) = self.stream(stream) else { return };
                stream.kubelet_ended = true;
                stream.server_ended = true;
                if !stream.accepted {
                    self.complete(&Outcome::Failure("Stream reset".to_owned()), out);
                }
            }
            Event::Ended { stream } => self.end_stream(stream, out),
            // An odd number is that of a ping of this server.
            Event::Ping { id } if id % 2 == 0 => append_ping(id, &mut out.kubelet),
            Event::Ping { .. } => {}
            Event::GoAway => self.lose_kubelet(LOST, out),
        }
    }

    fn stream(&mut self, id: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.id == id)
    }

    fn receive_data(&mut self, stream: u32, bytes: &Bytes, out: &mut Outputs) {
        let Some(stream) = self.stream(stream).filter(|stream| !stream.kubelet_ended) else { return };
        let channel = stream.channel;
        match channel {
            Channel::Stdout | Channel::Stderr if !bytes.is_empty() => {
                append_message(channel, bytes, &mut out.client);
                self.idle = Duration::ZERO;
            }
            Channel::Error if self.error.len() + bytes.len() > ERROR_BYTES_MAX => {
                let text = format!("error reading from error stream: more than {ERROR_BYTES_MAX} bytes");
                self.complete(&Outcome::Failure(text), out);
            }
            Channel::Error => self.error.extend_from_slice(bytes),
            _ => {}
        }
    }

    /// Marks a stream on which the kubelet sends no more. A kubelet ends stdin to end the client's input.
    fn end_stream(&mut self, id: u32, out: &mut Outputs) {
        let Some(stream) = self.stream(id) else { return };
        stream.kubelet_ended = true;
        if stream.channel == Channel::Stdin {
            self.finish_stdin(&mut out.kubelet);
        }
    }

    /// Completes the command if all of its output has arrived.
    fn check_complete(&mut self, out: &mut Outputs) {
        let continues =
            |stream: &Stream| !stream.accepted || stream.channel.is_output() && !stream.kubelet_ended;
        if !self.has_ended() && !self.streams.iter().any(continues) {
            let outcome = Outcome::of_message(self.version, &self.error, LOST);
            self.complete(&outcome, out);
        }
    }

    /// Ends because the kubelet's connection ended or cannot be understood.
    fn lose_kubelet(&mut self, cause: &str, out: &mut Outputs) {
        if self.has_ended() {
            return;
        }
        let outcome = if self.is_ready() {
            Outcome::of_message(self.version, &self.error, cause)
        } else {
            Outcome::Failure(cause.to_owned())
        };
        self.complete(&outcome, out);
    }

    /// Sends the status to the client and ends both connections.
    fn complete(&mut self, outcome: &Outcome, out: &mut Outputs) {
        if !self.has_ended() {
            append_status(outcome, &mut out.client);
            self.end(outcome.code(), out);
        }
    }

    /// Ends both connections without a status. The command gets the end of its input.
    fn leave(&mut self, close_code: u16, out: &mut Outputs) {
        if !self.has_ended() {
            frame::append_close(close_code, &mut out.client);
            self.finish_stdin(&mut out.kubelet);
            self.end(200, out);
        }
    }

    fn end(&mut self, code: u16, out: &mut Outputs) {
        for stream in self.streams.iter().filter(|stream| !stream.server_ended) {
            append_reset(stream.id, ResetReason::Cancel, &mut out.kubelet);
        }
        append_go_away(&mut out.kubelet);
        self.code = Some(code);
    }
}

impl Translator for RemoteCommand {
    fn translate_client(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
        if !self.is_ready() || bytes.is_empty() {
            return;
        }
        self.idle = Duration::ZERO;
        while !self.has_ended() {
            match self.client.next(bytes) {
                Some(Received::Data(piece)) => self.receive_piece(piece, out),
                Some(Received::Ping(payload)) => frame::append(Opcode::Pong, &payload, &mut out.client),
                Some(Received::Close) => self.leave(NORMAL, out),
                Some(Received::Unmasked) => self.leave(PROTOCOL_ERROR, out),
                None => return,
            }
        }
    }

    fn translate_kubelet(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
        while !self.has_ended() {
            match self.kubelet.next(bytes) {
                Ok(Some(event)) => self.receive_event(event, out),
                Ok(None) => return self.check_complete(out),
                Err(error) => return self.lose_kubelet(&error.to_string(), out),
            }
        }
    }

    fn end_client(&mut self, out: &mut Outputs) {
        self.leave(NORMAL, out);
    }

    fn end_kubelet(&mut self, out: &mut Outputs) {
        self.lose_kubelet(LOST, out);
    }

    fn on_tick(&mut self, out: &mut Outputs) {
        if !self.is_ready() {
            self.creating += TICK;
            if self.creating >= CREATE_TIMEOUT {
                self.complete(&Outcome::Failure("Timeout occurred".to_owned()), out);
            }
        }
        self.idle += TICK;
        if self.idle >= IDLE_TIMEOUT {
            self.leave(NORMAL, out);
        }
        // Unsent bytes serve the purpose of a ping too.
        if !self.has_ended() && out.kubelet.is_empty() {
            append_ping(self.next_ping, &mut out.kubelet);
            self.next_ping = self.next_ping.wrapping_add(2);
        }
    }

    fn has_ended(&self) -> bool {
        self.code.is_some()
    }
}

#[cfg(test)]
mod tests;
