//! Compares objects that are encoded from stored bytes with the same objects encoded from trees.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use super::*;
use crate::testing;

#[test]
fn object_is_item_with_type_metadata() {
    for testing::Stored { endpoint, storage, elements } in testing::all() {
        for element in &elements {
            let budget = Budget::new(1 << 20);
            let memoized = ResponseObject::element(endpoint, storage, element, element.revision(), &budget);
            let mut expected = Vec::new();
            json_write::encode(endpoint.message, &memoized.tree().unwrap(), &mut expected).unwrap();
            for time in ["made", "made again", "kept"] {
                let mut out = b"before".to_vec();
                memoized.json(true, &mut out).unwrap();
                assert!(out.strip_prefix(b"before") == Some(&expected), "{} {time}", endpoint.group_version);
                assert_eq!(budget.used() > 0, time != "made");
            }
        }
    }
}

#[test]
fn stored_and_tree_protobuf_are_equal() {
    let budget = Budget::new(0);
    for testing::Stored { endpoint, storage, elements } in testing::all() {
        for element in &elements {
            let outgoing = ResponseObject::element(endpoint, storage, element, element.revision(), &budget);
            for shape in [Shape::Whole, Shape::Metadata("v1")] {
                let mut actual = Vec::new();
                let mut expected = Vec::new();
                object(&outgoing, shape, Format::Protobuf, &mut actual).unwrap();
                let object = outgoing.tree().unwrap();
                let (message, object) = match shape {
                    Shape::Whole => (endpoint.message, object),
                    Shape::Metadata(version) => (&PARTIAL, partial(object, version)),
                };
                tree(message, &object, Format::Protobuf, &mut expected).unwrap();
                assert!(actual == expected, "{} {shape:?}", endpoint.group_version);
            }
        }
    }
}

#[test]
fn deletion_has_own_version_and_no_memo() {
    let budget = Budget::new(1 << 20);
    let testing::Stored { endpoint, storage, elements } = testing::of("", "v1", "pods");
    let element = elements.first().unwrap();
    for _ in 0..3 {
        let deleted = ResponseObject::element(endpoint, storage, element, 9, &budget);
        let mut out = Vec::new();
        deleted.json(false, &mut out).unwrap();
        let object: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(object["metadata"]["resourceVersion"], "9");
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn varint_length_matches_encoding() {
    for number in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, (1 << 32) - 1, usize::MAX] {
        let mut out = Vec::new();
        put_varint(number, &mut out);
        assert_eq!(out.len(), varint_len(number), "{number}");
    }
}

#[test]
fn partial_metadata_omits_hidden_annotations() {
    let check = |annotations: Value, expected: Value| {
        let testing::Stored { endpoint, storage, .. } = testing::of("apps", "v1", "daemonsets");
        let object = jsontree::json!({
            "kind": "DaemonSet", "apiVersion": "apps/v1", "spec": {},
            "metadata": {"name": "d", "annotations": annotations},
        });
        let Value::Object(object) = object else { return };
        let value = codec::encode(storage, &object).unwrap();
        let stored = StoredRef { key: "/d", value: &value, revision: 5 };
        let outgoing = ResponseObject { endpoint, storage, stored, memo: None };
        for shape in [Shape::Whole, Shape::Metadata("v1")] {
            let mut out = Vec::new();
            super::object(&outgoing, shape, Format::Json, &mut out).unwrap();
            let partial: Value = serde_json::from_slice(&out).unwrap();
            let expected = if shape == Shape::Whole { &annotations } else { &expected };
            assert_eq!(&partial["metadata"]["annotations"], expected, "{shape:?}");
        }
    };
    let generation = "deprecated.daemonset.template.generation";
    check(jsontree::json!({generation: "1", "a": "b"}), jsontree::json!({"a": "b"}));
    check(jsontree::json!({generation: "1"}), Value::Null);
    check(jsontree::json!({"a": "b"}), jsontree::json!({"a": "b"}));
}
