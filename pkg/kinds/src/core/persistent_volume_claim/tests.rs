//! Tests of persistent volume claims.

use super::*;
use jsontree::json;

fn claim(changes: Value, status: Value) -> Object {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "2Gi"}}});
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        spec.extend(changes);
    }
    let meta = json!({"name": "c", "namespace": "n", "resourceVersion": "1"});
    let object = json!({"metadata": meta, "spec": spec, "status": status});
    object.as_object().cloned().unwrap_or_default()
}

fn check(new: &Object, old: &Object, expected: &[&str]) {
    let errors = update("", new, old);
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{new:?}");
}

fn sized(size: &str) -> Value {
    json!({"resources": {"requests": {"storage": size}}})
}

#[test]
fn a_bound_claim_may_grow() {
    let bound = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
    let old = claim(json!({}), bound.clone());
    check(&claim(sized("3Gi"), bound.clone()), &old, &[]);
    // Shrinking is allowed down to the actual size, but not below.
    check(&claim(sized("1500Mi"), bound.clone()), &old, &[]);
    check(&claim(sized("1Gi"), bound), &old, &["spec.resources.requests.storage"]);
    let old = claim(json!({}), json!({}));
    check(&claim(sized("3Gi"), json!({})), &old, &["spec"]);
}

#[test]
fn the_volume_and_the_class_are_set_once() {
    let with = |changes| claim(changes, json!({}));
    check(&with(json!({"volumeName": "a", "storageClassName": "b"})), &with(json!({})), &[]);
    check(&with(json!({"volumeName": "b"})), &with(json!({"volumeName": "a"})), &["spec"]);
    check(&with(json!({"storageClassName": "b"})), &with(json!({"storageClassName": "a"})), &["spec"]);
    let mut annotated = with(json!({}));
    annotated.insert(
        "metadata".to_owned(),
        json!({"name": "c", "namespace": "n", "resourceVersion": "1",
        "annotations": {CLASS_ANNOTATION: "a"}}),
    );
    check(&with(json!({"storageClassName": "a"})), &annotated, &[]);
    let path = format!("metadata.annotations.{CLASS_ANNOTATION}");
    check(&annotated, &with(json!({})), &[&path]);
    check(&with(json!({"volumeMode": "Block"})), &with(json!({})), &["spec", "volumeMode"]);
}

#[test]
fn an_applied_attributes_class_stays_set() {
    let status = json!({"phase": "Bound", "currentVolumeAttributesClassName": "a"});
    let old = claim(json!({"volumeAttributesClassName": "a"}), status.clone());
    check(&claim(json!({"volumeAttributesClassName": "b"}), status.clone()), &old, &[]);
    check(&claim(json!({}), status), &old, &["spec.volumeAttributesClassName"]);
}

#[test]
fn the_status_counts_storage() {
    let check = |status: Value, expected: &[&str]| {
        let claim = claim(json!({}), status);
        let errors = update("status", &claim, &claim);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    check(json!({"allocatedResourceStatuses": {"storage": "NodeResizePending"}}), &[]);
    check(json!({"allocatedResourceStatuses": {"storage": "x"}}), &["status.allocatedResourceStatuses"]);
    check(json!({"allocatedResources": {"cpu": "1"}}), &["status.allocatedResources"]);
    check(json!({"capacity": {"storage": "-1"}}), &["status.capacity[storage]"]);
}
