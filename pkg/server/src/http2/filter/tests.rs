//! Tests of the filter: what reaches the parser does not depend on the pieces in which the input arrives.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::*;

const STREAM: [u8; 4] = [0, 0, 0, 1];

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(kind, flags, STREAM, payload, &mut frame);
    frame
}

fn connection(frames: &[Vec<u8>]) -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frames.concat()].concat()
}

/// Output for the parser, with input in pieces of `size` bytes, and whether the input was rejected.
fn filtered(input: &[u8], size: usize) -> (Vec<u8>, bool) {
    let mut filter = Filter::default();
    let mut passed = Vec::new();
    for piece in input.chunks(size) {
        let unchanged = filter.accept(piece);
        passed.extend_from_slice(&piece[..unchanged]);
        loop {
            let part = filter.next_output(usize::MAX).to_vec();
            if part.is_empty() {
                break;
            }
            passed.extend(part);
        }
        if filter.rejected {
            break;
        }
    }
    (passed, filter.rejected)
}

/// Checks the result for many sizes of pieces.
fn check(input: &[u8], expected: &[u8], rejected: bool) {
    for size in [1, 2, 7, 9, 10, 33, 1000, 16_384, 16_393, 100_000, input.len()] {
        let actual = filtered(input, size);
        assert_eq!(actual.1, rejected, "pieces of {size}");
        assert!(actual.0 == expected, "pieces of {size}: {:x?}", &actual.0[..actual.0.len().min(200)]);
    }
}

/// Block with an addition to the table.
const SMALL: &[u8] = &[0x82, 0x40, 1, b'a', 1, b'b'];

/// Block of `size` bytes and some more, without additions.
fn large_block(size: usize) -> Vec<u8> {
    let mut block = Vec::new();
    hpack::encode(b"large", &vec![b'v'; size], &mut block);
    block
}

/// Frames of a block. Each has at most `part` bytes of it.
fn split(block: &[u8], part: usize) -> Vec<Vec<u8>> {
    let count = block.len().div_ceil(part);
    let frames = block.chunks(part).enumerate().map(|(number, bytes)| {
        let flags = if number + 1 == count { END_HEADERS } else { 0 };
        frame(if number == 0 { HEADERS } else { CONTINUATION }, flags, bytes)
    });
    frames.collect()
}

#[test]
fn small_blocks_pass_unchanged() {
    let padded = [&[3][..], SMALL, &[0; 3]].concat();
    let frames = [
        frame(4, 0, &[]),
        frame(HEADERS, END_HEADERS, SMALL),
        frame(0, 0, &[7; 9000]),
        frame(HEADERS, END_HEADERS | PRIORITY, &[&[0, 0, 0, 0, 1][..], &[0xbe]].concat()),
        frame(HEADERS, END_HEADERS | END_STREAM, &[0xbe]),
        frame(HEADERS, END_HEADERS | PADDED, &padded),
        frame(200, 0, &[1; 300]),
    ];
    let input = connection(&frames);
    check(&input, &input, false);
}

#[test]
fn blocks_decode_after_a_large_one() {
    let large = large_block(900_000);
    let mut small = Vec::new();
    hpack::encode(b":method", b"GET", &mut small);
    hpack::encode(b"a", b"b", &mut small);
    let frames = [
        vec![frame(HEADERS, END_HEADERS, SMALL)],
        split(&large, 16_384),
        vec![frame(HEADERS, END_HEADERS, SMALL)],
    ];
    let expected = [
        vec![frame(HEADERS, END_HEADERS, SMALL)],
        split(&large, 16_384),
        vec![frame(HEADERS, END_HEADERS, &small)],
    ];
    check(&connection(&frames.concat()), &connection(&expected.concat()), false);
}

#[test]
fn decoded_block_keeps_its_priority_and_end() {
    let large = large_block(9000);
    let payload = [&[1, 2, 3, 4, 5][..], &large].concat();
    let flags = END_HEADERS | PRIORITY | END_STREAM;
    let padded = [&[9][..], &payload, &[0; 9]].concat();
    let expected = connection(&[frame(HEADERS, flags, &payload)]);
    check(&connection(&[frame(HEADERS, flags | PADDED, &padded)]), &expected, false);
}

#[test]
fn list_above_the_limit_stays_above_it() {
    let block: Vec<u8> = (0..1100).flat_map(|_| large_block(1000)).collect();
    let input = connection(&split(&block, 16_384));
    let (passed, rejected) = filtered(&input, input.len());
    assert!(!rejected);
    let mut size = 0;
    let limit = usize::try_from(HEADER_LIST_BYTES_MAX).unwrap();
    let block: Vec<u8> =
        passed[PREFACE_BYTES..].chunks(16_393).flat_map(|frame| frame[9..].to_vec()).collect();
    Table::default().decode(&block, &mut |name, value| size += hpack::field_size(name, value)).unwrap();
    assert!(size > limit && size < limit + 100, "{size}");
}

