//! Gzip for watches, and for lists: streamed, and in two parts. The compressed items of a list can be cached and
//! sent behind a different head.
//!
//! The head is deflated and flushed to a byte boundary. The items start with an empty window and refer to no
//! earlier bytes. The checksum of the whole is combined from the checksums of both parts.

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Gzip header as Go writes it: deflate, no flags, no time, fastest level, unknown system.
pub(crate) const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

/// Deflate stream at the fastest level, as upstream uses.
pub(crate) struct Deflate {
    compress: Compress,
    plain: Hasher,
    plain_len: usize,
}

/// Checksum and length of the input of a deflate stream.
#[derive(Clone)]
pub(crate) struct Plain {
    pub(crate) crc: Hasher,
    /// Length in bytes.
    pub(crate) len: usize,
}

impl Deflate {
    /// Creates a stream with an empty window.
    pub(crate) fn new() -> Self {
        Deflate { compress: Compress::new(Compression::fast(), false), plain: Hasher::new(), plain_len: 0 }
    }

    /// Deflates `input`. The output is appended to `out`, possibly with delay.
    pub(crate) fn write(&mut self, input: &[u8], out: &mut Vec<u8>) {
        self.run(input, FlushCompress::None, out);
    }

    /// Flushes the stream to a byte boundary; more parts may follow.
    pub(crate) fn flush(mut self, out: &mut Vec<u8>) -> Plain {
        self.run(&[], FlushCompress::Sync, out);
        Plain { crc: self.plain, len: self.plain_len }
    }

    pub(crate) fn finish(mut self, out: &mut Vec<u8>) -> Plain {
        self.run(&[], FlushCompress::Finish, out);
        Plain { crc: self.plain, len: self.plain_len }
    }

    fn run(&mut self, input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        self.plain.update(input);
        self.plain_len += input.len();
        let mut rest = input;
        loop {
            out.reserve(rest.len() / 4 + 1024);
            let total_before = self.compress.total_in();
            let status = self.compress.compress_vec(rest, out, flush);
            let consumed = usize::try_from(self.compress.total_in() - total_before).unwrap_or(usize::MAX);
            rest = rest.get(consumed..).unwrap_or_default();
            let has_capacity = out.len() < out.capacity();
            // Deflating into memory fails only after the end of a stream, and `self` is consumed here.
            if matches!(status, Ok(Status::StreamEnd) | Err(_)) || rest.is_empty() && has_capacity {
                return;
            }
        }
    }
}

/// Compresses `input` as a complete gzip member.
///
/// The data ends at a byte boundary before the final block. Go's reader returns such data at once. It holds back data of
/// the final block until the next member begins.
pub(crate) fn member(input: &[u8]) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    let mut deflate = Deflate::new();
    deflate.run(input, FlushCompress::Sync, &mut out);
    let plain = deflate.finish(&mut out);
    out.extend_from_slice(&trailer(&plain, &Plain { crc: Hasher::new(), len: 0 }));
    out
}

/// Returns the length of a gzip member before its compression, modulo 2^32.
pub(crate) fn plain_len(member: &[u8]) -> usize {
    member.last_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize)
}

/// Returns the checksum and length that end a gzip member of two parts.
pub(crate) fn trailer(head: &Plain, rest: &Plain) -> [u8; 8] {
    let mut crc = head.crc.clone();
    crc.combine(&rest.crc);
    // Gzip stores the length modulo 2^32.
    let crc = crc.finalize().to_le_bytes();
    let len = (head.len.wrapping_add(rest.len) as u32).to_le_bytes();
    let [a, b, c, d] = crc;
    let [e, f, g, h] = len;
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read;

    use super::*;

    /// Bytes of medium compressibility.
    fn text(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"abcdefgh \n\"{}:,01"[(state >> 24) as usize % 17]
        };
        (0..len).map(|_| next()).collect()
    }

    fn inflate(member: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(member).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn member_is_complete() {
        for len in [0, 1, 100_000] {
            let text = text(len);
            let member = member(&text);
            assert_eq!(inflate(&member), text, "{len}");
            assert_eq!(plain_len(&member), len);
        }
    }

    /// The empty final block of a stream that was flushed before.
    #[test]
    fn data_of_a_member_precedes_the_final_block() {
        let member = member(b"data");
        let (body, _) = member.split_at(member.len() - 8);
        assert!(body.ends_with(&[0, 0, 0xff, 0xff, 3, 0]), "{body:x?}");
    }

    #[test]
    fn any_head_fits_any_rest() {
        for (head_len, rest_len, step) in
            [(0, 0, 1), (1, 1, 1), (100, 300_000, 65_536), (70_000, 5, 2), (300, 1_000_000, 1_000_000)]
        {
            let head = text(head_len);
            let rest = text(rest_len);
            let mut member = HEADER.to_vec();
            let mut deflated = Vec::new();
            let mut first = Deflate::new();
            first.write(&head, &mut member);
            let first = first.flush(&mut member);
            let mut second = Deflate::new();
            for part in rest.chunks(step) {
                second.write(part, &mut deflated);
            }
            let second = second.finish(&mut deflated);
            member.extend_from_slice(&deflated);
            member.extend_from_slice(&trailer(&first, &second));
            assert_eq!(inflate(&member), [head, rest].concat(), "{head_len} {rest_len}");
        }
    }
}
