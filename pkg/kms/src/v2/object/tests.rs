//! Tests of the stored message.
#![allow(clippy::unwrap_used)]

use smallvec::smallvec;

use super::*;
use crate::testing::{unwrapped, vectors};

/// Encodes a message with these fields, in this order.
fn message(members: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, bytes) in members {
        put(&mut out, *tag, bytes);
    }
    out
}

fn check(raw: &[u8], expected: &str) {
    assert_eq!(EncryptedObject::parse(raw).unwrap_err().to_string(), expected);
}

#[test]
fn upstream_messages_round_trip() {
    for name in ["v2 seed", "v2 key"] {
        for (_, stored) in vectors(name) {
            let object = EncryptedObject::parse(&stored).unwrap();
            assert_eq!((object.source.key_id, unwrapped(object.source.encrypted).len()), ("key-1", 32));
            let mut written = Vec::new();
            put_head(&mut written, object.data.len());
            assert_eq!(written.len(), head_length(object.data.len()));
            written.extend_from_slice(object.data);
            written.extend_from_slice(&object.source.encoded());
            assert_eq!(written, stored);
        }
    }
}

#[test]
fn annotations_may_come_in_any_order() {
    let (_, stored) = vectors("v2 seed annotated").remove(0);
    let object = EncryptedObject::parse(&stored).unwrap();
    let expected: Annotations =
        smallvec![("a.example.com", &[0, 1, 255][..]), ("b.example.com", &b"two"[..])];
    assert_eq!(object.source.annotations, expected);
    let Source { kind, encrypted, key_id, .. } = object.source;
    let reordered = Source::new(kind, encrypted, key_id, expected.clone()).unwrap();
    assert_eq!(reordered.fingerprint(), object.source.fingerprint());
    let shortened = Source::new(kind, encrypted, key_id, expected[..1].into()).unwrap();
    assert_ne!(shortened.fingerprint(), object.source.fingerprint());
}

#[test]
fn last_duplicate_wins() {
    let entry = |value: &[u8]| message(&[(1, b"a.b"), (2, value)]);
    let raw =
        message(&[(1, b"x"), (3, b"s"), (2, b"old"), (4, &entry(b"1")), (4, &entry(b"2")), (2, b"new")]);
    let object = EncryptedObject::parse(&raw).unwrap();
    assert_eq!(object.source.key_id, "new");
    assert_eq!(object.source.annotations.as_slice(), [("a.b", &b"2"[..])]);
}

#[test]
fn unknown_fields_are_skipped() {
    let raw = message(&[(1, b"x"), (2, b"k"), (3, b"s"), (9, b"?")]);
    assert_eq!(EncryptedObject::parse(&raw).unwrap().data, b"x");
}

#[test]
fn invalid_fields_are_refused() {
    let long = [b'k'; 1025];
    let key = (KEY_ID, &b"k"[..]);
    let source = (SOURCE, &b"s"[..]);
    check(&[], "encrypted data is empty");
    check(&message(&[(1, b"x")]), "failed to validate encrypted DEK source: encrypted DEK source is empty");
    check(
        &message(&[(1, b"x"), (3, &long)]),
        "failed to validate encrypted DEK source: encrypted DEK source is 1025 bytes, which exceeds the max size of 1024",
    );
    check(&message(&[(1, b"x"), source]), "failed to validate key id: keyID is empty");
    check(
        &message(&[(1, b"x"), source, (2, &long)]),
        "failed to validate key id: keyID is 1025 bytes, which exceeds the max size of 1024",
    );
    let annotated = |name: &[u8], value: &[u8]| {
        message(&[(1, b"x"), source, key, (4, &message(&[(1, name), (2, value)]))])
    };
    check(&annotated(b"", b""), "failed to validate annotations: annotations: Required value");
    check(
        &annotated(b"short", b""),
        "failed to validate annotations: annotations: Invalid value: \"short\": should be a domain with at least two segments separated by dots",
    );
    check(
        &annotated(b"a.b", &[0; ANNOTATIONS_BYTES_MAX]),
        "failed to validate annotations: total size of annotations is 32771, which exceeds the max size of 32768",
    );
    let error = EncryptedObject::parse(&annotated(b"A.b", b"")).unwrap_err().to_string();
    assert!(error.starts_with("failed to validate annotations: annotations: Invalid value: \"A.b\": a lowercase RFC 1123 subdomain"), "{error}");
    let mut strange = message(&[(1, b"x"), source, key]);
    strange.extend([0x28, 7]);
    check(&strange, "unknown encryptedDEKSourceType: 7");
}

#[test]
fn malformed_bytes_are_refused() {
    let malformed = "proto: cannot parse invalid wire-format data";
    for raw in
        [&b"\x0a\x05ab"[..], b"\x0a", b"\x00\x01", b"\x0c", b"\x0b\x0b\x0b", b"\xff\xff\xff\xff\xff\xff"]
    {
        check(raw, malformed);
    }
    check(b"\x12\x01\xff", "proto: string field contains invalid UTF-8");
}

#[test]
fn excessive_annotations_are_refused_early() {
    let mut raw = message(&[(1, b"x"), (2, b"k"), (3, b"s")]);
    raw.extend([0x22, 0].repeat(1_000_000));
    check(
        &raw,
        "failed to validate annotations: total size of annotations is 32769, which exceeds the max size of 32768",
    );
}

#[test]
fn error_lists_few_bad_names() {
    let names: Vec<String> = (0..5000).map(|number| format!("n{number:04}")).collect();
    let annotations = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let error = Source::new(Kind::Seed, b"s", "k", annotations).unwrap_err().to_string();
    assert_eq!(error.matches("Invalid value").count(), BAD_NAMES_MAX);
}
