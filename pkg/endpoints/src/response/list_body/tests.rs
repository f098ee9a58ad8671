//! Compares streamed lists with the same lists built as trees and encoded in one step.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

use jsontree::json;
use registry::Items;
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATALIST as PARTIAL_LIST;

use super::*;
use crate::negotiation::Format;
use crate::testing::{self, Stored};

fn page(elements: &[Arc<Element>]) -> ListPage {
    let items = Items::listed(elements.to_vec());
    ListPage {
        items,
        revision: 77,
        continue_token: "more".to_owned(),
        remaining: Some(5),
        shard_selector: String::new(),
        left_out: 0,
    }
}

fn listing(stored: &Stored, shape: Shape) -> Listing {
    Listing {
        endpoint: stored.endpoint.into(),
        shape,
        budget: Budget::new(1 << 20),
        weakened: WeakenedDecisions::default(),
    }
}

/// Reads all bytes of a source in pieces of `enough` bytes.
fn streamed(source: &mut dyn Source, enough: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while source.prepare().unwrap() {}
    source.head(None, &mut all).unwrap();
    loop {
        let mut piece = Vec::new();
        let more = source.fill(&mut piece, enough).unwrap();
        assert!(!more || piece.len() >= enough, "a piece is full unless it is the last");
        all.append(&mut piece);
        if !more {
            return all;
        }
    }
}

/// Encodes the same list from a tree of the list's type.
fn whole(stored: &Stored, shape: Shape, format: Format) -> Vec<u8> {
    let listing = listing(stored, shape);
    let tree = |element: &Arc<Element>| {
        let mut tree = listing.outgoing(element).tree().unwrap();
        match shape {
            Shape::Whole => {
                tree.remove("kind");
                tree.remove("apiVersion");
                Value::Object(tree)
            }
            Shape::Metadata(version) => Value::Object(encode::partial(tree, version)),
        }
    };
    let items: Vec<Value> = stored.elements.iter().map(tree).collect();
    let (api_version, kind) = listing.type_meta();
    let mut list = Object::new();
    list.insert("kind", kind.into());
    list.insert("apiVersion", api_version.into());
    let meta = json!({"resourceVersion": "77", "continue": "more", "remainingItemCount": 5});
    list.insert("metadata", meta);
    let partial = shape != Shape::Whole;
    if !(items.is_empty() && partial) {
        list.insert("items", items.into());
    }
    let message = if partial { &PARTIAL_LIST } else { stored.endpoint.list_message.unwrap() };
    let mut out = Vec::new();
    encode::tree(message, &list, format, &mut out).unwrap();
    out
}

fn check(stored: &Stored, shape: Shape, pieces: &[usize]) {
    let name = format!("{} {} {shape:?}", stored.endpoint.group_version, stored.endpoint.plural);
    let json = String::from_utf8(whole(stored, shape, Format::Json)).unwrap();
    let protobuf = whole(stored, shape, Format::Protobuf);
    let cbor = whole(stored, shape, Format::Cbor);
    for enough in pieces {
        let actual = streamed(&mut Cbor::new(listing(stored, shape), &page(&stored.elements)), *enough);
        assert!(actual == cbor, "{name} in pieces of {enough} in CBOR");
        let actual = streamed(&mut Json::new(listing(stored, shape), &page(&stored.elements)), *enough);
        assert_eq!(String::from_utf8(actual).unwrap(), json, "{name} in pieces of {enough}");
        let actual = streamed(&mut Protobuf::new(listing(stored, shape), page(&stored.elements)), *enough);
        assert!(actual == protobuf, "{name} in protobuf in pieces of {enough}");
    }
}

#[test]
fn streamed_and_whole_lists_are_equal() {
    let all = testing::all();
    assert!(all.len() > 70, "{}", all.len());
    for stored in &all {
        check(stored, Shape::Whole, &[1, 3000, usize::MAX]);
        check(stored, Shape::Metadata("v1beta1"), &[1, usize::MAX]);
    }
}

#[test]
fn only_empty_partial_lists_have_null_items() {
    let stored = Stored { elements: Vec::new(), ..testing::of("", "v1", "pods") };
    check(&stored, Shape::Whole, &[usize::MAX]);
    check(&stored, Shape::Metadata("v1"), &[usize::MAX]);
}

