//! Compares frames with events built as trees.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

use jsontree::Value;
use schema::object::Object;

use super::*;
use crate::testing;

fn encoder(stored: &testing::Stored, format: Format, shape: Shape) -> Encoder {
    Encoder::of(stored.endpoint, format, shape)
}

fn frame(encoder: &mut Encoder, event: Event) -> Vec<u8> {
    let mut out = b"before".to_vec();
    assert!(matches!(encoder.frame(&WatchEvent::Event(event), &mut out).unwrap(), Frame::Appended));
    out.split_off(6)
}

/// Encodes a frame of an object from a tree.
fn whole(name: &str, message: &'static Message, object: &Object, format: Format) -> Vec<u8> {
    let mut inner = Vec::new();
    encode::tree(message, object, format, &mut inner).unwrap();
    if format == Format::Json {
        let object = String::from_utf8(inner).unwrap();
        return format!("{{\"type\":\"{name}\",\"object\":{}}}\n", object.trim_end()).into_bytes();
    }
    if format == Format::Cbor {
        let mut out = b"\xd9\xd9\xf7\xa2\x44type".to_vec();
        cbor::put_text(name, &mut out);
        out.extend_from_slice(b"\x46object");
        return [out, inner].concat();
    }
    let mut extension = Vec::new();
    let mut event = Vec::new();
    proto::put_bytes(1, &inner, &mut extension);
    proto::put_bytes(1, name.as_bytes(), &mut event);
    proto::put_bytes(2, &extension, &mut event);
    let mut out = u32::try_from(event.len()).unwrap().to_be_bytes().to_vec();
    out.extend_from_slice(&event);
    out
}

#[test]
fn frames_hold_the_object_at_the_events_version() {
    for stored in testing::all() {
        for (format, shape) in [
            (Format::Json, Shape::Whole),
            (Format::Protobuf, Shape::Whole),
            (Format::Json, Shape::Metadata("v1")),
            (Format::Protobuf, Shape::Metadata("v1beta1")),
            (Format::Cbor, Shape::Whole),
            (Format::Cbor, Shape::Metadata("v1")),
        ] {
            let mut encoder = encoder(&stored, format, shape);
            for element in &stored.elements {
                for (kind, name, revision) in [
                    (EventType::Added, "ADDED", element.revision()),
                    (EventType::Modified, "MODIFIED", element.revision()),
                    (EventType::Deleted, "DELETED", element.revision() + 9),
                ] {
                    let budget = Budget::new(0);
                    let endpoint = stored.endpoint;
                    let storage = stored.storage;
                    let tree = ResponseObject::element(endpoint, storage, element, revision, &budget)
                        .tree()
                        .unwrap();
                    let (message, object) = match shape {
                        Shape::Whole => (endpoint.message, tree),
                        Shape::Metadata(version) => (&PARTIAL, encode::partial(tree, version)),
                    };
                    let actual = frame(&mut encoder, Event::object(kind, Arc::clone(element), revision));
                    let expected = whole(name, message, &object, format);
                    assert!(actual == expected, "{} {name} {format:?} {shape:?}", endpoint.group_version);
                }
            }
        }
    }
}

#[test]
fn bookmarks_are_empty_objects_of_the_kind() {
    let stored = testing::of("", "v1", "pods");
    let check = |shape: Shape, end: bool, expected: &str| {
        let actual = frame(&mut encoder(&stored, Format::Json, shape), Event::bookmark(7, end));
        assert_eq!(
            String::from_utf8(actual).unwrap(),
            format!("{{\"type\":\"BOOKMARK\",\"object\":{expected}}}\n")
        );
    };
    check(
        Shape::Whole,
        false,
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"},"spec":{"containers":null},"status":{}}"#,
    );
    check(
        Shape::Metadata("v1"),
        true,
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
    );
}

#[test]
fn an_error_is_a_status() {
    let stored = testing::of("", "v1", "pods");
    let mut out = Vec::new();
    let event = WatchEvent::Error(Status::expired("too old resource version: 1 (2)").into());
    encoder(&stored, Format::Json, Shape::Whole).frame(&event, &mut out).unwrap();
    let event: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&"ERROR".into(), &410.into()));
    assert_eq!(event["object"]["message"], "too old resource version: 1 (2)");
}

#[test]
fn failure_leaves_output_unchanged() {
    let stored = testing::of("", "v1", "pods");
    let broken = registry::Element::of("/registry/pods/ns/z", b"k8s\0\xff"[..].into(), 5);
    for format in [Format::Json, Format::Protobuf, Format::Cbor] {
        let mut out = b"before".to_vec();
        let event = WatchEvent::Event(Event::object(EventType::Added, Arc::clone(&broken), 5));
        assert!(encoder(&stored, format, Shape::Whole).frame(&event, &mut out).is_err());
        assert_eq!(out, b"before");
    }
}

#[test]
fn memo_key_covers_all_options() {
    let mut seen = std::collections::HashSet::new();
    for version in ["v1", "v2"] {
        let mut stored = testing::of("autoscaling", version, "horizontalpodautoscalers");
        stored.elements.clear();
        for format in [Format::Json, Format::Protobuf] {
            for shape in [Shape::Whole, Shape::Metadata("v1"), Shape::Metadata("v1beta1")] {
                for kind in [EventType::Added, EventType::Modified, EventType::Deleted] {
                    assert!(seen.insert(encoder(&stored, format, shape).number(kind)));
                }
            }
        }
    }
    assert_eq!(seen.len(), 36);
}

#[test]
fn table_bookmark_is_row_of_empty_object() {
    let stored = testing::of("", "v1", "configmaps");
    let request = TableRequest { version: "v1", include: IncludeObject::None, now: Default::default() };
    let check = |end: bool, object: &str| {
        let mut out = Vec::new();
        let encoder = encoder(&stored, Format::Json, Shape::Whole);
        encoder.append_table(&Event::bookmark(7, end), request, false, &mut out).unwrap();
        let row = format!(r#"{{"cells":["",0,"\u003cunknown\u003e"],"object":{object}}}"#);
        let expected = format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"7"}},"columnDefinitions":null,"rows":[{row}]}}}}"#
        );
        assert_eq!(String::from_utf8(out).unwrap().trim_end(), expected);
    };
    check(false, "null");
    check(
        true,
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
    );
}

#[test]
fn every_kind_has_bookmarks_in_tables() {
    for row in api::resources::all().filter(|row| row.subresource.is_empty() && row.serves("watch")) {
        if row.storage.is_none() {
            continue;
        }
        let encoder = Encoder::of(row, Format::Json, Shape::Whole);
        let request = TableRequest { version: "v1", include: IncludeObject::Object, now: Default::default() };
        let result = encoder.append_table(&Event::bookmark(7, false), request, true, &mut Vec::new());
        assert!(result.is_ok(), "{} {}: {result:?}", row.group_version, row.plural);
    }
}

#[test]
fn no_event_is_a_list() {
    let stored = testing::of("", "v1", "pods");
    let mut encoder = Encoder { lists: true, ..encoder(&stored, Format::Json, Shape::Metadata("v1")) };
    let status = encoder.frame(&WatchEvent::Event(Event::bookmark(7, false)), &mut Vec::new()).err().unwrap();
    assert_eq!(status.code, 406);
}
