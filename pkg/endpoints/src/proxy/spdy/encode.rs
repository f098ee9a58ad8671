//! Frames for the kubelet.

use bytes::{BufMut, BytesMut};

use super::{CONTROL, FIN, GO_AWAY, PING, RST_STREAM, ResetReason, SYN_STREAM, VERSION};

/// Maximum payload of a DATA frame, in bytes. Longer data becomes several frames.
const DATA_BYTES_MAX: usize = 32 * 1024;

/// Header of the zlib stream of all header blocks: a window of 32 KiB, no preset dictionary.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
/// Header of a deflate block that is stored, and not the last one.
const STORED_BLOCK: u8 = 0;

/// Encoder of frames with header blocks, which share one compressed stream.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Encoder {
    /// True after the first header block.
    started: bool,
}

impl Encoder {
    /// Opens a stream. The header block is stored, not compressed. It ends with an empty block, after which a decoder
    /// returns what it has (Go's reader waits for more without it).
    pub(in crate::proxy) fn append_syn_stream(
        &mut self,
        stream: u32,
        name: &'static str,
        value: &'static str,
        out: &mut BytesMut,
    ) {
        let mut block = BytesMut::new();
        block.put_u32(1);
        for text in [name, value] {
            block.put_u32(u32::try_from(text.len()).unwrap_or_default());
            block.put_slice(text.as_bytes());
        }
        let mut compressed = BytesMut::new();
        if !self.started {
            compressed.put_slice(&ZLIB_HEADER);
        }
        self.started = true;
        for part in block.chunks(usize::from(u16::MAX)).chain([&[][..]]) {
            let length = u16::try_from(part.len()).unwrap_or_default();
            compressed.put_u8(STORED_BLOCK);
            compressed.put_u16_le(length);
            compressed.put_u16_le(!length);
            compressed.put_slice(part);
        }
        append_control_header(SYN_STREAM, 10 + compressed.len(), out);
        out.put_u32(stream);
        // The associated stream, the priority, and the slot of the client certificate.
        out.put_bytes(0, 6);
        out.put_slice(&compressed);
    }
}

/// Sends data on a stream. With `fin`, it is the last.
pub(in crate::proxy) fn append_data(stream: u32, fin: bool, data: &[u8], out: &mut BytesMut) {
    let mut rest = data;
    loop {
        let (part, next) = rest.split_at(rest.len().min(DATA_BYTES_MAX));
        rest = next;
        out.put_u32(stream);
        out.put_u8(if fin && rest.is_empty() { FIN } else { 0 });
        out.put_uint(part.len() as u64, 3);
        out.put_slice(part);
        if rest.is_empty() {
            return;
        }
    }
}

/// Ends a stream in both directions.
pub(in crate::proxy) fn append_reset(stream: u32, reason: ResetReason, out: &mut BytesMut) {
    append_control_header(RST_STREAM, 8, out);
    out.put_u32(stream);
    out.put_u32(reason as u32);
}

/// Sends a ping, or the answer to one.
pub(in crate::proxy) fn append_ping(id: u32, out: &mut BytesMut) {
    append_control_header(PING, 4, out);
    out.put_u32(id);
}

/// Announces the regular end of the connection. The server has opened no stream.
pub(in crate::proxy) fn append_go_away(out: &mut BytesMut) {
    append_control_header(GO_AWAY, 8, out);
    out.put_bytes(0, 8);
}

fn append_control_header(kind: u16, length: usize, out: &mut BytesMut) {
    out.put_u16(u16::from(CONTROL) << 8 | VERSION);
    out.put_u16(kind);
    out.put_u8(0);
    out.put_uint(length as u64, 3);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use super::*;

    fn encoded(append: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
        let mut out = BytesMut::new();
        append(&mut out);
        out.to_vec()
    }

    #[test]
    fn header_blocks_form_one_zlib_stream() {
        let mut encoder = Encoder::default();
        let mut compressed = Vec::new();
        for (stream, value) in [(1_u8, "error"), (3, "stdin")] {
            let frame = encoded(|out| encoder.append_syn_stream(stream.into(), "streamtype", value, out));
            assert_eq!(frame.get(..4), Some(&[0x80, 3, 0, 1][..]));
            let length = u32::from_be_bytes(*frame.get(4..).unwrap().first_chunk().unwrap());
            assert_eq!(frame.len(), 8 + length as usize);
            assert_eq!(frame.get(8..18), Some(&[0, 0, 0, stream, 0, 0, 0, 0, 0, 0][..]));
            assert!(frame.ends_with(&[0, 0, 0, 0xff, 0xff]));
            compressed.extend_from_slice(frame.get(18..).unwrap());
        }
        let block = |value: &str| [b"\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05", value.as_bytes()].concat();
        let expected = [block("error"), block("stdin")].concat();
        let mut decompressed = vec![0; expected.len()];
        flate2::read::ZlibDecoder::new(&*compressed).read_exact(&mut decompressed).unwrap();
        assert_eq!(decompressed, expected);
    }

    #[test]
    fn control_frames_have_their_layout() {
        let reset = encoded(|out| append_reset(5, ResetReason::Cancel, out));
        assert_eq!(reset, [0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 5]);
        assert_eq!(encoded(|out| append_ping(7, out)), [0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 7]);
        let go_away = encoded(append_go_away);
        assert_eq!(go_away, [0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn long_data_becomes_several_frames() {
        let data = vec![b'x'; DATA_BYTES_MAX + 1];
        let frames = encoded(|out| append_data(3, true, &data, out));
        assert_eq!(frames.get(..8), Some(&[0, 0, 0, 3, 0, 0, 0x80, 0][..]));
        assert_eq!(frames.get(8 + DATA_BYTES_MAX..), Some(&[0, 0, 0, 3, 1, 0, 0, 1, b'x'][..]));
        assert_eq!(encoded(|out| append_data(3, true, b"", out)), [0, 0, 0, 3, 1, 0, 0, 0]);
    }
}
