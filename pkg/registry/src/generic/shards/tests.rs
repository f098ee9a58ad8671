//! Selectors of clients, with the results of a reference server.

use super::parse;

fn check(text: &str, expected: Result<&str, &str>) {
    let parsed = parse(text).map(|shards| shards.to_string()).map_err(|error| error.to_string());
    assert_eq!(parsed, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
}

#[test]
fn ranges_round_trip() {
    const FIRST: &str = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
    const SECOND: &str = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";
    let two_ranges = format!("{FIRST} || {SECOND}");
    check(FIRST, Ok(FIRST));
    check(&two_ranges, Ok(&two_ranges));
    check(&format!("({two_ranges}) || {FIRST}"), Ok(&format!("{two_ranges} || {FIRST}")));
    check(&format!("  x.{FIRST} "), Ok(FIRST));
    check(
        "shardRange( object.metadata.namespace,\"0x00000000000000aa\",'0x10000000000000000' )",
        Ok("shardRange(object.metadata.namespace, '0x00000000000000aa', '0x10000000000000000')"),
    );
}

#[test]
fn invalid_range_errors_match_upstream() {
    for &(text, expected) in WRONG {
        check(text, Err(expected));
    }
}

/// Invalid selectors with their errors.
const WRONG: &[(&str, &str)] = &[
    (
        "shardRange(object.metadata.uid, '0000000000000000', '0x8000000000000000')",
        "hexStart must have '0x' prefix, got \"0000000000000000\"",
    ),
    (
        "shardRange(object.metadata.uid, '0x', '0x8000000000000000')",
        "hexStart: hex value is required after '0x'",
    ),
    (
        "shardRange(object.metadata.name, '0x00', '0x80')",
        "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
    ),
    (
        "shardRange(.object.metadata.uid, '0x00', '0x80')",
        "unsupported field path \".object.metadata.uid\"; supported: object.metadata.uid, object.metadata.namespace",
    ),
    (
        "shardRange(uid, '0x00', '0x80')",
        "unsupported field path \"uid\"; supported: object.metadata.uid, object.metadata.namespace",
    ),
    (
        "shardRange('uid', '0x00', '0x80')",
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5",
    ),
    (
        "shardRange(object.metadata.labels['a'], '0x00', '0x80')",
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 1",
    ),
    (
        "shardRange(object[0].uid, '0x00', '0x80')",
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 1",
    ),
    (
        "invalidFunc(object.metadata.uid, '0x00', '0x80')",
        "unsupported function \"invalidFunc\"; only shardRange() and || are allowed",
    ),
    ("has(object.metadata.uid)", "unsupported function \"has\"; only shardRange() and || are allowed"),
    (
        "shardRange(object.metadata.uid, '0x000000000000000000', '0x80')",
        "hexStart: hex value too long (18 chars, max 17): \"000000000000000000\"",
    ),
    (
        "shardRange(object.metadata.uid, '0x20000000000000000', '0x80')",
        "hexStart: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x20000000000000000\"",
    ),
    ("shardRange(object.metadata.uid, '0x0g', '0x80')", "hexStart: invalid hex character \"g\" in \"0x0g\""),
    ("shardRange(object.metadata.uid, '0xé', '0x80')", "hexStart: invalid hex character \"é\" in \"0xé\""),
    (
        "shardRange(object.metadata.uid, '0x\\n', '0x80')",
        "hexStart: invalid hex character \"\\n\" in \"0x\\n\"",
    ),
    (
        "shardRange(object.metadata.uid, '0x0', '0x8') && shardRange(object.metadata.uid, '0x8', '0xf')",
        "unsupported function \"_&&_\"; only shardRange() and || are allowed",
    ),
    ("shardRange(object.metadata.uid, 0, 8)", "hexStart must be a string literal, got int64"),
    ("shardRange(object.metadata.uid, 0u, 8)", "hexStart must be a string literal, got uint64"),
    ("shardRange(object.metadata.uid, 1.5, 8)", "hexStart must be a string literal, got float64"),
    ("shardRange(object.metadata.uid, b'a', 8)", "hexStart must be a string literal, got []uint8"),
    ("shardRange(object.metadata.uid, null, 8)", "hexStart must be a string literal, got structpb.NullValue"),
    ("shardRange(object.metadata.uid, true, 8)", "hexStart must be a string literal, got bool"),
    (
        "shardRange(object.metadata.uid, [1], 8)",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 4",
    ),
    (
        "shardRange(object.metadata.uid, {1: 2}, 8)",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 6",
    ),
    (
        "shardRange(object.metadata.uid, T{a: 2}, 8)",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 8",
    ),
    (
        "shardRange(object.metadata.uid, a.b, 8)",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 7",
    ),
    (
        "shardRange(object.metadata.uid, c, 8)",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 3",
    ),
    ("object.metadata.uid > '0x0'", "unsupported function \"_>_\"; only shardRange() and || are allowed"),
    ("object.metadata.uid", "unexpected expression kind 7; expected shardRange() call or || operator"),
    ("'a'", "unexpected expression kind 5; expected shardRange() call or || operator"),
    ("[1]", "unexpected expression kind 4; expected shardRange() call or || operator"),
    ("shardRange(object.metadata.uid, '0x0')", "shardRange() requires exactly 3 arguments, got 2"),
    (
        "shardRange(object.metadata.uid, hex(0), '0x8')",
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 1",
    ),
    (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
        "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
    ),
    (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0xff')",
        "hexEnd must be a 0x-prefixed 16-digit hex value, got \"0xff\" (did you mean \"0x00000000000000ff\"?)",
    ),
    (
        "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
        "shard range start 0x8000000000000000 must be less than end 0x8000000000000000",
    ),
    (
        "shardRange(object.metadata.uid, '0x10000000000000000', '0x10000000000000000')",
        "shard range start 0x10000000000000000 must be less than end 0x10000000000000000",
    ),
    (
        "shardRange(object.metadata.uid, '0xffffffffffffffff', '0x0000000000000000')",
        "shard range start 0xffffffffffffffff must be less than end 0x0000000000000000",
    ),
    ("shardRange(object.metadata.uid", "CEL parse error: Syntax error: missing ')' at '<EOF>'"),
    ("shardRange(object.metadata.?uid, '0x00', '0x80')", "CEL parse error: unsupported syntax '.?'"),
    (
        ")",
        "CEL parse error: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    ("   ", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
    (
        "a ||",
        "CEL parse error: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    (
        "!shardRange(object.metadata.uid, '0x0000000000000000', '0xffffffffffffffff')",
        "unsupported function \"!_\"; only shardRange() and || are allowed",
    ),
    ("a.all(x, true)", "unsupported function \"all\"; only shardRange() and || are allowed"),
];
