//! Comparison with upstream's defaults of every kind (`testdata/defaults.json`), and tests of rules that
//! depend on sibling fields.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

mod configuration;
mod in_place;
mod pods;
mod workloads;

use super::*;
use crate::testdata;
use api::semantic;
use component_base::features::Gate;
use jsontree::{Value, json};
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};
use std::collections::BTreeMap;

/// Time of the taints in `testdata/defaults.json`: 2026-01-02T03:04:05Z.
const NOW: UnixTime = UnixTime::from_seconds(1_767_323_045);

/// Runs both steps of defaulting.
fn default(api_version: &str, kind: &str, object: &mut Object) {
    apply(api_version, kind, object, &Gates::default());
    stamp_taints(api_version, kind, object, NOW);
}

/// Applies the rule of a kind to `before`, and again to the result.
fn check(api_version: &str, kind: &str, before: Value, after: Value) {
    let mut object = before.as_object().unwrap().clone();
    in_place::says_what_filling_in_does(api_version, kind, &object, "");
    default(api_version, kind, &mut object);
    assert_eq!(Value::Object(object.clone()), after, "{api_version} {kind}");
    in_place::says_what_filling_in_does(api_version, kind, &object, "filled in");
    let once = object.clone();
    default(api_version, kind, &mut object);
    assert_eq!(object, once, "{api_version} {kind} twice");
}

/// Like [`check`], but compares only the member at `pointer`.
fn check_at(api_version: &str, kind: &str, pointer: &str, before: &Value, after: Value) {
    let mut object = before.as_object().unwrap().clone();
    in_place::says_what_filling_in_does(api_version, kind, &object, "");
    default(api_version, kind, &mut object);
    let value = Value::Object(object);
    assert_eq!(value.pointer(pointer).unwrap_or(&Value::Null), &after, "{api_version} {kind} {before}");
}

/// Returns the object of a generated fixture: `zero` or `shallow`.
fn fixture(files: &BTreeMap<String, Vec<u8>>, api_version: &str, kind: &str, form: &str) -> Object {
    let name = fixture_name(api_version, kind, form);
    let text = files.get(&name).unwrap_or_else(|| panic!("no {name}"));
    schema::json::decode(schema::builtin::kind(api_version, kind).unwrap(), text).unwrap().object
}

fn fixture_name(api_version: &str, kind: &str, form: &str) -> String {
    let group_version =
        if api_version == "v1" { "core.v1".to_owned() } else { api_version.replace('/', ".") };
    format!("generated/{group_version}.{kind}.{form}.json")
}

/// Removes the fields that were absent when upstream's results were recorded: pointers to non-structs, and
/// maps.
fn strip(message: &Message, object: &mut Object) {
    object.retain(|name, value| {
        let Some(field) = message.member(name) else { return true };
        let inner = match field.ty {
            Type::Message(inner) if matches!(inner.shape, Shape::Struct) => Some(inner),
            _ => None,
        };
        match (value, inner) {
            (Value::Object(inner_object), Some(inner)) if field.cardinality == Cardinality::One => {
                strip(inner, inner_object);
            }
            (Value::Array(items), Some(inner)) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| strip(inner, item));
            }
            _ => {}
        }
        field.cardinality != Cardinality::Map && (!field.pointer || inner.is_some())
    });
}

/// Gives absent lists of texts the empty item that they had when upstream's results were recorded.
fn fill_text_lists(message: &Message, object: &mut Object) {
    for member in message.members {
        let field = member.field;
        match (field.cardinality, field.ty) {
            (Cardinality::List, Type::String) if !object.contains_key(member.name) => {
                object.insert(member.name, json!([""]));
            }
            (Cardinality::One, Type::Message(inner)) if matches!(inner.shape, Shape::Struct) => {
                if let Some(inner_object) = object.get_mut(member.name).and_then(Value::as_object_mut) {
                    fill_text_lists(inner, inner_object);
                }
            }
            (Cardinality::List, Type::Message(inner)) if matches!(inner.shape, Shape::Struct) => {
                let items = object.get_mut(member.name).and_then(Value::as_array_mut).into_iter().flatten();
                items.filter_map(Value::as_object_mut).for_each(|item| fill_text_lists(inner, item));
            }
            _ => {}
        }
    }
}

/// Levels of structs in the recorded objects.
const LEVELS: usize = 9;

