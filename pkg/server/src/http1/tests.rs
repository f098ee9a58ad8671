//! Tests with malicious heads and chunks: the result does not depend on the pieces in which they arrive.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::as_conversions
)]

use super::chunks::Chunks;
use super::head::{self, Framing, Head};

const HEADS: &[&[u8]] = &[
    b"GET /api?x=%zz HTTP/1.1\r\nHost: x\r\nUser-Agent: a/b\r\n\r\n",
    b"POST http://x/api HTTP/1.1\r\nhost:x:80\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\nab",
    b"PUT /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\nHost: [::1]\r\n\r\n\r\n",
];
const BODIES: &[&[u8]] = &[
    b"2;a=b\r\nab\r\nC\r\n0123456789ab\r\n0\r\nX: y\r\n\r\nGET",
    b"0000000000000001 \t\r\na\r\n00\r\n\r\n",
    b"ffffffffffffffff\r\na",
];
const SPICES: &[&[u8]] =
    &[b"\r\n", b"\n", b"\r", b" ", b":", b"0", b"\xff", b"\0", b"chunked", b"Host: y\r\n", b";"];

/// Small pseudo-random generator, for reproducible failures.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

fn mutated(seeds: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].to_vec();
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => drop(bytes.drain(at..(at + 1 + random.below(4)).min(bytes.len()))),
            1 => drop(bytes.splice(at..at, SPICES[random.below(SPICES.len())].iter().copied())),
            _ => bytes.rotate_left(at),
        }
    }
    bytes
}

#[test]
fn head_end_is_independent_of_pieces() {
    let mut random = Random(1);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let bytes = mutated(HEADS, &mut random);
        let expected = head::end(&bytes, 0);
        let mut actual = Ok(None);
        let mut offset = 0;
        while offset < bytes.len() && actual == Ok(None) {
            let next_offset = (offset + 1 + random.below(20)).min(bytes.len());
            actual = head::end(&bytes[..next_offset], offset);
            offset = next_offset;
        }
        // Bytes after a head are checked later.
        assert!(
            expected == actual || actual.is_ok_and(|end| end.is_some()),
            "{bytes:?}: {expected:?} {actual:?}"
        );
        if let Ok(Some(end)) = expected
            && let Ok(Head { framing, .. }) = head::read(&bytes[..end])
        {
            accepted += 1;
            let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            assert_eq!(framing == Framing::Chunked, text.contains("\r\ntransfer-encoding:"), "{text:?}");
        }
    }
    assert!(accepted > 1000, "some are heads: {accepted}");
}

#[test]
fn chunked_body_end_is_independent_of_pieces() {
    let mut random = Random(2);
    let mut completed = 0;
    for _ in 0..20_000 {
        let bytes = mutated(BODIES, &mut random);
        let mut reference = Chunks::default();
        let expected = reference.read(&bytes);
        let mut chunks = Chunks::default();
        let mut consumed = Ok(0);
        let mut offset = 0;
        while let (Ok(count), true, false) = (consumed, offset < bytes.len(), chunks.is_done()) {
            let end = (offset + 1 + random.below(9)).min(bytes.len());
            consumed = chunks.read(&bytes[offset..end]).map(|piece_bytes| count + piece_bytes);
            offset = end;
        }
        assert_eq!(consumed, expected, "{bytes:?}");
        assert!(consumed.is_err() || reference.is_done() == chunks.is_done(), "{bytes:?}");
        completed += usize::from(reference.is_done());
    }
    assert!(completed > 1000, "some end: {completed}");
}
