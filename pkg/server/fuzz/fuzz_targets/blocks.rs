//! Fuzzes the filter for HTTP/2 header blocks with frames of arbitrary bytes. The first byte sets the size of the input's pieces.
//!
//! Invariants: no panic; the output is the same for every piece size; the filter leaves its output unchanged if it gets it as
//! its input.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/http2/filter.rs"]
mod filter;
#[path = "../../src/http2/hpack.rs"]
mod hpack;
#[path = "../../src/http2/huffman.rs"]
mod huffman;

use filter::Filter;

const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Output for the parser.
struct Filtered {
    bytes: Vec<u8>,
    is_rejected: bool,
}

fn filtered(input: &[u8], size: usize) -> Filtered {
    let mut filter = Filter::default();
    let mut bytes = Vec::new();
    for piece in input.chunks(size) {
        let unchanged = filter.accept(piece);
        bytes.extend_from_slice(&piece[..unchanged]);
        loop {
            let output = filter.next_output(usize::MAX);
            if output.is_empty() {
                break;
            }
            bytes.extend_from_slice(output);
        }
        if filter.is_rejected() {
            break;
        }
    }
    Filtered { bytes, is_rejected: filter.is_rejected() }
}

fuzz_target!(|data: &[u8]| {
    let Some((first, frames)) = data.split_first() else { return };
    let input = [PREFACE, frames].concat();
    let whole = filtered(&input, input.len());
    let pieces = filtered(&input, usize::from(*first) + 1);
    assert_eq!(whole.is_rejected, pieces.is_rejected);
    // An incomplete frame may stop at another position.
    let common = whole.bytes.len().min(pieces.bytes.len());
    assert!(whole.bytes[..common] == pieces.bytes[..common]);
    if !whole.is_rejected {
        let again = filtered(&whole.bytes, whole.bytes.len());
        assert!(!again.is_rejected && again.bytes == whole.bytes);
    }
});
