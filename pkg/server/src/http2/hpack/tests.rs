//! Tests with the examples of RFC 7541, appendix C, and with invalid blocks.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

/// Three requests with Huffman code (C.4). Each refers to fields of earlier ones.
const REQUESTS: [&[u8]; 3] = [
    &[0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff],
    &[0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf],
    &[
        0x82, 0x87, 0x85, 0xbf, 0x40, 0x88, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f, 0x89, 0x25, 0xa8,
        0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf,
    ],
];

fn decoded(table: &mut Table, block: &[u8]) -> Result<String, BlockError> {
    let mut text = String::new();
    table.decode(block, |name, value| {
        text += &format!("{}={};", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        Ok(())
    })?;
    Ok(text)
}

#[test]
fn fields_of_earlier_blocks_decode() {
    let mut table = Table::default();
    decoded(&mut table, REQUESTS[0]).unwrap();
    let second = decoded(&mut table, REQUESTS[1]).unwrap();
    assert_eq!(second, ":method=GET;:scheme=http;:path=/;:authority=www.example.com;cache-control=no-cache;");
    let third = decoded(&mut table, REQUESTS[2]).unwrap();
    let expected =
        ":method=GET;:scheme=https;:path=/index.html;:authority=www.example.com;custom-key=custom-value;";
    assert_eq!((third.as_str(), table.size), (expected, 164));
}

#[test]
fn table_keeps_its_size() {
    let mut table = Table::default();
    for number in 0..200_u8 {
        let block = [&[0x40, 1, b'a' + number % 26, 100][..], &[b'v'; 100]].concat();
        decoded(&mut table, &block).unwrap();
    }
    assert_eq!((table.entries.len(), table.size), (4096 / 133, 4096 / 133 * 133));
    decoded(&mut table, &[0x20]).unwrap();
    assert_eq!((table.entries.len(), table.size), (0, 0));
}

#[test]
fn field_above_table_size_empties_it() {
    let mut table = Table::default();
    decoded(&mut table, REQUESTS[0]).unwrap();
    let large = [&[0x40, 1, b'a', 0x7f, 0x81, 0x1f][..], &[b'v'; 4096]].concat();
    decoded(&mut table, &large).unwrap();
    assert!(table.entries.is_empty());
}

#[test]
fn invalid_blocks_are_errors() {
    let invalid: [&[u8]; 9] = [
        &[0x80],
        &[0xbe],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0x3f, 0xe2, 0x1f],
        &[0x82, 0x20],
        &[0x40, 3, b'a'],
        &[0x40, 1, b'a', 0x81],
        &[0x40, 1, b'a', 0x81, 0x00],
        &[0x7e],
    ];
    for block in invalid {
        assert_eq!(decoded(&mut Table::default(), block), Err(BlockError), "{block:x?}");
    }
}

#[test]
fn encoded_fields_decode_alike() {
    for length in [0, 1, 126, 127, 128, 254, 255, 256, 16_510, 16_511, 1_000_000] {
        let mut block = Vec::new();
        let value = vec![b'v'; length];
        encode(b"name", &value, &mut block);
        let mut lengths = Vec::new();
        Table::default()
            .decode(&block, |name, value| {
                lengths.push((name.len(), value.len()));
                Ok(())
            })
            .unwrap();
        assert_eq!(lengths, [(4, length)]);
    }
}
