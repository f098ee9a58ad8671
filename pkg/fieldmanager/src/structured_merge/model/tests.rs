//! The tables compared with the schemas that upstream publishes, converted like those of custom resources.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use jsontree::json;

use super::*;
use schema::builtin;

/// The published schemas by name.
fn published() -> BTreeMap<String, Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../endpoints/testdata/openapi-v3.json.gz");
    let mut text = String::new();
    GzDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_string(&mut text).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let documents =
        recorded.as_object().unwrap().values().flat_map(|group| group.as_object().unwrap().values());
    let schemas = documents.filter_map(|document| document["schemas"].as_object());
    schemas.flatten().map(|(name, schema)| (name.to_string(), schema.clone())).collect()
}

/// Panics with `at` if two types differ. References to named types are compared by name only.
fn same(ours: TypeRef, theirs: TypeRef, at: &str) {
    match (ours.0, theirs.0) {
        (Repr::Message(ours, our_whole), Repr::Message(theirs, their_whole)) => {
            assert_eq!((ours.name, our_whole), (theirs.name, their_whole), "{at}");
            return;
        }
        (Repr::Deduced, Repr::Deduced) | (Repr::Untyped, Repr::Untyped) => return,
        _ => {}
    }
    assert_eq!(ours.scalar(), theirs.scalar(), "{at}");
    match (ours.list(), theirs.list()) {
        (Some(ours), Some(theirs)) => {
            assert_eq!(items(&ours), items(&theirs), "{at}");
            same(ours.element, theirs.element, &format!("{at}[]"));
        }
        (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{at}: {ours:?} {theirs:?}"),
    }
    match (ours.map(), theirs.map()) {
        (Some(ours), Some(theirs)) => same_maps(&ours, &theirs, at),
        (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{at}: {ours:?} {theirs:?}"),
    }
}

fn items(list: &List) -> Vec<String> {
    match list.items {
        Items::Atomic => vec!["atomic".to_owned()],
        Items::Set => vec!["set".to_owned()],
        Items::Map(keys) => std::iter::once("map").chain(keys.iter()).map(str::to_owned).collect(),
    }
}

fn same_maps(ours: &Map, theirs: &Map, at: &str) {
    assert_eq!(ours.atomic, theirs.atomic, "{at}");
    match (ours.element(), theirs.element()) {
        (Some(ours), Some(theirs)) => same(ours, theirs, &format!("{at}.*")),
        (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{at}"),
    }
    assert_eq!(names(ours), names(theirs), "{at}");
    for name in names(theirs) {
        assert_eq!(ours.default_of(&name), theirs.default_of(&name), "{at}.{name}");
        same(ours.field(&name).unwrap(), theirs.field(&name).unwrap(), &format!("{at}.{name}"));
    }
}

fn names(map: &Map) -> Vec<String> {
    match map.fields {
        Fields::None(_) => Vec::new(),
        Fields::Custom(map) => map.names().map(str::to_owned).collect(),
        Fields::Builtin(message) => {
            let declared = message.members.iter().map(|member| member.name);
            let names =
                declared.chain(["apiVersion", "kind"].into_iter().filter(|name| is_type_meta(message, name)));
            let mut names: Vec<String> = names.map(str::to_owned).collect();
            names.sort();
            names
        }
    }
}

#[test]
fn tables_match_published_schemas() {
    let published = published();
    let mut checked = 0;
    for (name, schema) in &published {
        let message = builtin::message(name).unwrap();
        // Upstream has special cases for these two names.
        if matches!(message.shape, Shape::Quantity | Shape::RawExtension) {
            continue;
        }
        let theirs = Schema::from_openapi(schema, false).unwrap();
        same(TypeRef::builtin(message), theirs.type_ref(), name);
        checked += 1;
    }
    assert_eq!(checked, published.len() - 2);
    assert!(checked > 600, "{checked}");
}

#[test]
fn quantities_are_scalars_and_embedded_objects_atomic() {
    let of = |shape| TypeRef::builtin(builtin::ALL.into_iter().find(|m| m.shape == shape).unwrap());
    let quantity = of(Shape::Quantity);
    assert_eq!(quantity.scalar(), Some(Scalar::Untyped));
    assert!(quantity.list().is_none() && quantity.map().is_none());
    let raw = of(Shape::RawExtension);
    assert!(raw.map().unwrap().atomic);
    assert!(matches!(raw.list().unwrap().items, Items::Atomic));
}

#[test]
fn invalid_schemas_are_rejected() {
    let check = |schema: Value, expected: &str| {
        let error = Schema::from_openapi(&schema, false).unwrap_err();
        assert_eq!(error.to_string(), expected, "{schema}");
    };
    let list = |extensions: Value| {
        let mut schema = json!({"type": "array", "items": {"type": "string"}});
        schema.as_object_mut().unwrap().extend(extensions.as_object().unwrap().clone());
        schema
    };
    check(json!({"type": "file"}), "unrecognized type: 'file'");
    check(json!({"type": "array"}), "`items` must be specified on arrays");
    check(list(json!({"x-kubernetes-list-type": "map"})), "missing map keys");
    check(list(json!({"x-kubernetes-list-type": "bag"})), "unknown list type bag");
    check(list(json!({"x-kubernetes-patch-strategy": "mix"})), "unknown patch strategy mix");
    check(json!({"type": "object", "x-kubernetes-map-type": "torn"}), "unknown map type torn");
    check(json!({"properties": {"a": {"$ref": "#/x/no.Such"}}}), "no type found matching: no.Such");
    let mut deep = json!({"type": "string"});
    for _ in 0..=schema::json::TREE_DEPTH_MAX {
        deep = json!({"type": "array", "items": deep});
    }
    check(deep, "schema nests too deeply");
}

#[test]
fn preserve_unknown_fields_applies_recursively() {
    let schema = json!({"type": "object", "properties": {
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"inner": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
    }});
    let schema = Schema::from_openapi(&schema, false).unwrap();
    let root = schema.type_ref().map().unwrap();
    assert!(root.element().is_none());
    let open = root.field("open").unwrap().map().unwrap();
    assert!(matches!(open.element(), Some(TypeRef(Repr::Deduced))));
    let inner = open.field("inner").unwrap().map().unwrap();
    assert!(matches!(inner.element(), Some(TypeRef(Repr::Deduced))));
}
