//! Tests of the filter: its output does not depend on the pieces in which the input arrives.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::*;

const STREAM: [u8; 4] = [0, 0, 0, 1];

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(kind, flags, STREAM, &[payload], &mut frame);
    frame
}

/// Frame that contains a block of these fields.
fn fields(flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::encode(name.as_bytes(), value.as_bytes(), &mut block);
    }
    frame(HEADERS, flags, &block)
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

/// Splits the output into frames.
fn frames(output: &[u8]) -> Vec<(FrameHead, &[u8])> {
    let mut rest = &output[PREFACE_BYTES..];
    let mut frames = Vec::new();
    while let Some(head) = FrameHead::read(rest) {
        let payload = &rest[FRAME_HEAD_BYTES..];
        frames.push((head, &payload[..head.length.min(payload.len())]));
        rest = payload.get(head.length..).unwrap_or_default();
    }
    frames
}

/// Returns the output with one frame for each block.
fn joined(output: &[u8]) -> Vec<u8> {
    let mut joined: Vec<(FrameHead, Vec<u8>)> = Vec::new();
    for (head, payload) in frames(output) {
        match joined.last_mut() {
            Some((first, block)) if head.kind == CONTINUATION && first.kind == HEADERS => {
                first.flags |= head.flags;
                block.extend_from_slice(payload);
            }
            _ => joined.push((head, payload.to_vec())),
        }
    }
    let mut output = output[..PREFACE_BYTES].to_vec();
    for (head, payload) in joined {
        write_frame(head.kind, head.flags, head.stream, &[&payload], &mut output);
    }
    output
}

