//! The walkers compared with upstream's results for the same values
//! (`testdata/structured_merge/typed.jsonl.gz`, made with structured-merge-diff v6.4.2 and the schemas
//! published by Kubernetes v1.36.2), and with the laws that they must obey.
#![allow(clippy::unwrap_used)]

use std::io::Read;

use flate2::read::GzDecoder;
use jsontree::json;

use super::*;
use crate::structured_merge::Set;
use crate::structured_merge::model::{Schema, TypeRef};
use crate::structured_merge::path::values_equal;
use schema::builtin;

/// A schema for a custom resource, and lines of two values each with upstream's results.
fn recorded() -> (Schema, Vec<Value>) {
    let packed = include_bytes!("../../../testdata/structured_merge/typed.jsonl.gz");
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(|line| schema::json::decode_untyped(line.as_bytes()).unwrap().value);
    let schema = lines.next().unwrap();
    (Schema::from_openapi(&schema["schema"], false).unwrap(), lines.collect())
}

/// Calls `check` with both values, their type and upstream's results.
fn for_each(mut check: impl FnMut(&Value, &Value, TypeRef, &Value)) {
    let (schema, lines) = recorded();
    assert_eq!(lines.len(), 600);
    for line in &lines {
        let ty = match line.get("type") {
            Some(name) => TypeRef::builtin(builtin::message(name.as_str().unwrap()).unwrap()),
            None => schema.type_ref(),
        };
        check(&line["left"], &line["right"], ty, &line["answers"]);
    }
}

/// Calls `check` if both values are valid, apart from duplicate items.
fn for_each_valid(mut check: impl FnMut(&Value, &Value, TypeRef, &Value)) {
    let mut checked = 0;
    for_each(|left, right, ty, expected| {
        if expected.get("fields").is_some() {
            checked += 1;
            check(left, right, ty, expected);
        }
    });
    assert!(checked > 350, "{checked}");
}

/// Upstream walks maps in random order; errors are recorded in the order of their texts.
fn sorted(errors: Errors) -> Value {
    let mut lines: Vec<String> = errors.0.iter().map(|error| format!("  {error}")).collect();
    lines.sort();
    match errors.0.as_slice() {
        [only] => only.to_string().into(),
        _ => format!("errors:\n{}", lines.join("\n")).into(),
    }
}

/// Go formats 1.0 as 1.
#[track_caller]
fn same(actual: &Value, expected: &Value) {
    assert!(values_equal(actual, expected), "{actual} {expected}");
}

#[test]
fn validation_errors_match_upstream() {
    let mut wrong = 0;
    for_each(|left, _, ty, expected| {
        for (duplicates, mode) in
            [(Duplicates::Reject, "invalid"), (Duplicates::Allow, "invalidAllowingDuplicates")]
        {
            let actual = validate(left, ty, duplicates).err().map(sorted);
            assert_eq!(actual.as_ref(), expected.get(mode), "{left}");
            wrong += usize::from(actual.is_some());
        }
    });
    assert!(wrong > 100, "{wrong}");
}

#[test]
fn field_sets_match_upstream() {
    for_each_valid(|left, _, ty, expected| {
        let set = field_set(left, ty).unwrap();
        assert_eq!(set.to_string(), expected["fields"], "{left}");
        assert_eq!(ensure_named_fields_are_members(&set, ty).to_string(), expected["named"], "{left}");
    });
}

#[test]
fn comparisons_match_upstream() {
    for_each_valid(|left, right, ty, expected| {
        let comparison = compare(left, right, ty).unwrap();
        for (set, name) in
            [(comparison.removed, "removed"), (comparison.modified, "modified"), (comparison.added, "added")]
        {
            assert_eq!(set.to_string(), expected[name], "{name}: {left} {right}");
        }
    });
}

