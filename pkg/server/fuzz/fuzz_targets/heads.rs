//! Fuzzes the strict HTTP/1.1 reader with a request head and a chunked body of arbitrary bytes. The first
//! byte sets the size of the pieces in which they arrive.
//!
//! Invariants: no panic; head and body end at the same offset for every piece size; an accepted head has a
//! single meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/http1/chunks.rs"]
#[allow(dead_code, reason = "the server needs more of it")]
mod chunks;
#[path = "../../src/http1/head.rs"]
#[allow(dead_code, reason = "the server needs more of it")]
mod head;

use chunks::Chunks;
use head::{Framing, Head};

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let piece = usize::from(*piece) + 1;
    let expected = head::end(bytes, 0);
    let mut actual = Ok(None);
    let mut offset = 0;
    while offset < bytes.len() && actual == Ok(None) {
        let next_offset = (offset + piece).min(bytes.len());
        actual = head::end(&bytes[..next_offset], offset);
        offset = next_offset;
    }
    // Bytes after a head are checked later.
    assert!(expected == actual || actual.is_ok_and(|end| end.is_some()));
    let Ok(Some(end)) = expected else { return };
    let Ok(Head { framing, .. }) = head::read(&bytes[..end]) else { return };
    let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    assert_eq!(framing == Framing::Chunked, text.contains("\r\ntransfer-encoding:"));
    for name in ["host", "content-length", "transfer-encoding"] {
        assert!(text.matches(&format!("\r\n{name}:")).count() <= 1, "{name} twice");
    }
    if framing == Framing::Chunked {
        body(&bytes[end..], piece);
    }
});

fn body(bytes: &[u8], piece: usize) {
    let mut reference = Chunks::default();
    let mut pieces = Chunks::default();
    let expected = reference.read(bytes);
    let mut consumed = Ok(0);
    for part in bytes.chunks(piece) {
        let Ok(count) = consumed else { break };
        if pieces.is_done() {
            break;
        }
        consumed = pieces.read(part).map(|piece_bytes| count + piece_bytes);
    }
    assert_eq!(consumed, expected);
    assert!(consumed.is_err() || reference.is_done() == pieces.is_done());
}
