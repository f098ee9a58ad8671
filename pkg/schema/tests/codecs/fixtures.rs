//! Every pair passes through every codec, in both directions.

use jsontree::Value;
use schema::json_write::{self, indent};
use schema::proto::{self, Envelope, is_canonical};
use schema::table::Message;
use schema::transcode::to_json;
use schema::{builtin, json, object::Object, patch};

use crate::archive::{Pair, pairs};

/// Calls `check` for every pair of all archives whose kind exists.
fn for_each(check: impl Fn(&Pair, &'static Message, &Envelope)) -> usize {
    let mut count = 0;
    for archive in ["fixtures", "fixtures-v1.36.0", "fixtures-v1.35.0", "generated"] {
        for pair in pairs(archive) {
            if let Some((message, envelope)) = pair.open() {
                check(&pair, message, &envelope);
                count += 1;
            }
        }
    }
    count
}

/// Pairs of this release: upstream's published fixtures, and the generated ones.
pub(crate) const CURRENT: usize = 193 + 1519;
/// All pairs, with those of 1.36 and of 1.35, whose four removed kinds are left out.
const PAIRS: usize = CURRENT + 184 + 182 - 4;

fn transcoded(message: &'static Message, envelope: &Envelope, version: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    to_json(message, envelope.raw, Some(envelope.head()), version, &mut out).unwrap();
    out
}

/// The tree as in a request handler: with `kind` and `apiVersion`.
pub(crate) fn tree(message: &'static Message, envelope: &Envelope) -> Object {
    let mut tree = proto::decode(message, envelope.raw).unwrap();
    for (name, value) in [("kind", &envelope.kind), ("apiVersion", &envelope.api_version)] {
        if message.type_meta && !value.is_empty() {
            tree.insert(name.to_owned(), Value::from(value.as_ref()));
        }
    }
    tree
}

fn expected_pb(pair: &Pair) -> &[u8] {
    pair.after.as_ref().map_or(&pair.pb, |(pb, _)| pb)
}

fn expected_json(pair: &Pair) -> &[u8] {
    pair.after.as_ref().map_or(&pair.json, |(_, json)| json)
}

#[track_caller]
pub(crate) fn same(name: &str, actual: &[u8], expected: &[u8]) {
    if actual != expected {
        let at =
            actual.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(actual.len().min(expected.len()));
        let show = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[at.saturating_sub(80)..bytes.len().min(at + 60)]).into_owned()
        };
        panic!("{name}: at {at}\n actual   {:?}\n expected {:?}", show(actual), show(expected));
    }
}

/// Upstream's codecs do not write the type of claim templates, which is not on the wire; its conversion adds
/// it before objects are served.
fn without_item_kinds(pair: &Pair, json: Vec<u8>) -> Vec<u8> {
    if !pair.name.contains("StatefulSet") {
        return json;
    }
    let head = r#""kind":"PersistentVolumeClaim","apiVersion":"v1","#;
    String::from_utf8(json).unwrap().replace(head, "").into_bytes()
}

#[test]
fn typed_items_have_kind_in_json() {
    let statefulset = builtin::kind("apps/v1", "StatefulSet").unwrap();
    let template = jsontree::json!({"metadata": {"name": "a"}, "spec": {}});
    let object = jsontree::json!({"spec": {"volumeClaimTemplates": [template, template]}});
    let mut raw = Vec::new();
    proto::encode(statefulset, object.as_object().unwrap(), &mut raw).unwrap();
    let tree = proto::decode(statefulset, &raw).unwrap();
    let mut direct = Vec::new();
    let mut by_tree = Vec::new();
    to_json(statefulset, &raw, None, None, &mut direct).unwrap();
    json_write::encode(statefulset, &tree, &mut by_tree).unwrap();
    for json in [direct, by_tree] {
        let json: Value = serde_json::from_slice(&json).unwrap();
        for item in json["spec"]["volumeClaimTemplates"].as_array().unwrap() {
            assert_eq!((&item["apiVersion"], &item["kind"]), (&"v1".into(), &"PersistentVolumeClaim".into()));
        }
    }
}

