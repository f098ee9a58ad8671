//! Tests of DaemonSets: rejected values, with the paths and texts of the errors.

use super::*;
use jsontree::{Value, json};

fn daemon_set(spec: Value) -> Object {
    let pod = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
    });
    let mut all = json!({
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod},
        "updateStrategy": {"type": "OnDelete"},
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

fn check(spec: Value, expected: &[&str]) {
    assert_eq!(
        texts_of(&create(&daemon_set(spec.clone()), &ValidationContext::default())),
        expected,
        "{spec}"
    );
}

#[test]
fn selectors_select_the_template() {
    check(json!({}), &[]);
    check(
        json!({"selector": {}}),
        &["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
    );
    check(
        json!({"selector": null}),
        &[
            "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template \
           `labels`",
        ],
    );
}

#[test]
fn rolling_updates_have_one_bound() {
    let of = |rolling: Value| json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}});
    let path = "spec.updateStrategy.rollingUpdate";
    check(of(json!({"maxUnavailable": 1, "maxSurge": 0})), &[]);
    check(
        of(json!({})),
        &[&format!("{path}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0")],
    );
    check(
        of(json!({"maxUnavailable": "120%", "maxSurge": 1})),
        &[
            &format!("{path}.maxUnavailable: Invalid value: \"120%\": must not be greater than 100%"),
            &format!("{path}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"),
        ],
    );
    check(json!({"updateStrategy": {"type": "RollingUpdate"}}), &[&format!("{path}: Required value")]);
    check(
        json!({"updateStrategy": {"type": "x"}}),
        &[
            "spec.updateStrategy: Unsupported value: {\"Type\":\"x\",\"RollingUpdate\":null}: supported values: \
           \"RollingUpdate\", \"OnDelete\"",
        ],
    );
}

#[test]
fn selector_is_immutable_even_if_bad() {
    let bad = || {
        let requirement = json!({"key": "app", "operator": "NotIn", "values": ["-"]});
        daemon_set(json!({"selector": {"matchExpressions": [requirement]}}))
    };
    let value = "spec.selector.matchExpressions[0].values[0]";
    assert_eq!(create(&bad(), &ValidationContext::default()).iter().next().map(Error::field), Some(value));
    assert_eq!(texts_of(&update("", &bad(), &bad(), &ValidationContext::default())), [""; 0]);
    let fields: Vec<String> = update("", &bad(), &daemon_set(json!({})), &ValidationContext::default())
        .iter()
        .map(|e| e.field().to_owned())
        .collect();
    assert_eq!(fields, ["spec.selector", value]);
}

#[test]
fn counters_of_a_status_are_not_negative() {
    let mut new = daemon_set(json!({}));
    let old = new.clone();
    new.insert("status", json!({"numberReady": -1}));
    let expected = ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"];
    assert_eq!(texts_of(&update("status", &new, &old, &ValidationContext::default())), expected);
}
