//! Frames that the client sends (RFC 6455, 5).

use bytes::{Buf, Bytes, BytesMut};

/// Maximum payload of a control frame. More is discarded, as in upstream.
const CONTROL_BYTES_MAX: usize = 125;
/// Maximum payload of a frame (`DefaultMaxPayloadBytes` of Go's WebSocket library).
const PAYLOAD_BYTES_MAX: u64 = 32 << 20;
/// Maximum size of a frame header: opcode, length, extended length, mask.
const HEADER_BYTES_MAX: usize = 14;

/// Frame of the client, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A part of a message.
    Data(Piece),
    /// Payload of a ping, which the pong repeats.
    Ping(Vec<u8>),
    /// The client closes the connection, or sends a frame that is too large.
    Close,
    /// A frame without a mask, which RFC 6455, 5.1 forbids.
    Unmasked,
}

/// Part of a message. A message is not collected, so that its size does not matter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// True for a text message, false for a binary one.
    pub(crate) text: bool,
    /// True for the first part of a message.
    pub(crate) first: bool,
    /// True for the last part of a message.
    pub(crate) last: bool,
    /// The unmasked bytes. Empty only for an empty frame.
    pub(crate) bytes: Bytes,
}

/// Incremental parser of the client's frames. It holds at most one header and the payload of one ping.
#[derive(Debug, Default)]
pub(crate) struct Input {
    header: Vec<u8>,
    /// Rest of the current frame, after its header.
    payload: Option<Payload>,
    /// True if the current message, which may have several frames, is text.
    text: bool,
}

#[derive(Debug)]
struct Payload {
    remaining: u64,
    mask: [u8; 4],
    /// Offset in the payload.
    offset: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Part of a message.
    Data {
        /// True until the first part of a message was returned.
        first: bool,
        /// True for the last frame of a message.
        last: bool,
    },
    /// The unmasked payload of a ping.
    Ping(Vec<u8>),
    /// A pong, or a frame of an unknown type.
    Ignored,
}

const FINAL: u8 = 0x80;
const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const MASKED: u8 = 0x80;

impl Input {
    /// Consumes bytes up to the end of the next frame, or of its part in `bytes`. `None` if more bytes are needed.
    pub(crate) fn next(&mut self, bytes: &mut BytesMut) -> Option<Received> {
        loop {
            if let Some(payload) = &mut self.payload {
                let received = payload.consume(bytes, self.text);
                if payload.remaining == 0 {
                    self.payload = None;
                }
                match received {
                    Some(received) => return Some(received),
                    None if self.payload.is_some() => return None,
                    None => {}
                }
            }
            if bytes.is_empty() {
                return None;
            }
            self.header.push(bytes.get_u8());
            if let Some(length) = complete_length(&self.header) {
                let header = std::mem::take(&mut self.header);
                match begin_payload(&header, length) {
                    Ok(payload) => self.begin(&header, payload),
                    Err(received) => return Some(received),
                }
            }
        }
    }

    fn begin(&mut self, header: &[u8], payload: Payload) {
        match opcode(header) {
            TEXT => self.text = true,
            BINARY => self.text = false,
            _ => {}
        }
        self.payload = Some(payload);
    }
}

fn opcode(header: &[u8]) -> u8 {
    header.first().map_or(0, |first| first & OPCODE)
}

