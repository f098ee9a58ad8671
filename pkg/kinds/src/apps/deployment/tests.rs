//! Tests of Deployments: rejected values, with the paths and texts of the errors.

use super::*;
use jsontree::{Value, json};

fn deployment(spec: Value) -> Object {
    let pod = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
    });
    let mut all = json!({
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "progressDeadlineSeconds": 600,
    });
    if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
        all.extend(spec);
    }
    let meta = json!({"name": "a", "namespace": "ns", "resourceVersion": "1"});
    Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), all)])
}

fn with_status(status: Value) -> Object {
    let mut object = deployment(json!({}));
    object.insert("status", status);
    object
}

fn texts_of(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

fn check(spec: Value, expected: &[&str]) {
    assert_eq!(
        texts_of(&create(&deployment(spec.clone()), &ValidationContext::default())),
        expected,
        "{spec}"
    );
}

#[test]
fn counts_are_not_negative_and_deadline_fits() {
    check(json!({}), &[]);
    check(json!({"replicas": -1}), &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]);
    check(
        json!({"minReadySeconds": 600}),
        &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    );
}

#[test]
fn selectors_select_the_template() {
    let mismatch = "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template \
        `labels`";
    check(json!({"selector": {"matchLabels": {"app": "b"}}}), &[mismatch]);
    check(
        json!({"selector": {}}),
        &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    );
    check(
        json!({"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}),
        &[
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or \
             'NotIn'",
            "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\"}]}: invalid \
             label selector",
        ],
    );
    let mut without = deployment(json!({}));
    if let Some(spec) = without.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("selector");
    }
    assert_eq!(
        texts_of(&create(&without, &ValidationContext::default())),
        ["spec.selector: Required value", mismatch]
    );
}

#[test]
fn strategy_fits_its_type() {
    let of = |kind: &str, rolling: Value| json!({"strategy": {"type": kind, "rollingUpdate": rolling}});
    let path = "spec.strategy.rollingUpdate";
    check(json!({"strategy": {"type": "Recreate"}}), &[]);
    check(
        of("Recreate", json!({})),
        &[&format!("{path}: Forbidden: may not be specified when strategy `type` is 'Recreate'")],
    );
    check(
        of("RollingUpdate", json!({"maxUnavailable": "0%", "maxSurge": 0})),
        &[&format!("{path}.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0")],
    );
    check(
        of("RollingUpdate", json!({"maxUnavailable": "101%", "maxSurge": -1})),
        &[
            &format!("{path}.maxSurge: Invalid value: -1: must be greater than or equal to 0"),
            &format!("{path}.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"),
        ],
    );
    check(
        of("x", json!({"maxSurge": 1})),
        &[
            "spec.strategy: Unsupported value: {\"Type\":\"x\",\"RollingUpdate\":{\"MaxUnavailable\":0,\"MaxSurge\":1}}: \
           supported values: \"Recreate\", \"RollingUpdate\"",
        ],
    );
}

#[test]
fn a_selector_stays() {
    let new = deployment(json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}));
    let value = "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}";
    let expected = format!("spec.selector: Invalid value: {value}: field is immutable");
    assert_eq!(
        texts_of(&update("", &new, &deployment(json!({})), &ValidationContext::default())),
        [expected]
    );
}

#[test]
fn counters_of_a_status_fit_together() {
    let check = |new: Value, old: Value, expected: &[&str]| {
        assert_eq!(
            texts_of(&update("status", &with_status(new), &with_status(old), &ValidationContext::default())),
            expected
        );
    };
    check(json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}), json!({}), &[]);
    check(
        json!({"replicas": 1, "availableReplicas": 2, "readyReplicas": 1}),
        json!({}),
        &[
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ],
    );
    let fallen = "status.collisionCount: Invalid value: 0: cannot be decremented";
    check(json!({}), json!({"collisionCount": 0}), &[fallen]);
    check(json!({"collisionCount": 1}), json!({"collisionCount": 1}), &[]);
}
