//! Frames of the kubelet, which may be hostile.

use bytes::{Buf, Bytes, BytesMut};

use super::{
    CONTROL, FIN, GO_AWAY, HEADER_BYTES, HEADERS, PING, RST_STREAM, SETTINGS, SYN_REPLY, SYN_STREAM, VERSION,
    WINDOW_UPDATE,
};

/// Frame of the kubelet, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::proxy) enum Event {
    /// A part of the data of a stream. `fin` is true for the last part of the last frame.
    Data { stream: u32, bytes: Bytes, fin: bool },
    /// The kubelet accepts a stream (SYN_REPLY).
    Accepted { stream: u32, fin: bool },
    /// The kubelet opens a stream (SYN_STREAM).
    Opened { stream: u32 },
    /// The kubelet ends a stream in both directions (RST_STREAM).
    Reset { stream: u32 },
    /// The kubelet ends its side of a stream with a HEADERS frame.
    Ended { stream: u32 },
    /// A ping, or the reply to one.
    Ping { id: u32 },
    /// The kubelet ends the connection.
    GoAway,
}

/// Error of a frame. The connection cannot be used any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::proxy) enum DecodeError {
    #[error("SPDY version {0} is not supported")]
    Version(u16),
    #[error("SPDY frame of unknown type {0}")]
    Type(u16),
    #[error("SPDY frame of type {kind} with {length} bytes is too short")]
    Length { kind: u16, length: u32 },
    #[error("SPDY frame for stream 0")]
    StreamZero,
}

/// Incremental parser of frames. It holds no payload: data is returned in parts, and header blocks are skipped.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Decoder {
    rest: Rest,
}

/// Rest of the current frame.
#[derive(Debug, Default)]
enum Rest {
    /// The next byte begins a frame.
    #[default]
    None,
    Data {
        stream: u32,
        fin: bool,
        remaining: u32,
    },
    Skipped {
        remaining: u32,
    },
}

impl Decoder {
    /// Consumes bytes up to the end of the next frame, or of its part in `bytes`. `None` if more bytes are needed; at most
    /// 16 bytes are then left.
    ///
    /// # Errors
    /// The frame is invalid.
    pub(in crate::proxy) fn next(&mut self, bytes: &mut BytesMut) -> Result<Option<Event>, DecodeError> {
        loop {
            match self.rest {
                Rest::Data { stream, fin, remaining } => {
                    let Some((part, remaining)) = take(bytes, remaining) else { return Ok(None) };
                    let ends = remaining == 0;
                    self.rest = if ends { Rest::None } else { Rest::Data { stream, fin, remaining } };
                    return Ok(Some(Event::Data { stream, bytes: part.freeze(), fin: fin && ends }));
                }
                Rest::Skipped { remaining: 0 } => self.rest = Rest::None,
                Rest::Skipped { remaining } => {
                    let Some((_, remaining)) = take(bytes, remaining) else { return Ok(None) };
                    self.rest = Rest::Skipped { remaining };
                }
                Rest::None => match self.begin(bytes)? {
                    FrameStart::Incomplete => return Ok(None),
                    FrameStart::Ignored => {}
                    FrameStart::Event(event) => return Ok(Some(event)),
                },
            }
        }
    }

    /// Begins a frame: reads its header and, of a control frame, its fixed fields.
    fn begin(&mut self, bytes: &mut BytesMut) -> Result<FrameStart, DecodeError> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(FrameStart::Incomplete) };
        let [control, second, third, fourth, flags, length @ ..] = *header;
        let length = u32::from_be_bytes([0, length[0], length[1], length[2]]);
        if control & CONTROL == 0 {
            let stream = u32::from_be_bytes([control, second, third, fourth]);
            if stream == 0 {
                return Err(DecodeError::StreamZero);
            }
            bytes.advance(HEADER_BYTES);
            self.rest = Rest::Data { stream, fin: flags & FIN != 0, remaining: length };
            return Ok(FrameStart::Ignored);
        }
        let version = u16::from_be_bytes([control & !CONTROL, second]);
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let kind = u16::from_be_bytes([third, fourth]);
        let needed = fixed_bytes(kind)?;
        if length < needed {
            return Err(DecodeError::Length { kind, length });
        }
        let mut fields = bytes.get(HEADER_BYTES..).unwrap_or_default();
        if fields.len() < needed as usize {
            return Ok(FrameStart::Incomplete);
        }
        // The first field of every control frame is a number: in most of them, that of the stream.
        let number = fields.get_u32();
        bytes.advance(HEADER_BYTES + needed as usize);
        self.rest = Rest::Skipped { remaining: length - needed };
        control_event(kind, flags & FIN != 0, number)
    }
}

/// First part of a frame.
enum FrameStart {
    /// More bytes are needed.
    Incomplete,
    /// The frame continues, or means nothing to a client.
    Ignored,
    Event(Event),
}

/// Returns the size of the fields that every frame of this type has.
///
/// # Errors
/// The type is unknown.
fn fixed_bytes(kind: u16) -> Result<u32, DecodeError> {
    match kind {
        SYN_STREAM | SYN_REPLY | SETTINGS | PING | HEADERS => Ok(4),
        RST_STREAM | GO_AWAY | WINDOW_UPDATE => Ok(8),
        _ => Err(DecodeError::Type(kind)),
    }
}

