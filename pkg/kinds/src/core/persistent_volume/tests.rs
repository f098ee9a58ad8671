//! Tests of persistent volumes.

use super::*;
use crate::validation::rules::{Settings, ValidationContext};
use component_base::features::Gates;
use jsontree::json;

fn volume(changes: Value) -> Object {
    let mut spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", "nfs": {"server": "a", "path": "/"}});
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        for (key, value) in changes {
            match value {
                Value::Null => _ = spec.remove(&key),
                value => _ = spec.insert(key, value),
            }
        }
    }
    let object = json!({"metadata": {"name": "v", "resourceVersion": "1"}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

fn check(changes: Value, expected: &[(&str, &str)]) {
    let errors = validate(&volume(changes.clone()), None);
    let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
    assert_eq!(got, expected, "{changes}");
}

#[test]
fn a_volume_has_storage_only() {
    check(json!({}), &[]);
    check(
        json!({"capacity": null}),
        &[("FieldValueRequired", "spec.capacity"), ("FieldValueNotSupported", "spec.capacity")],
    );
    check(json!({"capacity": {"cpu": "1"}}), &[("FieldValueNotSupported", "spec.capacity")]);
    check(
        json!({"capacity": {"storage": "-1"}}),
        &[("FieldValueInvalid", "spec.capacity[storage]"), ("FieldValueInvalid", "spec.capacity[storage]")],
    );
}

#[test]
fn a_volume_has_one_source() {
    check(json!({"nfs": null}), &[("FieldValueRequired", "spec")]);
    check(json!({"cephfs": {"monitors": ["a"]}}), &[("FieldValueForbidden", "spec.cephFS")]);
    check(json!({"flexVolume": {}}), &[("FieldValueRequired", "spec.flexVolume.driver")]);
    check(
        json!({"nfs": null, "gcePersistentDisk": {}}),
        &[("FieldValueRequired", "spec.persistentDisk.pdName")],
    );
    check(json!({"nfs": null, "local": {"path": "/a"}}), &[("FieldValueRequired", "spec.nodeAffinity")]);
    let csi = json!({"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "A"}});
    check(
        json!({"nfs": null, "csi": csi}),
        &[
            ("FieldValueInvalid", "spec.csi.nodePublishSecretRef.name"),
            ("FieldValueRequired", "spec.csi.nodePublishSecretRef.namespace"),
        ],
    );
    let root = json!({"nfs": null, "hostPath": {"path": "/./"}, "persistentVolumeReclaimPolicy": "Recycle"});
    check(root, &[("FieldValueForbidden", "spec.persistentVolumeReclaimPolicy")]);
}

#[test]
fn classes_and_modes_are_known() {
    check(
        json!({"accessModes": ["x"], "volumeMode": "x", "storageClassName": "X"}),
        &[
            ("FieldValueNotSupported", "spec.accessModes"),
            ("FieldValueInvalid", "spec.storageClassName"),
            ("FieldValueNotSupported", "spec.volumeMode"),
        ],
    );
    check(
        json!({"volumeAttributesClassName": ""}),
        &[("FieldValueRequired", "spec.volumeAttributesClassName"), ("FieldValueRequired", "spec.csi")],
    );
    check(json!({"nodeAffinity": {}}), &[("FieldValueRequired", "spec.nodeAffinity.required")]);
}

#[test]
fn inline_volumes_are_csi() {
    let mut errors = ErrorList::new();
    let spec = volume(json!({"storageClassName": "a"}));
    let spec = child(&spec, "spec").cloned().unwrap_or_default();
    validate_volume_spec(&Path::root("s"), &spec, Context::Inline, &mut errors);
    let got: Vec<&str> = errors.iter().map(Error::field).collect();
    assert_eq!(got, ["s.capacity", "s.csi", "s.storageClassName"]);
}

#[test]
fn the_source_stays() {
    let check = |new: Value, old: Value, expected: &[&str]| {
        let errors = update::update("", &volume(new), &volume(old), &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    let csi = |secret: Value| json!({"nfs": null, "csi": {"driver": "d", "volumeHandle": "h", "controllerExpandSecretRef": secret}});
    check(csi(json!({"name": "a", "namespace": "b"})), csi(Value::Null), &[]);
    check(json!({"nfs": {"server": "b", "path": "/"}}), json!({}), &["spec.persistentvolumesource"]);
    check(json!({"volumeMode": "Block"}), json!({}), &["volumeMode"]);
    let affine = |key: &str, value: &str| {
        let expression = json!({"key": key, "operator": "In", "values": [value]});
        json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}})
    };
    check(affine("kubernetes.io/os", "linux"), affine("beta.kubernetes.io/os", "linux"), &[]);
    check(affine("kubernetes.io/os", "x"), affine("beta.kubernetes.io/os", "linux"), &["nodeAffinity"]);
    check(json!({}), affine("kubernetes.io/os", "linux"), &["nodeAffinity"]);
}

#[test]
fn gate_makes_node_affinity_mutable() {
    let affinity = |value: &str| {
        let expression = json!({"key": "zone", "operator": "In", "values": [value]});
        volume(
            json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}),
        )
    };
    let errors = |mutable| {
        let gates = Gates::default().with(Gate::MutablePVNodeAffinity, mutable);
        let context =
            ValidationContext { settings: Settings { gates, ..Settings::default() }, ..Default::default() };
        update::update("", &affinity("a"), &affinity("b"), &context).len()
    };
    assert_eq!([errors(false), errors(true)], [1, 0]);
}