#[test]
fn lists_larger_than_a_chunk_are_measured_right() {
    for (group, version, plural, shape) in [
        ("", "v1", "pods", Shape::Whole),
        ("", "v1", "configmaps", Shape::Metadata("v1")),
        ("autoscaling", "v1", "horizontalpodautoscalers", Shape::Whole),
    ] {
        let single = testing::of(group, version, plural);
        let size = whole(&single, shape, Format::Protobuf).len();
        let times = 2 * CHUNK_BYTES / size + 1;
        let elements = single.elements.iter().cycle().take(single.elements.len() * times).cloned().collect();
        let stored = Stored { elements, ..single };
        check(&stored, shape, &[CHUNK_BYTES]);
    }
}

#[test]
fn a_list_of_known_length_is_not_measured() {
    let stored = testing::of("", "v1", "pods");
    let whole = whole(&stored, Shape::Whole, Format::Protobuf);
    let mut measured = Protobuf::new(listing(&stored, Shape::Whole), page(&stored.elements));
    let mut head = Vec::new();
    while measured.prepare().unwrap() {}
    measured.head(None, &mut head).unwrap();
    let mut preset = Protobuf::new(listing(&stored, Shape::Whole), page(&[]));
    let mut again = Vec::new();
    preset.head(Some(whole.len() - head.len()), &mut again).unwrap();
    assert_eq!(again, head);
}

#[test]
fn forms_from_the_memo_are_the_same_bytes() {
    let stored = testing::of("autoscaling", "v1", "horizontalpodautoscalers");
    let listing = listing(&stored, Shape::Whole);
    let pass = |listing: &Listing| {
        let json = streamed(&mut Json::new(listing.clone(), &page(&stored.elements)), 1000);
        (json, streamed(&mut Protobuf::new(listing.clone(), page(&stored.elements)), 1000))
    };
    let first = pass(&listing);
    assert!(pass(&listing) == first);
    assert!(listing.budget.used() > 0, "forms are kept when they are asked for again");
    assert!(pass(&listing) == first);
}

#[test]
fn undecodable_item_is_left_out_of_json() {
    let mut stored = testing::of("", "v1", "pods");
    let weakened = WeakenedDecisions::default();
    let text = |stored: &testing::Stored| {
        let mut out = Vec::new();
        let listing = Listing { weakened: weakened.clone(), ..listing(stored, Shape::Whole) };
        let mut json = Json::new(listing, &page(&stored.elements));
        json.head(None, &mut out).unwrap();
        json.fill(&mut out, usize::MAX).unwrap();
        out
    };
    let good = text(&stored);
    for at in [0, 1, stored.elements.len() + 2] {
        let undecodable = Element::of("/registry/pods/ns/z", b"k8s\0\xff"[..].into(), 5);
        stored.elements.insert(at, undecodable);
        assert_eq!(text(&stored), good, "{at}");
    }
    assert_eq!(weakened.recent().len(), 1);
}

#[test]
fn undecodable_item_fails_list_in_protobuf() {
    let mut stored = testing::of("", "v1", "pods");
    stored.elements.push(Element::of("/registry/pods/ns/z", b"k8s\0\xff"[..].into(), 5));
    let mut protobuf = Protobuf::new(listing(&stored, Shape::Whole), page(&stored.elements));
    assert_eq!(protobuf.prepare().unwrap_err().code, 500);
}

#[test]
fn long_list_is_measured_in_steps() {
    let steps =
        |source: &mut dyn Source| 1 + std::iter::from_fn(|| source.prepare().unwrap().then_some(())).count();
    let single = testing::of("", "v1", "configmaps");
    let repeated = |count| single.elements.iter().cycle().take(count).cloned().collect::<Vec<_>>();
    let mut counted = Cbor::new(listing(&single, Shape::Whole), &page(&repeated(2 * OBJECTS_AT_ONCE + 1)));
    assert_eq!(steps(&mut counted), 3);
    let mut measured = Protobuf::new(listing(&single, Shape::Whole), page(&repeated(OBJECTS_AT_ONCE)));
    let steps = steps(&mut measured);
    let most = OBJECTS_AT_ONCE / MEASURED_AT_ONCE;
    assert!(steps > most / 2 && steps <= most + 2, "{steps}");
}
