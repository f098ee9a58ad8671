//! SPDY/3.1 frames, as a client of kubelets exchanges them. Pure.
//!
//! Kubelets use `moby/spdystream`, which has no flow control: it never sends WINDOW_UPDATE and ignores the one that it
//! receives. Backpressure is that of the TCP connection. A client needs no header of its server, so header blocks are
//! skipped without decompression.

mod decode;
mod encode;

pub(super) use decode::{Decoder, Event};
pub(super) use encode::{Encoder, append_data, append_go_away, append_ping, append_reset};

/// Version in control frames.
const VERSION: u16 = 3;
/// Set in the first bit of a control frame.
const CONTROL: u8 = 0x80;
/// Flag of the last frame that the sender sends on a stream.
const FIN: u8 = 0x01;
/// Size of the header of each frame: stream or type, flags, length.
const HEADER_BYTES: usize = 8;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const SETTINGS: u16 = 4;
const PING: u16 = 6;
const GO_AWAY: u16 = 7;
const HEADERS: u16 = 8;
const WINDOW_UPDATE: u16 = 9;

/// Reason of a RST_STREAM frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResetReason {
    RefusedStream = 3,
    Cancel = 5,
}
