//! Tests of the last-applied annotation of client-side apply.

use super::{Story, config_map, entries_of, entry};
use jsontree::{Value, json};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const POINTER: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// Returns a ConfigMap after a client-side apply, with the applied configuration in the annotation.
fn applied_by_client(data: Value, last_applied: &str) -> Value {
    let mut object = config_map(data);
    object["metadata"]["annotations"] = json!({ANNOTATION: last_applied});
    object
}

fn last_applied(data: Value) -> String {
    config_map(data).to_string()
}

#[test]
fn kubectl_takes_over_client_side_fields() {
    Story::at("v1/configmaps")
        .update("kubectl-client-side-apply", applied_by_client(json!({"a": "1"}), &last_applied(json!({"a": "1"}))))
        .apply("kubectl", config_map(json!({"a": "2"})))
        .holds("/data", json!({"a": "2"}))
        .holds(
            POINTER,
            json!("{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}\n"),
        );
}

#[test]
fn fields_changed_since_client_apply_conflict() {
    Story::at("v1/configmaps")
        .update(
            "m",
            applied_by_client(json!({"a": "other", "b": "1"}), &last_applied(json!({"a": "1", "b": "1"}))),
        )
        .refused(
            "kubectl",
            config_map(json!({"a": "2", "b": "2"})),
            409,
            "Apply failed with 1 conflict: conflict with \"m\" using v1: .data.a",
        );
}

#[test]
fn malformed_annotation_is_ignored() {
    let other_kind = last_applied(json!({"a": "1"})).replace("ConfigMap", "Secret");
    let other_version = last_applied(json!({"a": "1"})).replace("v1", "v2");
    let bad_type = last_applied(json!({"a": 1}));
    for annotation in ["", "{", "[]", &other_kind, &other_version, &bad_type] {
        Story::at("v1/configmaps").update("m", applied_by_client(json!({"a": "1"}), annotation)).refused(
            "kubectl",
            config_map(json!({"a": "2"})),
            409,
            "Apply failed with 1 conflict: conflict with \"m\" using v1: .data.a",
        );
    }
}

#[test]
fn other_managers_ignore_the_annotation() {
    let annotation = last_applied(json!({"a": "1"}));
    Story::at("v1/configmaps")
        .update("m", applied_by_client(json!({"a": "1"}), &annotation))
        .refused(
            "other",
            config_map(json!({"a": "2"})),
            409,
            "Apply failed with 1 conflict: conflict with \"m\" using v1: .data.a",
        )
        .force("other", config_map(json!({"a": "2"})))
        .holds(POINTER, json!(annotation));
}

#[test]
fn kubectl_does_not_start_an_annotation() {
    Story::at("v1/configmaps")
        .apply("kubectl", config_map(json!({"a": "1"})))
        .holds("/metadata/annotations", Value::Null);
}

#[test]
fn annotation_excludes_itself() {
    let mut patch = config_map(json!({"a": "<&>"}));
    patch["metadata"]["annotations"] = json!({ANNOTATION: "old", "x": "1"});
    let written = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003c\\u0026\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"x\":\"1\"},\"name\":\"c\"}}\n";
    Story::at("v1/configmaps").apply("kubectl", patch).holds(POINTER, json!(written));
}

#[test]
fn oversized_annotation_is_dropped() {
    let story = Story::at("v1/configmaps")
        .update("m", applied_by_client(json!({"a": "1"}), "old"))
        .apply("kubectl", config_map(json!({"b": "x".repeat(300 * 1024)})))
        .holds("/metadata/annotations", json!({}));
    let entries = entries_of(story.live.as_ref().unwrap());
    assert_eq!(entries[0], entry("kubectl", "Apply", "v1", 2, r#"{"f:data":{"f:b":{}}}"#));
}
