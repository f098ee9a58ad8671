//! Tests of autoscalers: rejected values, with the paths and texts of the errors.

use super::*;
use jsontree::{Value, json};

fn autoscaler(spec: Value) -> Object {
    let mut all = json!({
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
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

/// Returns a context in which new autoscalers may not scale to zero.
fn without_zero() -> ValidationContext {
    let mut context = ValidationContext::default();
    context.settings.gates = context.settings.gates.with(Gate::HPAScaleToZero, false);
    context
}

fn check(spec: Value, expected: &[&str]) {
    assert_eq!(
        texts_of(&create(&autoscaler(spec.clone()), &ValidationContext::default())),
        expected,
        "{spec}"
    );
}

fn check_metric(metric: Value, expected: &[(&str, &str)]) {
    let errors = create(&autoscaler(json!({"metrics": [metric.clone()]})), &ValidationContext::default());
    let strip =
        |error: &Error| error.field().strip_prefix("spec.metrics[0].").map(str::to_owned).unwrap_or_default();
    let got: Vec<(&str, String)> = errors.iter().map(|error| (error.reason(), strip(error))).collect();
    let expected: Vec<(&str, String)> =
        expected.iter().map(|(reason, field)| (*reason, (*field).to_owned())).collect();
    assert_eq!(got, expected, "{metric}");
}

const INVALID: &str = "FieldValueInvalid";
const REQUIRED: &str = "FieldValueRequired";
const FORBIDDEN: &str = "FieldValueForbidden";
const UNSUPPORTED: &str = "FieldValueNotSupported";

#[test]
fn bounds_are_positive_and_in_order() {
    check(json!({"minReplicas": 3}), &[]);
    check(json!({"maxReplicas": 0}), &["spec.maxReplicas: Required value: must be set and greater than 0"]);
    check(
        json!({"maxReplicas": -1, "minReplicas": 1}),
        &[
            "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
            "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
        ],
    );
    let metrics = "spec.metrics: Forbidden: must specify at least one Object or External metric to support \
        scaling to zero replicas";
    check(json!({"minReplicas": 0}), &[metrics]);
    let errors = create(&autoscaler(json!({"minReplicas": 0})), &without_zero());
    let replicas = "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1";
    assert_eq!(texts_of(&errors), [replicas, metrics]);
}

#[test]
fn existing_zero_replicas_are_allowed() {
    let metric = json!({"type": "External", "external": {
        "metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}});
    let zero = autoscaler(json!({"minReplicas": 0, "metrics": [metric]}));
    assert_eq!(texts_of(&update("", &zero, &zero, &without_zero())), [""; 0]);
    assert_eq!(texts_of(&create(&zero, &without_zero())).len(), 1);
}

#[test]
fn new_targets_need_a_group() {
    let of = |version: &str, kind: &str| json!({"scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "x"}});
    let path = "spec.scaleTargetRef.apiVersion: Invalid value:";
    check(of("v1", "ReplicationController"), &[]);
    check(of("v1", "Pod"), &[&format!("{path} \"v1\": apiVersion must specify API group")]);
    check(of("a/b/c", "X"), &[&format!("{path} \"a/b/c\": unexpected GroupVersion string: a/b/c")]);
    let old = autoscaler(of("a/b/c", "X"));
    assert_eq!(texts_of(&update("", &old, &old, &ValidationContext::default())), [""; 0]);
}

#[test]
fn a_metric_has_one_source_of_its_type() {
    let resource = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}});
    let pods = json!({"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}});
    check_metric(json!({"type": "Resource", "resource": resource}), &[]);
    check_metric(json!({}), &[(REQUIRED, "type"), (UNSUPPORTED, "type"), (UNSUPPORTED, "type")]);
    check_metric(json!({"type": "Pods", "pods": pods, "resource": resource}), &[(FORBIDDEN, "resource")]);
    check_metric(json!({"type": "Object", "pods": pods}), &[(REQUIRED, "object")]);
}

#[test]
fn sources_need_metric_and_target() {
    check_metric(
        json!({"type": "ContainerResource", "containerResource": {"name": "x", "target": {"type": "Value"}}}),
        &[
            (INVALID, "containerResource.name"),
            (INVALID, "containerResource.name"),
            (REQUIRED, "containerResource.container"),
            (REQUIRED, "containerResource.target.averageUtilization"),
        ],
    );
    check_metric(
        json!({"type": "Object", "object": {"describedObject": {"kind": "K", "name": "a/b"}}}),
        &[
            (INVALID, "object.describedObject.name"),
            (REQUIRED, "object.metric.name"),
            (REQUIRED, "object.target.type"),
            (INVALID, "object.target.type"),
            (REQUIRED, "object.target.averageValue"),
        ],
    );
    let two_values = json!({"type": "Value", "value": "0", "averageValue": "-1", "averageUtilization": 0});
    check_metric(
        json!({"type": "External", "external": {"metric": {"name": "m"}, "target": two_values}}),
        &[
            (INVALID, "external.target.value"),
            (INVALID, "external.target.averageValue"),
            (INVALID, "external.target.averageUtilization"),
            (FORBIDDEN, "external.target.value"),
        ],
    );
}

#[test]
fn scaling_rules_are_within_bounds() {
    let policy =
        |kind: &str, value: i64, period: i64| json!({"type": kind, "value": value, "periodSeconds": period});
    let of = |rules: Value| json!({"behavior": {"scaleUp": rules}});
    check(
        of(json!({"policies": [policy("Pods", 1, PERIOD_MAX)], "stabilizationWindowSeconds": WINDOW_MAX})),
        &[],
    );
    let path = "spec.behavior.scaleUp";
    check(
        of(json!({"policies": [policy("x", 0, 1801)], "tolerance": "-1"})),
        &[
            &format!(
                "{path}.policies[0].type: Unsupported value: \"x\": supported values: \"Percent\", \"Pods\""
            ),
            &format!("{path}.policies[0].value: Invalid value: 0: must be greater than zero"),
            &format!(
                "{path}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"
            ),
            &format!("{path}.tolerance: Invalid value: \"-1\": must be greater than or equal to 0"),
        ],
    );
    check(of(json!({})), &[&format!("{path}.policies: Required value: must specify at least one Policy")]);
}

#[test]
fn new_zero_replicas_need_a_gate() {
    let zero = autoscaler(json!({"minReplicas": 0, "metrics": [{"type": "External", "external": {
        "metric": {"name": "m"}, "target": {"type": "Value", "value": "1"},
    }}]}));
    assert_eq!(create(&zero, &without_zero()).len(), 1);
    assert_eq!(texts_of(&create(&zero, &ValidationContext::default())), [""; 0]);
}
