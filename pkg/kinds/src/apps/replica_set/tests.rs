//! Tests of ReplicaSets and ReplicationControllers: rejected values, with the paths and texts of the errors.

use super::*;
use jsontree::{Value, json};

fn object(selector: Value, spec: Value) -> Object {
    let pod = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
    });
    let mut all = json!({
        "replicas": 1,
        "selector": selector,
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod},
    });
    if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
        all.extend(spec);
    }
    let meta = json!({"name": "a", "namespace": "ns", "resourceVersion": "1"});
    Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), all)])
}

fn texts_of(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

#[test]
fn replica_set_pods_always_restart() {
    let check = |path: &str, value: Value, expected: &[&str]| {
        let mut set = object(json!({"matchLabels": {"app": "a"}}), json!({}));
        if let Some(pod) = set.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/spec")) {
            pod[path] = value;
        }
        assert_eq!(texts_of(&replica_set(&set, &ValidationContext::default())), expected, "{path}");
    };
    check("restartPolicy", "Always".into(), &[]);
    let supported = "Unsupported value: \"Never\": supported values: \"Always\"";
    check("restartPolicy", "Never".into(), &[&format!("spec.template.spec.restartPolicy: {supported}")]);
    let forbidden = "Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported";
    check(
        "activeDeadlineSeconds",
        1.into(),
        &[&format!("spec.template.spec.activeDeadlineSeconds: {forbidden}")],
    );
}

#[test]
fn controllers_need_labels_and_a_template() {
    let check = |selector: Value, spec: Value, expected: &[&str]| {
        assert_eq!(texts_of(&controller(&object(selector, spec), &ValidationContext::default())), expected);
    };
    check(json!({"app": "a"}), json!({}), &[]);
    check(json!({}), json!({}), &["spec.selector: Required value"]);
    check(
        json!({"app": "b"}),
        json!({"minReadySeconds": -1}),
        &[
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template \
             `labels`",
        ],
    );
    let mut without = object(json!({"app": "a"}), json!({}));
    if let Some(spec) = without.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("template");
        spec.remove("replicas");
    }
    assert_eq!(
        texts_of(&controller(&without, &ValidationContext::default())),
        ["spec.replicas: Required value", "spec.template: Required value"]
    );
}

#[test]
fn non_convertible_values_are_immutable() {
    let mut old = object(json!({"app": "a"}), json!({}));
    let annotations =
        json!({"non-convertible.kubernetes.io/selector": "x", "non-convertible.kubernetes.io/y": "z"});
    if let Some(meta) = old.get_mut("metadata") {
        meta["annotations"] = annotations;
    }
    let mut new = old.clone();
    let unknown = "y: Not found: \"z\": unknown non-convertible field";
    assert_eq!(texts_of(&controller_update("", &new, &old, &ValidationContext::default())), [unknown]);
    if let Some(labels) = new.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/metadata/labels")) {
        labels["more"] = "b".into();
    }
    if let Some(spec) = new.get_mut("spec") {
        spec["selector"] = json!({"more": "b"});
    }
    let changed = "spec.selector: Invalid value: {\"more\":\"b\"}: cannot update non-convertible selector";
    assert_eq!(
        texts_of(&controller_update("", &new, &old, &ValidationContext::default())),
        [changed, unknown]
    );
}

#[test]
fn counters_of_a_status_fit_together() {
    let mut set = object(json!({"matchLabels": {"app": "a"}}), json!({}));
    let old = set.clone();
    set.insert(
        "status".to_owned(),
        json!({"replicas": 1, "fullyLabeledReplicas": 2, "observedGeneration": -2}),
    );
    let expected = [
        "status.observedGeneration: Invalid value: -2: must be greater than or equal to 0",
        "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas",
    ];
    assert_eq!(texts_of(&replica_set_update("status", &set, &old, &ValidationContext::default())), expected);
    assert_eq!(texts_of(&controller_update("status", &set, &old, &ValidationContext::default())), expected);
}