fn control_event(kind: u16, fin: bool, number: u32) -> Result<FrameStart, DecodeError> {
    let event = match kind {
        PING => return Ok(FrameStart::Event(Event::Ping { id: number })),
        GO_AWAY => return Ok(FrameStart::Event(Event::GoAway)),
        SETTINGS | WINDOW_UPDATE => return Ok(FrameStart::Ignored),
        SYN_STREAM => Event::Opened { stream: number },
        SYN_REPLY => Event::Accepted { stream: number, fin },
        RST_STREAM => Event::Reset { stream: number },
        HEADERS if fin => Event::Ended { stream: number },
        _ => return Ok(FrameStart::Ignored),
    };
    if number == 0 { Err(DecodeError::StreamZero) } else { Ok(FrameStart::Event(event)) }
}

/// Takes what `bytes` contain of the remaining payload, with what then remains. `None` if there is nothing yet.
fn take(bytes: &mut BytesMut, remaining: u32) -> Option<(BytesMut, u32)> {
    let length = bytes.len().min(remaining as usize);
    if length == 0 && remaining > 0 {
        return None;
    }
    let left = remaining.saturating_sub(u32::try_from(length).unwrap_or(u32::MAX));
    Some((bytes.split_to(length), left))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A control frame of version 3.
    fn control(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x80, 3, 0, kind, flags];
        frame.extend_from_slice(payload.len().to_be_bytes().last_chunk::<3>().unwrap());
        frame.extend_from_slice(payload);
        frame
    }

    /// Decodes a stream that arrives in parts of this size. Returns the events and what was not consumed.
    fn decode(frames: &[u8], part: usize) -> Result<(Vec<Event>, usize), DecodeError> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut bytes = BytesMut::new();
        for part in frames.chunks(part) {
            bytes.extend_from_slice(part);
            while let Some(event) = decoder.next(&mut bytes)? {
                events.push(event);
            }
            assert!(bytes.len() < 16);
        }
        Ok((events, bytes.len()))
    }

    fn data(bytes: &'static [u8], fin: bool) -> Event {
        Event::Data { stream: 5, bytes: Bytes::from_static(bytes), fin }
    }

    #[test]
    fn data_is_returned_in_parts() {
        let frame = b"\0\0\0\x05\x01\0\0\x03abc";
        assert_eq!(decode(frame, 100).unwrap().0, [data(b"abc", true)]);
        let parts = [data(b"a", false), data(b"b", false), data(b"c", true)];
        assert_eq!(decode(frame, 1).unwrap().0, parts);
        assert_eq!(decode(b"\0\0\0\x05\x01\0\0\0", 3).unwrap().0, [data(b"", true)]);
    }

    #[test]
    fn control_frames_become_events() {
        let frames = [
            control(2, 0, &[0, 0, 0, 1, 0x78, 0xbb, 9, 9]),
            control(4, 0, &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 100]),
            control(9, 0, &[0, 0, 0, 1, 0, 0, 0, 9]),
            control(1, 0, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 9, 9, 9]),
            control(8, 0, &[0, 0, 0, 1, 9]),
            control(8, 1, &[0, 0, 0, 1, 9]),
            control(6, 0, &[0, 0, 0, 2]),
            control(3, 0, &[0, 0, 0, 3, 0, 0, 0, 5]),
            control(7, 0, &[0; 8]),
        ]
        .concat();
        for part in [1, 7, frames.len()] {
            let expected = [
                Event::Accepted { stream: 1, fin: false },
                Event::Opened { stream: 2 },
                Event::Ended { stream: 1 },
                Event::Ping { id: 2 },
                Event::Reset { stream: 3 },
                Event::GoAway,
            ];
            assert_eq!(decode(&frames, part), Ok((expected.into(), 0)), "{part}");
        }
    }

    #[test]
    fn invalid_frames_are_rejected() {
        let check = |frame: &[u8], expected| assert_eq!(decode(frame, 1).err(), Some(expected), "{frame:?}");
        check(&[0x80, 2, 0, 6, 0, 0, 0, 4], DecodeError::Version(2));
        check(&control(5, 0, b""), DecodeError::Type(5));
        check(&control(3, 0, &[0, 0, 0, 1]), DecodeError::Length { kind: 3, length: 4 });
        check(&control(2, 0, &[0; 4]), DecodeError::StreamZero);
        check(&[0; 8], DecodeError::StreamZero);
    }

    #[test]
    fn header_block_of_any_size_is_skipped() {
        let mut frames = vec![0x80, 3, 0, 2, 0, 0xff, 0xff, 0xff, 0, 0, 0, 1];
        frames.resize(8 + 0xff_ffff, 0xff);
        frames.extend(control(6, 0, &[0, 0, 0, 2]));
        let expected = vec![Event::Accepted { stream: 1, fin: false }, Event::Ping { id: 2 }];
        assert_eq!(decode(&frames, 4096), Ok((expected, 0)));
    }
}
