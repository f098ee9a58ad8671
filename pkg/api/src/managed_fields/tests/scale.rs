//! Managed fields of an object and its Scale.

use super::{entries_of, entry, object, untimed};
use crate::managed_fields::replicas_paths;
use fieldmanager::{to_parent, to_scale};
use jsontree::{Value, json};

const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;
const SELECTOR: &str = r#"{"f:spec":{"f:selector":{}}}"#;
const BOTH: &str = r#"{"f:spec":{"f:replicas":{},"f:selector":{}}}"#;

fn with(entries: Value) -> schema::object::Object {
    object(json!({"metadata": {"managedFields": entries}}))
}

#[track_caller]
fn deployments() -> &'static crate::resources::Resource<'static> {
    crate::resources::find("apps", "v1", "deployments", "").unwrap()
}

fn check_to_scale(parent: Value, expected: Value) {
    let mut scale = object(json!({}));
    to_scale(&with(parent), &replicas_paths(deployments()), &mut scale).unwrap();
    assert_eq!(entries_of(&scale), expected);
}

#[track_caller]
fn check_to_parent(parent: Value, scale: Value, expected: Value) {
    let mut parent = with(parent);
    to_parent(&with(scale), &replicas_paths(deployments()), "apps/v1", &mut parent).unwrap();
    assert_eq!(entries_of(&parent), expected);
}

#[test]
fn replica_owners_own_them_in_scale() {
    check_to_scale(
        json!([untimed("a", "Apply", "apps/v1", SELECTOR), entry("b", "Apply", "apps/v1", 1, BOTH)]),
        json!([entry("b", "Apply", "autoscaling/v1", 1, REPLICAS)]),
    );
    check_to_scale(
        json!([untimed("a", "Apply", "apps/v1", BOTH), untimed("b/scale", "Update", "apps/v1beta1", BOTH)]),
        json!([
            untimed("a", "Apply", "autoscaling/v1", REPLICAS),
            untimed("b/scale", "Update", "autoscaling/v1", REPLICAS),
        ]),
    );
}

#[test]
fn entries_of_unknown_versions_are_dropped() {
    check_to_scale(json!([untimed("a", "Apply", "apps/v10", REPLICAS)]), Value::Null);
    check_to_parent(json!([untimed("a", "Apply", "apps/v10", SELECTOR)]), json!([]), Value::Null);
}

#[test]
fn scaling_takes_replicas_from_the_parent() {
    for (parent_operation, operation) in
        [("Apply", "Apply"), ("Apply", "Update"), ("Update", "Update"), ("Update", "Apply")]
    {
        let of_parent = untimed("a", parent_operation, "apps/v1", SELECTOR);
        let of_scale = untimed("s/scale", operation, "apps/v1", REPLICAS);
        let expected = if parent_operation > operation {
            json!([of_scale, of_parent])
        } else {
            json!([of_parent, of_scale])
        };
        check_to_parent(
            json!([untimed("a", parent_operation, "apps/v1", BOTH)]),
            json!([untimed("s/scale", operation, "autoscaling/v1", REPLICAS)]),
            expected,
        );
    }
}

#[test]
fn owner_in_the_scale_keeps_its_entry() {
    check_to_parent(
        json!([entry("a", "Apply", "apps/v1", 1, BOTH)]),
        json!([entry("a", "Apply", "autoscaling/v1", 1, REPLICAS)]),
        json!([entry("a", "Apply", "apps/v1", 1, BOTH)]),
    );
}

#[test]
fn empty_entry_is_removed() {
    check_to_parent(json!([entry("a", "Apply", "apps/v1", 1, REPLICAS)]), json!([]), Value::Null);
}

#[test]
fn new_owner_has_no_time_in_parent() {
    check_to_parent(
        json!([]),
        json!([entry("s/scale", "Update", "autoscaling/v1", 3, REPLICAS)]),
        json!([untimed("s/scale", "Update", "apps/v1", REPLICAS)]),
    );
}

#[test]
fn entries_that_cannot_be_read_are_an_error() {
    let mut parent = with(json!([{"operation": "Other"}]));
    let error = to_parent(&object(json!({})), &[], "apps/v1", &mut parent).unwrap_err();
    assert_eq!(error.to_string(), "operation must be `Apply` or `Update`");
    let error = to_scale(&parent, &[], &mut object(json!({}))).unwrap_err();
    assert_eq!(error.to_string(), "operation must be `Apply` or `Update`");
}
