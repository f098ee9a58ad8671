//! Kinds that are served in several versions.

use super::{Story, entry, untimed};
use crate::managed_fields::field_manager;
use crate::resources;
use jsontree::{Value, json};

const V1: &str = "autoscaling/v1/horizontalpodautoscalers";
const V2: &str = "autoscaling/v2/horizontalpodautoscalers";

fn autoscaler(api_version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": spec,
    })
}

#[test]
fn manager_owns_fields_in_its_request_version() {
    let stored = autoscaler(
        "autoscaling/v2",
        json!({
            "maxReplicas": 3,
            "metrics": [{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            }],
        }),
    );
    Story::at(V1).update("m", stored).owned(json!([entry(
        "m",
        "Update",
        "autoscaling/v1",
        1,
        r#"{"f:spec":{"f:maxReplicas":{},"f:targetCPUUtilizationPercentage":{}}}"#
    )]));
}

#[test]
fn fields_are_compared_in_owners_version() {
    let patch = |api_version: &str, max: i64| autoscaler(api_version, json!({"maxReplicas": max}));
    Story::at(V1)
        .apply("one", patch("autoscaling/v1", 3))
        .holds("/apiVersion", json!("autoscaling/v2"))
        .endpoint(V2)
        .refused(
            "two",
            patch("autoscaling/v2", 4),
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .spec.maxReplicas",
        )
        .apply("one", patch("autoscaling/v2", 4))
        .owned(json!([entry("one", "Apply", "autoscaling/v2", 3, r#"{"f:spec":{"f:maxReplicas":{}}}"#)]));
}

#[test]
fn ownership_in_unserved_versions_is_dropped() {
    let fields = r#"{"f:data":{"f:a":{}}}"#;
    let mut live = super::config_map(json!({"a": "1"}));
    live["metadata"]["uid"] = json!("u");
    live["metadata"]["managedFields"] = json!([
        untimed("one", "Apply", "v1", fields),
        untimed("two", "Apply", "v0", fields),
        untimed("three", "Apply", "apps/v1", fields),
        untimed("four", "Apply", "a/b/c", fields),
    ]);
    Story::at("v1/configmaps")
        .live(live)
        .edit("m", |_| {})
        .owned(json!([untimed("one", "Apply", "v1", fields)]));
}

#[test]
fn event_groups_are_independent() {
    let core = untimed("one", "Update", "v1", r#"{"f:reason":{}}"#);
    let live = json!({
        "apiVersion": "v1", "kind": "Event", "reason": "r",
        "metadata": {"name": "e", "uid": "u", "managedFields": [core]},
    });
    let fields = r#"{"f:reason":{}}"#;
    Story::at("events.k8s.io/v1/events")
        .live(live)
        .edit("two", |event| event["reason"] = json!("s"))
        .owned(json!([entry("two", "Update", "events.k8s.io/v1", 1, fields)]));
}

#[test]
fn every_endpoint_with_metadata_has_a_field_manager() {
    for row in resources::all().filter(|row| row.message.member("metadata").is_some()) {
        assert!(field_manager(row, |_| true).is_some(), "{} {}", row.group_version, row.path());
    }
}
