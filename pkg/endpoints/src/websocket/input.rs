//! Frames that the client sends. Only pings and the end of the connection matter.

/// Maximum payload of a control frame. More is discarded, as in upstream.
const CONTROL_BYTES_MAX: usize = 125;
/// Maximum payload of a frame (`DefaultMaxPayloadBytes` of Go's WebSocket library).
const PAYLOAD_BYTES_MAX: u64 = 32 << 20;
/// Maximum size of a frame header: opcode, length, extended length, mask.
const HEADER_BYTES_MAX: usize = 14;

/// Frame of the client that needs a reaction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Payload of a ping, which the pong repeats.
    Ping(Vec<u8>),
    /// The client closes the connection, or sends a frame that is too large.
    Close,
    /// A frame without a mask, which RFC 6455, 5.1 forbids.
    Unmasked,
}

/// Incremental parser of the client's frames. It holds at most one header and the payload of one ping.
#[derive(Debug, Default)]
pub(super) struct Input {
    header: Vec<u8>,
    /// Rest of the current frame, after its header.
    payload: Option<Payload>,
}

#[derive(Debug)]
struct Payload {
    remaining: u64,
    mask: [u8; 4],
    /// Offset in the payload.
    offset: usize,
    /// The unmasked payload of a ping.
    ping: Option<Vec<u8>>,
}

const OPCODE: u8 = 0x0f;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const MASKED: u8 = 0x80;

impl Input {
    /// Consumes bytes up to the next frame that needs a reaction.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<Received> {
        loop {
            if let Some(payload) = &mut self.payload {
                payload.consume(bytes);
                if payload.remaining > 0 {
                    return None;
                }
                if let Some(ping) = self.payload.take().and_then(|payload| payload.ping) {
                    return Some(Received::Ping(ping));
                }
            }
            let (byte, rest) = bytes.split_first()?;
            self.header.push(*byte);
            *bytes = rest;
            if let Some(length) = complete_length(&self.header) {
                let header = std::mem::take(&mut self.header);
                match begin_payload(&header, length) {
                    Ok(payload) => self.payload = Some(payload),
                    Err(received) => return Some(received),
                }
            }
        }
    }
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
    let opcode = header.first().map_or(0, |first| first & OPCODE);
    if opcode == CLOSE || length > PAYLOAD_BYTES_MAX {
        return Err(Received::Close);
    }
    let mask = header.last_chunk::<4>().copied().unwrap_or_default();
    Ok(Payload { remaining: length, mask, offset: 0, ping: (opcode == PING).then(Vec::new) })
}

impl Payload {
    fn consume(&mut self, bytes: &mut &[u8]) {
        let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(bytes.len());
        let (own, rest) = bytes.split_at(length);
        *bytes = rest;
        self.remaining -= length as u64;
        let Some(ping) = &mut self.ping else { return };
        let mask = self.mask.iter().cycle().skip(self.offset % 4);
        let room = CONTROL_BYTES_MAX - ping.len();
        ping.extend(own.iter().zip(mask).take(room).map(|(byte, mask)| byte ^ mask));
        self.offset += length;
    }
}

#[cfg(test)]
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
        for mut bytes in frames.chunks(piece) {
            while let Some(received) = input.next(&mut bytes) {
                all.push(received);
            }
        }
        all
    }

    #[test]
    fn pings_are_found_between_messages() {
        let long =
            [frame(1, &[7; 300]), frame(9, b"a"), frame(2, b""), frame(9, b""), frame(8, b"")].concat();
        for piece in [1, 3, long.len()] {
            let expected = [Received::Ping(b"a".to_vec()), Received::Ping(Vec::new()), Received::Close];
            assert_eq!(received(&long, piece), expected, "{piece}");
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
    fn unmasked_frame_is_detected() {
        assert_eq!(received(&[0x81, 1, b'a'], 3), [Received::Unmasked]);
    }
}