/// Checks the result, with joined blocks, for many sizes of pieces.
fn check(input: &[u8], expected: &[u8], rejected: bool) {
    for size in [1, 2, 7, 9, 10, 33, 1000, 16_384, 16_393, 100_000, input.len()] {
        let actual = filtered(input, size);
        assert_eq!(actual.1, rejected, "pieces of {size}");
        let output = joined(&actual.0);
        assert!(output == expected, "pieces of {size}: {:x?}", &output[..output.len().min(200)]);
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
fn blocks_reach_the_parser_decoded() {
    let padded = [&[3][..], SMALL, &[0; 3]].concat();
    let priority = [0, 0, 0, 0, 1];
    let large = large_block(900_000);
    let input = [
        vec![frame(4, 0, &[])],
        vec![frame(HEADERS, END_HEADERS, SMALL)],
        vec![frame(0, 0, &[7; 9000])],
        vec![frame(HEADERS, END_HEADERS | PRIORITY, &[&priority[..], &[0xbe]].concat())],
        split(&large, 16_384),
        vec![frame(HEADERS, END_HEADERS | END_STREAM, &[0xbe])],
        vec![frame(HEADERS, END_HEADERS | PADDED, &padded)],
        vec![frame(200, 0, &[1; 300])],
    ];
    let both = fields(END_HEADERS, &[(":method", "GET"), ("a", "b")]);
    let block = fields(0, &[("a", "b")])[FRAME_HEAD_BYTES..].to_vec();
    let expected = [
        frame(4, 0, &[]),
        both.clone(),
        frame(0, 0, &[7; 9000]),
        frame(HEADERS, END_HEADERS | PRIORITY, &[&priority[..], &block].concat()),
        frame(HEADERS, END_HEADERS, &large),
        frame(HEADERS, END_HEADERS | END_STREAM, &block),
        both,
        frame(200, 0, &[1; 300]),
    ];
    check(&connection(&input.concat()), &connection(&expected), false);
}

#[test]
fn frames_of_a_block_are_full_or_small() {
    for size in [0, 4000, 4087, 4096, 8192, 12_000, 16_383, 16_384, 20_000, 900_000, 1_048_500] {
        let input = connection(&split(&large_block(size), 16_384));
        let (output, rejected) = filtered(&input, input.len());
        let lengths: Vec<usize> = frames(&output).iter().map(|(head, _)| head.length).collect();
        assert!(!rejected && lengths.iter().all(|length| *length == 16_384 || *length < 4096), "{lengths:?}");
        assert!(lengths.len() <= usize::try_from(BLOCK_FRAMES_MAX).unwrap(), "{}", lengths.len());
    }
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
    let block: Vec<u8> = frames(&passed).into_iter().flat_map(|(_, payload)| payload.to_vec()).collect();
    Table::default()
        .decode(&block, |name, value| {
            size += hpack::field_size(name, value);
            Ok(())
        })
        .unwrap();
    assert!(size > limit && size < limit + 100, "{size}");
}

#[test]
fn malformed_field_affects_only_its_stream() {
    let invalid = fields(END_HEADERS, &[("connection", "")]);
    let request = fields(END_HEADERS, &[("a", "b")]);
    let long = "a".repeat(NAME_BYTES_MAX + 1);
    let malformed = [
        ("A", "b"),
        ("a b", "b"),
        ("", "b"),
        (&long, "b"),
        ("é", "b"),
        (":unknown", "b"),
        ("a", "b\n"),
        ("a", "\x7f"),
        (":method", ""),
        (":method", "G T"),
        (":method", "é"),
    ];
    for (name, value) in malformed {
        let block = fields(0, &[("before", "1"), (name, value), ("after", "2")])[FRAME_HEAD_BYTES..].to_vec();
        let input = connection(&[split(&block, 16_384), vec![request.clone()]].concat());
        check(&input, &connection(&[invalid.clone(), request.clone()]), false);
    }
    let valid = fields(END_HEADERS, &[(":method", "x-Y"), (":path", "/é"), ("a\"", "é\t "), ("x", "")]);
    check(&connection(std::slice::from_ref(&valid)), &connection(std::slice::from_ref(&valid)), false);
    let not_utf8 = frame(HEADERS, END_HEADERS, b"\x04\x02\xff\xff");
    check(&connection(&[not_utf8]), &connection(&[invalid]), false);
}

#[test]
fn block_that_repeats_an_entry_becomes_invalid() {
    let mut invalid = Vec::new();
    hpack::encode(b"connection", b"", &mut invalid);
    let field = [&[0x40, 1, b'a', 0x7f, 0xe9, 0x06][..], &[b'v'; 1000]].concat();
    let input = [frame(HEADERS, END_HEADERS, &field), frame(HEADERS, END_HEADERS, &[0xbe; 20])];
    let expected = [fields(END_HEADERS, &[("a", &"v".repeat(1000))]), frame(HEADERS, END_HEADERS, &invalid)];
    check(&connection(&input), &connection(&expected), false);
}

#[test]
fn output_is_bounded_until_it_is_taken() {
    let field = [&[0x40, 1, b'a', 0x7f, 0xe9, 0x06][..], &[b'v'; 1000]].concat();
    let frames =
        [vec![frame(HEADERS, END_HEADERS, &field)], vec![frame(HEADERS, END_HEADERS, &[0xbe; 8]); 1000]];
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
    write_frame(PING, 0, [0; 4], &[&[0; 8]], &mut rejection);
    let promise = frame(PUSH_PROMISE, END_HEADERS, &[&[0, 0, 0, 2][..], SMALL].concat());
    check(&connection(std::slice::from_ref(&promise)), &connection(std::slice::from_ref(&rejection)), true);
    let large = frame(HEADERS, END_HEADERS, &large_block(9000));
    check(&connection(&[large.clone(), promise]), &connection(&[large, rejection]), true);
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
    write_frame(PING, 0, [0; 4], &[&[0; 8]], &mut ping);
    let expected = connection(&[frame(HEADERS, 0, &[]), ping]);
    let start = frame(HEADERS, 0, SMALL);
    let mut other_stream = Vec::new();
    write_frame(CONTINUATION, 0, [0, 0, 0, 3], &[SMALL], &mut other_stream);
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