/// Returns the length of the payload once the header is complete.
fn complete_length(header: &[u8]) -> Option<u64> {
    let second = header.get(1)?;
    let extended = match second & !MASKED {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mask = if second & MASKED == 0 { 0 } else { 4 };
    debug_assert!(header.len() <= HEADER_BYTES_MAX);
    if header.len() < 2 + extended + mask {
        return None;
    }
    let short = u64::from(second & !MASKED);
    let extended = header.get(2..2 + extended)?;
    let length = extended.iter().fold(0, |length: u64, byte| (length << 8) | u64::from(*byte));
    Some(if extended.is_empty() { short } else { length & (u64::MAX >> 1) })
}

/// Begins the payload of a frame.
///
/// # Errors
/// The frame ends the connection.
fn begin_payload(header: &[u8], length: u64) -> Result<Payload, Received> {
    let masked = header.get(1).is_some_and(|second| second & MASKED != 0);
    if !masked {
        return Err(Received::Unmasked);
    }
    let opcode = opcode(header);
    if opcode == CLOSE || length > PAYLOAD_BYTES_MAX {
        return Err(Received::Close);
    }
    let content = match opcode {
        CONTINUATION | TEXT | BINARY => Content::Data {
            first: opcode != CONTINUATION,
            last: header.first().is_some_and(|first| first & FINAL != 0),
        },
        PING => Content::Ping(Vec::new()),
        _ => Content::Ignored,
    };
    let mask = header.last_chunk::<4>().copied().unwrap_or_default();
    Ok(Payload { remaining: length, mask, offset: 0, content })
}

impl Payload {
    /// Consumes what `bytes` contain of the payload. Returns a part of a message, or a complete ping.
    fn consume(&mut self, bytes: &mut BytesMut, text: bool) -> Option<Received> {
        let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(bytes.len());
        if length == 0 && self.remaining > 0 {
            return None;
        }
        let mut own = bytes.split_to(length);
        self.remaining -= length as u64;
        let offset = self.offset;
        self.offset += length;
        match &mut self.content {
            Content::Data { first, last } => {
                unmask(&mut own, self.mask, offset);
                let last = *last && self.remaining == 0;
                Some(Received::Data(Piece { text, first: std::mem::take(first), last, bytes: own.freeze() }))
            }
            Content::Ping(ping) => {
                unmask(&mut own, self.mask, offset);
                let free = CONTROL_BYTES_MAX - ping.len();
                ping.extend(own.iter().take(free));
                (self.remaining == 0).then(|| Received::Ping(std::mem::take(ping)))
            }
            Content::Ignored => None,
        }
    }
}

/// Removes the mask from a part of a payload, which starts at `offset`.
fn unmask(bytes: &mut [u8], mask: [u8; 4], offset: usize) {
    let mut mask = mask;
    mask.rotate_left(offset % 4);
    for chunk in bytes.chunks_mut(4) {
        for (byte, mask) in chunk.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x80 | opcode];
        match u8::try_from(payload.len()) {
            Ok(length @ 0..=125) => frame.push(MASKED | length),
            _ => {
                frame.push(MASKED | 126);
                frame.extend_from_slice(&u16::try_from(payload.len()).unwrap_or_default().to_be_bytes());
            }
        }
        frame.extend_from_slice(&mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    fn received(frames: &[u8], piece: usize) -> Vec<Received> {
        let mut input = Input::default();
        let mut all = Vec::new();
        for bytes in frames.chunks(piece) {
            let mut bytes = BytesMut::from(bytes);
            while let Some(received) = input.next(&mut bytes) {
                all.push(received);
            }
        }
        all
    }

    fn is_control(received: &Received) -> bool {
        !matches!(received, Received::Data(_))
    }

    fn binary(first: bool, last: bool, bytes: &'static [u8]) -> Received {
        Received::Data(Piece { text: false, first, last, bytes: Bytes::from_static(bytes) })
    }

    #[test]
    fn pings_are_found_between_messages() {
        let long =
            [frame(1, &[7; 300]), frame(9, b"a"), frame(2, b""), frame(9, b""), frame(8, b"")].concat();
        for piece in [1, 3, long.len()] {
            let expected = [Received::Ping(b"a".to_vec()), Received::Ping(Vec::new()), Received::Close];
            let control: Vec<_> = received(&long, piece).into_iter().filter(is_control).collect();
            assert_eq!(control, expected, "{piece}");
        }
    }

    #[test]
    fn ping_payload_is_bounded() {
        let expected = vec![7; CONTROL_BYTES_MAX];
        assert_eq!(received(&frame(9, &[7; 300]), 100), [Received::Ping(expected)]);
    }

    #[test]
    fn huge_frame_ends_connection() {
        let header = [0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 1, 2, 3, 4];
        assert_eq!(received(&header, 14), [Received::Close]);
    }

    #[test]
    fn message_is_returned_in_pieces() {
        let message = frame(2, b"abc");
        assert_eq!(received(&message, 100), [binary(true, true, b"abc")]);
        let split = [binary(true, false, b"a"), binary(false, false, b"b"), binary(false, true, b"c")];
        assert_eq!(received(&message, 1), split);
        assert_eq!(received(&frame(2, b""), 100), [binary(true, true, b"")]);
    }

    #[test]
    fn continuation_belongs_to_its_message() {
        let mut begin = frame(1, b"a");
        begin[0] &= !FINAL;
        let frames = [begin, frame(9, b"p"), frame(0, b"b")].concat();
        let text = |first, last, bytes: &'static [u8]| {
            Received::Data(Piece { text: true, first, last, bytes: Bytes::from_static(bytes) })
        };
        let expected = [text(true, false, b"a"), Received::Ping(b"p".to_vec()), text(false, true, b"b")];
        assert_eq!(received(&frames, 100), expected);
    }

    #[test]
    fn unmasked_frame_is_detected() {
        assert_eq!(received(&[0x81, 1, b'a'], 3), [Received::Unmasked]);
    }
}
