//! Frames that the server sends. Each message is one unmasked frame.

use bytes::BufMut;

/// Type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text = 0x1,
    Binary = 0x2,
    Close = 0x8,
    Pong = 0xa,
}

/// `Fin`: the message ends with this frame.
const FINAL: u8 = 0x80;

/// Status code of a regular end.
pub(crate) const NORMAL: u16 = 1000;
/// Status code after an invalid frame.
pub(crate) const PROTOCOL_ERROR: u16 = 1002;

/// Appends a message.
pub(crate) fn append(opcode: Opcode, payload: &[u8], out: &mut impl BufMut) {
    append_header(opcode, payload.len(), out);
    out.put_slice(payload);
}

/// Appends the header of a message. The payload must follow.
pub(crate) fn append_header(opcode: Opcode, len: usize, out: &mut impl BufMut) {
    out.put_u8(FINAL | opcode as u8);
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len @ 0..=125), _) => out.put_u8(len),
        (_, Ok(len)) => {
            out.put_u8(126);
            out.put_u16(len);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(len as u64);
        }
    }
}

/// Appends the frame that announces the end of the connection.
pub(crate) fn append_close(code: u16, out: &mut impl BufMut) {
    append(Opcode::Close, &code.to_be_bytes(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_has_the_shortest_length() {
        let check = |len: usize, expected: &[u8]| {
            let mut out = Vec::new();
            append_header(Opcode::Text, len, &mut out);
            assert_eq!(out, expected, "{len}");
        };
        check(0, &[0x81, 0]);
        check(125, &[0x81, 125]);
        check(126, &[0x81, 126, 0, 126]);
        check(65_535, &[0x81, 126, 0xff, 0xff]);
        check(65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn close_frame_has_status_code() {
        let mut out = Vec::new();
        append_close(NORMAL, &mut out);
        assert_eq!(out, [0x88, 2, 0x03, 0xe8]);
    }
}