#[test]
fn merged_values_match_upstream() {
    let mut merged = 0;
    for_each_valid(|left, right, ty, expected| {
        // Upstream rejects an applied value with duplicates before merging it.
        if let Some(upstream) = expected.get("merged") {
            same(&merge(left, right.clone(), ty).unwrap(), upstream);
            merged += 1;
        }
    });
    assert!(merged > 200, "{merged}");
}

#[test]
fn remove_and_extract_match_upstream() {
    for_each_valid(|left, right, ty, expected| {
        let set = field_set(right, ty).unwrap();
        same(&remove(left, &set, ty), &expected["without"]);
        same(&extract(left, &set, ty), &expected["extracted"]);
        same(&remove(left, &set.leaves(), ty), &expected["withoutLeaves"]);
    });
}

#[test]
fn swapped_comparison_swaps_removed_and_added() {
    for_each_valid(|left, right, ty, _| {
        let forth = compare(left, right, ty).unwrap();
        let back = compare(right, left, ty).unwrap();
        assert_eq!(
            (&forth.removed, &forth.modified, &forth.added),
            (&back.added, &back.modified, &back.removed)
        );
        assert!(compare(left, left, ty).unwrap().is_same());
    });
}

#[test]
fn merge_is_idempotent() {
    for_each_valid(|left, right, ty, expected| {
        if expected.get("merged").is_none() {
            return;
        }
        let once = merge(left, right.clone(), ty).unwrap();
        assert_eq!(merge(&once, right.clone(), ty).unwrap(), once, "{left} {right}");
    });
}

#[test]
fn merge_removes_nothing() {
    for_each_valid(|left, right, ty, expected| {
        // Values with several forms may change their form, and duplicates become one item.
        let forms = left.get("any").or(left.get("anyset")).or(left.get("ios")).or(left.get("free")).is_some();
        if forms || expected.get("merged").is_none() || validate(left, ty, Duplicates::Reject).is_err() {
            return;
        }
        let merged = merge(left, right.clone(), ty).unwrap();
        let removed = compare(left, &merged, ty).unwrap().removed;
        assert_eq!(removed, Set::new(), "{left} {right}");
    });
}

#[test]
fn type_errors_display_like_go() {
    let check = |kind: &str, value: Value, expected: &str| {
        let ty = TypeRef::builtin(builtin::kind("v1", kind).unwrap());
        let error = validate(&value, ty, Duplicates::Reject).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "ConfigMap",
        json!({"data": {"x": 1}}),
        ".data.x: expected string, got &value.valueUnstructured{Value:1}",
    );
    check(
        "ConfigMap",
        json!({"data": {"x": [1.5e7, null, {"a": "\n"}, true]}}),
        ".data.x: expected string, got &value.valueUnstructured{Value:[]interface {}{1.5e+07, \
         interface {}(nil), map[string]interface {}{\"a\":\"\\n\"}, true}}",
    );
    check("ConfigMap", json!({"data": [1, "b", {}]}), ".data: expected map, got &{[1 b map[]]}");
    check("ConfigMap", json!({"immutable": "no"}), ".immutable: expected boolean, got &{no}");
    check("ConfigMap", json!([]), "expected map, got &{[]}");
    check(
        "Service",
        json!({"spec": {"ports": [{"port": "80"}, {"port": "80", "protocol": "TCP"}], "clusterIPs": {}}}),
        "errors:\n  .spec.clusterIPs: expected list, got &{map[]}\n  \
         .spec.ports[port=\"80\",protocol=\"TCP\"].port: expected numeric (int or float), got string\n  \
         .spec.ports: duplicate entries for key [port=\"80\",protocol=\"TCP\"]\n  \
         .spec.ports[port=\"80\",protocol=\"TCP\"].port: expected numeric (int or float), got string",
    );
    check("Pod", json!({"spec": {"nope": 1}}), ".spec.nope: field not declared in schema");
    check(
        "Pod",
        json!({"spec": {"tolerations": [1], "containers": [{"ports": [{}]}, null]}}),
        "errors:\n  .spec.containers: element 1: associative list with keys may not have a null element\n  \
         .spec.tolerations[0]: expected map, got &{1}",
    );
}