/// Removes structs below the given number of levels, because fixtures nest deeper than the recorded objects. Structs
/// that are embedded in Go count as levels. Projected fields of the pod were not recorded.
fn limit_levels(object: &mut Object, levels: usize) {
    if levels == 0 {
        object.retain(|_, value| !value.is_object());
    }
    for (name, value) in object.iter_mut() {
        let embedded = matches!(name.as_str(), "volumes" | "ephemeralContainers");
        let levels = levels.saturating_sub(1 + usize::from(embedded));
        let is_projected = name == "sources";
        match value {
            Value::Object(inner) => limit_levels(inner, levels),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| {
                if is_projected {
                    item.remove("downwardAPI");
                }
                limit_levels(item, levels);
            }),
            _ => {}
        }
    }
}

/// Merges the expected defaults into a tree. Defaults of a list's single item apply to each item.
fn overlay(value: &mut Value, filled: &Value) {
    match (value, filled) {
        (Value::Object(members), Value::Object(filled)) => {
            for (name, filled) in filled {
                overlay(members.entry(name.clone()).or_insert(Value::Null), filled);
            }
        }
        (Value::Array(items), Value::Array(filled)) if !items.is_empty() => {
            items.iter_mut().for_each(|item| overlay(item, &filled[0]));
        }
        (value, filled) => *value = filled.clone(),
    }
}

/// Returns upstream's defaults by `apiVersion` and kind. There are two inputs: an object of zero values, and
/// a shallow one with every struct present and one empty item in every list.
fn facts() -> Object {
    let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/defaults.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Compares every kind with the recorded defaults. At least `at_least` kinds must have changed.
fn check_facts(form: &str, at_least: usize) {
    let facts = facts();
    let files = testdata::files("generated");
    let mut filled_in = 0;
    for (key, filled) in &facts {
        let (api_version, kind) = key.split_once(' ').unwrap();
        // The archive lacks objects that JSON and protobuf do not represent alike.
        if !files.contains_key(&fixture_name(api_version, kind, form)) {
            continue;
        }
        let message = schema::builtin::kind(api_version, kind).unwrap();
        let mut before = fixture(&files, api_version, kind, form);
        strip(message, &mut before);
        if form == "shallow" {
            fill_text_lists(message, &mut before);
            limit_levels(&mut before, LEVELS);
        }
        let mut expected = Value::Object(before.clone());
        overlay(&mut expected, &filled[form]);
        if kind == "Service" {
            // The only removed field, which the recorded defaults do not show.
            let spec = expected.pointer_mut("/spec").and_then(Value::as_object_mut);
            spec.unwrap().remove("sessionAffinityConfig");
        }
        let mut object = before.clone();
        default(api_version, kind, &mut object);
        let expected = expected.as_object().unwrap();
        assert!(
            semantic::equal(message, &object, expected),
            "{key}: {:#}",
            json!({"is": object, "expected": expected})
        );
        filled_in += usize::from(!semantic::equal(message, &object, &before));
    }
    assert!(filled_in >= at_least, "{filled_in}");
}

#[test]
fn empty_object_gets_upstream_defaults() {
    check_facts("zero", 50);
}

#[test]
fn shallow_object_gets_upstream_defaults() {
    check_facts("shallow", 80);
}

/// Returns every fixture as (name, `apiVersion`, kind, object).
fn fixtures() -> Vec<(String, String, String, Object)> {
    let mut fixtures = Vec::new();
    for archive in ["fixtures", "generated"] {
        for (name, text) in testdata::files(archive) {
            let Ok(raw) = serde_json::from_slice::<Object>(&text) else { continue };
            let member = |name: &str| raw.get(name).and_then(Value::as_str).map(str::to_owned);
            let (Some(api_version), Some(kind)) = (member("apiVersion"), member("kind")) else { continue };
            let Some(message) = schema::builtin::kind(&api_version, &kind) else { continue };
            let object = schema::json::decode(message, &text).unwrap().object;
            fixtures.push((name, api_version, kind, object));
        }
    }
    fixtures
}

#[test]
fn defaulting_is_idempotent() {
    let mut changed = 0;
    for (name, api_version, kind, before) in fixtures() {
        let mut once = before.clone();
        default(&api_version, &kind, &mut once);
        let mut twice = once.clone();
        default(&api_version, &kind, &mut twice);
        assert_eq!(twice, once, "{name}");
        changed += usize::from(once != before);
    }
    assert!(changed > 230, "{changed}");
}

#[test]
fn kinds_without_defaults_are_left_alone() {
    let facts = facts();
    let mut seen = 0;
    for (name, api_version, kind, before) in fixtures() {
        let bare = name.ends_with(".zero.json") || name.ends_with(".shallow.json");
        if bare && !facts.contains_key(&format!("{api_version} {kind}")) {
            let mut object = before.clone();
            default(&api_version, &kind, &mut object);
            assert_eq!(object, before, "{name}");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}
