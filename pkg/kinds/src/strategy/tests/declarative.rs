//! Tests of hand-written and declarative rules together.

use super::*;

fn created_errors(path: &str, new: Value) -> Vec<String> {
    let user = UserInfo::default();
    validate(row(path), &object(new), &context(&user)).iter().map(ToString::to_string).collect()
}

fn updated_errors(path: &str, new: Value, old: Value) -> Vec<String> {
    let user = UserInfo::default();
    let errors =
        validate_update(row(path), row(path), &object(new), &object(old), &context(&user), &mut Vec::new());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn declarative_errors_follow_hand_written_ones() {
    let role = json!({"metadata": {"name": "r", "namespace": "n"}, "rules": [{}]});
    let expected = [
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
        "rules[0].verbs: Required value",
    ];
    assert_eq!(created_errors("roles", role), expected);
}

#[test]
fn error_of_another_rule_stays() {
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let autoscaler = json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"scaleTargetRef": reference, "maxReplicas": -1, "minReplicas": 1},
    });
    let expected = [
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
    ];
    assert_eq!(created_errors("horizontalpodautoscalers", autoscaler), expected);
}

#[test]
fn immutable_field_has_no_value() {
    let class = |policy| {
        json!({
            "metadata": {"name": "c", "resourceVersion": "1"}, "provisioner": "example.com/p",
            "reclaimPolicy": policy, "volumeBindingMode": "Immediate",
        })
    };
    let expected = ["reclaimPolicy: Invalid value: null: field is immutable"];
    assert_eq!(updated_errors("storageclasses", class("Retain"), class("Delete")), expected);
}

#[test]
fn repeated_hand_written_error_is_reported_once() {
    let config =
        |uid| json!({"metadata": {"name": "c", "namespace": "n", "resourceVersion": "1", "uid": uid}});
    let expected = ["metadata.uid: Invalid value: \"b\": field is immutable"];
    assert_eq!(updated_errors("configmaps", config("b"), config("a")), expected);
}

/// Three controllers are two errors. Upstream validates the metadata of an update four times: twice for all kinds, and twice
/// in the rules of API services, which merge equal errors.
#[test]
fn api_service_merges_its_own_metadata_errors() {
    let controller =
        |uid| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true});
    let service = |owners: Value| {
        json!({
            "metadata": {"name": "v1.a.b", "resourceVersion": "1", "ownerReferences": owners},
            "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1},
        })
    };
    let new = service(json!([controller("a"), controller("b"), controller("c")]));
    assert_eq!(created_errors("apiservices", new.clone()).len(), 1);
    assert_eq!(updated_errors("apiservices", new, service(json!([]))).len(), 6);
}