#[test]
fn block_that_repeats_an_entry_becomes_invalid() {
    let mut invalid = Vec::new();
    hpack::encode(b"connection", b"", &mut invalid);
    let field = [&[0x40, 1, b'a', 0x7f, 0xe9, 0x06][..], &[b'v'; 1000]].concat();
    let frames = [
        vec![frame(HEADERS, END_HEADERS, &field)],
        split(&large_block(9000), 16_384),
        vec![frame(HEADERS, END_HEADERS, &[0xbe; 20])],
    ];
    let expected = [
        vec![frame(HEADERS, END_HEADERS, &field)],
        split(&large_block(9000), 16_384),
        vec![frame(HEADERS, END_HEADERS, &invalid)],
    ];
    check(&connection(&frames.concat()), &connection(&expected.concat()), false);
}

#[test]
fn output_is_bounded_until_it_is_taken() {
    let field = [&[0x40, 1, b'a', 0x7f, 0xe9, 0x06][..], &[b'v'; 1000]].concat();
    let frames = [
        vec![frame(HEADERS, END_HEADERS, &field)],
        split(&large_block(9000), 16_384),
        vec![frame(HEADERS, END_HEADERS, &[0xbe; 8]); 1000],
    ];
    let mut filter = Filter::default();
    filter.accept(&connection(&frames.concat()));
    let mut count = 0_usize;
    loop {
        assert!(filter.output.len() < OUTPUT_BYTES_MAX + 10_000, "{}", filter.output.len());
        let part = filter.next_output(16_384).len();
        count += part;
        if part == 0 {
            break;
        }
    }
    assert!(count > 1000 * 8 * 1000, "{count}");
}

#[test]
fn push_promise_ends_the_connection() {
    let mut rejection = Vec::new();
    write_frame(HEADERS, 0, [0; 4], &[], &mut rejection);
    write_frame(PING, 0, [0; 4], &[0; 8], &mut rejection);
    let promise = frame(PUSH_PROMISE, END_HEADERS, &[&[0, 0, 0, 2][..], SMALL].concat());
    check(&connection(std::slice::from_ref(&promise)), &connection(std::slice::from_ref(&rejection)), true);
    let large = split(&large_block(9000), 16_384);
    let after_large = [large.clone(), vec![promise]].concat();
    check(&connection(&after_large), &connection(&[large, vec![rejection]].concat()), true);
}

#[test]
fn expanding_block_ends_the_connection() {
    let field = [&[0x40, 1, b'a', 0x7f, 0xe9, 0x06][..], &[b'v'; 1000]].concat();
    let block = [field, vec![0xbe; 20_000]].concat();
    let input = connection(&split(&block, 16_384));
    check(&input, &connection(&[frame(HEADERS, END_HEADERS, &[0x80])]), true);
}

#[test]
fn invalid_block_ends_the_connection() {
    let expected = connection(&[frame(HEADERS, END_HEADERS, &[0x80])]);
    for block in [vec![0xbe], [large_block(9000), vec![0xbe]].concat()] {
        check(&connection(&split(&block, 9100)), &expected, true);
    }
}

#[test]
fn interrupted_block_ends_the_connection() {
    let mut ping = Vec::new();
    write_frame(PING, 0, [0; 4], &[0; 8], &mut ping);
    let expected = connection(&[frame(HEADERS, 0, &[]), ping]);
    let start = frame(HEADERS, 0, SMALL);
    let mut other_stream = Vec::new();
    write_frame(CONTINUATION, 0, [0, 0, 0, 3], SMALL, &mut other_stream);
    let endless = vec![frame(CONTINUATION, 0, &[]); usize::try_from(BLOCK_FRAMES_MAX).unwrap()];
    for rest in [vec![frame(0, 0, SMALL)], vec![start.clone()], vec![other_stream], endless] {
        check(&connection(&[vec![start.clone()], rest].concat()), &expected, true);
    }
}

#[test]
fn invalid_frames_reach_the_parser() {
    let invalid = [
        frame(CONTINUATION, END_HEADERS, SMALL),
        frame(HEADERS, END_HEADERS, &[0x82; 16_385]),
        frame(HEADERS, END_HEADERS | PADDED, &[9, 0x82]),
        frame(HEADERS, END_HEADERS | PRIORITY, &[1, 2, 3]),
    ];
    for frame in invalid {
        let input = connection(&[frame]);
        check(&input, &input, false);
    }
}