#[test]
fn items_without_identity_are_rejected() {
    let keyed = json!({
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["b", "a"],
    });
    let set = json!({"type": "array", "items": {}, "x-kubernetes-list-type": "set"});
    let check = |schema: &Value, value: Value, expected: &str| {
        let schema = Schema::from_openapi(schema, false).unwrap();
        let error = validate(&value, schema.type_ref(), Duplicates::Reject).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        &keyed,
        json!([{"a": ""}, {}]),
        "element 1: associative list with keys has an element that omits all key fields [\"b\" \"a\"] \
         (and doesn't have default values for any key fields)",
    );
    check(&keyed, json!([1]), "element 0: associative list with keys may not have non-map elements");
    check(
        &keyed,
        json!([{"b": "y", "a": "x"}, {"a": "x", "b": "y"}]),
        "duplicate entries for key [a=\"x\",b=\"y\"]",
    );
    check(&set, json!([1, 1.0]), "duplicate entries for key [=1]");
    check(&set, json!([{}]), "element 0: associative list without keys has an element that's a map type");
    check(&set, json!([[]]), "element 0: not supported: associative list with lists as elements");
    check(
        &set,
        json!([null]),
        "element 0: associative list without keys has an element that's an explicit null",
    );
}

#[test]
fn errors_are_limited() {
    let ty = TypeRef::builtin(builtin::kind("v1", "ConfigMap").unwrap());
    let data: Object = (0..5000).map(|at| (at.to_string(), json!(1))).collect();
    let errors = validate(&json!({ "data": data }), ty, Duplicates::Reject).unwrap_err();
    assert_eq!(errors.0.len(), 1000);
    assert!(errors.0.iter().all(|error| error.path.starts_with(".data.")));
}

#[test]
fn merged_lists_keep_the_order_of_both() {
    let ty = TypeRef::builtin(builtin::kind("v1", "Pod").unwrap());
    let check = |left: &str, right: &str, expected: &str| {
        let pod = |names: &str| {
            let containers: Value = names.chars().map(|name| json!({"name": name.to_string()})).collect();
            json!({"spec": {"containers": containers}})
        };
        assert_eq!(merge(&pod(left), pod(right), ty).unwrap(), pod(expected), "{left} {right}");
    };
    check("ab", "", "ab");
    check("", "ab", "ab");
    check("abc", "cd", "abcd");
    check("abc", "ca", "bca");
    check("axbyc", "cba", "xycba");
    check("aabc", "ba", "bca");
    check("aabc", "b", "aabc");
}

#[test]
fn an_emptied_map_is_null() {
    let ty = TypeRef::builtin(builtin::kind("v1", "Pod").unwrap());
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let labels = field_set(&json!({"metadata": {"labels": {"a": ""}}}), ty).unwrap();
    let removed = remove(&pod, &labels, ty);
    assert_eq!(removed["metadata"], json!({"labels": null}));
    assert_eq!(extract(&pod, &labels, ty), json!({"metadata": {"labels": {"a": "b"}}}));
    let image = Set::parse(br#"{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}"#).unwrap();
    assert_eq!(remove(&pod, &image, ty)["spec"], json!({"containers": [{"name": "c"}]}));
    assert_eq!(extract(&pod, &image, ty), json!({"spec": {"containers": [{"image": "i"}]}}));
}

#[test]
fn fields_without_a_schema_are_deduced() {
    let value = json!({"a": {"b": [1, {"c": 2}], "d": {}}, "e": null});
    let set = field_set(&value, TypeRef::DEDUCED).unwrap();
    let mut text = Vec::new();
    set.write(&mut text);
    assert_eq!(String::from_utf8(text).unwrap(), r#"{"f:a":{".":{},"f:b":{},"f:d":{}},"f:e":{}}"#);
}