#[test]
fn protobuf_transcodes_to_upstream_json() {
    let count = for_each(|pair, message, envelope| {
        let mut actual = without_item_kinds(pair, transcoded(message, envelope, None));
        let expected = expected_json(pair);
        if expected.contains(&b'\n') {
            let compact = std::mem::take(&mut actual);
            indent(&compact, &mut actual);
        }
        same(&pair.name, &actual, expected.trim_ascii_end());
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn expanded_tree_equals_its_json() {
    let count = for_each(|pair, message, envelope| {
        let tree = tree(message, envelope);
        let mut text = Vec::new();
        json_write::encode(message, &tree, &mut text).unwrap();
        let expected = json::decode_untyped(&text).unwrap().value;
        assert_eq!(patch::expand(message, &tree).unwrap(), expected, "{}", pair.name);
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn protobuf_round_trips_through_the_tree() {
    let count = for_each(|pair, message, envelope| {
        let expected = Envelope::parse(expected_pb(pair)).unwrap().raw;
        let mut actual = Vec::new();
        proto::encode(message, &tree(message, envelope), &mut actual).unwrap();
        same(&pair.name, &actual, expected);
        let mut wrapped = Vec::new();
        proto::wrap(&envelope.api_version, &envelope.kind, &actual, &mut wrapped);
        same(&pair.name, &wrapped, expected_pb(pair));
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn json_encodes_to_upstream_protobuf() {
    let count = for_each(|pair, message, _| {
        // Raw values keep their white space, and upstream's protobuf was not made from indented text.
        let mut text = Vec::new();
        json_write::compact(expected_json(pair), &mut text).unwrap();
        let decoded = json::decode(message, &text).unwrap_or_else(|e| panic!("{}: {e}", pair.name));
        let mut actual = Vec::new();
        proto::encode(message, &decoded.object, &mut actual).unwrap_or_else(|e| panic!("{}: {e}", pair.name));
        same(&pair.name, &actual, Envelope::parse(expected_pb(pair)).unwrap().raw);
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn encoded_trees_equal_transcoded_json() {
    let count = for_each(|pair, message, envelope| {
        let mut actual = Vec::new();
        json_write::encode(message, &tree(message, envelope), &mut actual)
            .unwrap_or_else(|e| panic!("{}: {e}", pair.name));
        same(&pair.name, &actual, &transcoded(message, envelope, None));
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn json_round_trips_through_the_tree() {
    let mut count = 0;
    for pair in pairs("generated") {
        let Some((message, _)) = pair.open() else { continue };
        let decoded = json::decode(message, &pair.json).unwrap();
        let mut actual = Vec::new();
        json_write::encode(message, &decoded.object, &mut actual).unwrap();
        same(&pair.name, &actual, &pair.json);
        count += 1;
    }
    assert_eq!(count, 1519);
}

#[test]
fn upstream_protobuf_is_canonical() {
    let count = for_each(|pair, message, envelope| {
        let current = expected_pb(pair) == pair.pb;
        assert_eq!(is_canonical(message, envelope.raw), current, "{}", pair.name);
    });
    assert_eq!(count, PAIRS);
}

#[test]
fn spliced_resource_version_is_served() {
    let count = for_each(|pair, message, envelope| {
        let has_object_meta = message.fields.iter().any(|f| {
            matches!(f.ty, schema::table::Type::Message(m) if m.name.ends_with(".ObjectMeta"))
                && f.name == "metadata"
                && f.number == 1
        });
        if !has_object_meta {
            return;
        }
        let mut spliced = Vec::new();
        proto::with_resource_version(envelope.raw, "12345", &mut spliced).unwrap();
        let mut served = Vec::new();
        proto::served(envelope.head(), envelope.raw, "12345", &mut served).unwrap();
        let opened = Envelope::parse(&served).unwrap();
        same(&pair.name, opened.raw, &spliced);
        assert!(served.ends_with(&[0x1a, 0, 0x22, 0]));
        same(&pair.name, &transcoded(message, &opened, None), &transcoded(message, envelope, Some("12345")));
        let mut encoded = tree(message, envelope);
        schema::object::set(&mut encoded, &["metadata", "resourceVersion"], "12345");
        let mut by_tree = Vec::new();
        proto::encode(message, &encoded, &mut by_tree).unwrap();
        if expected_pb(pair) == pair.pb {
            same(&pair.name, &spliced, &by_tree);
        }
    });
    assert_eq!(count, PAIRS);
}
