//! Tests of admission policies.

use super::*;
use jsontree::{Value, json};

fn policy(changes: &Value) -> Object {
    let rule =
        json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
    let mut spec = json!({"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": {
        "matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]}});
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        spec.extend(changes.clone());
    }
    let object = json!({"metadata": {"name": "p"}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

type Validate = fn(&Object, Option<&Object>, &ValidationContext) -> ErrorList;

fn check(validate: Validate, changes: Value, expected: &[&str]) {
    let errors = validate(&policy(&changes), None, &ValidationContext::default());
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
}

#[test]
fn a_policy_validates_or_annotates() {
    check(validating, json!({"validations": [{"expression": "true"}]}), &[]);
    check(validating, json!({"auditAnnotations": [{"key": "a", "valueExpression": "'b'"}]}), &[]);
    check(validating, json!({}), &["spec.validations", "spec.auditAnnotations"]);
    let bad = json!({"message": " ", "messageExpression": " ", "reason": "x"});
    let step = |step: &str| format!("spec.validations[0].{step}");
    check(
        validating,
        json!({"validations": [bad]}),
        &[&step("expression"), &step("messageExpression"), &step("message"), &step("reason")],
    );
    check(
        validating,
        json!({"validations": [{"expression": "true", "message": "a\nb"}]}),
        &[&step("message")],
    );
    let twice = json!([{"key": "a", "valueExpression": "'b'"}, {"key": "a", "valueExpression": ""}]);
    check(
        validating,
        json!({"auditAnnotations": twice}),
        &["spec.auditAnnotations[1].valueExpression", "spec.auditAnnotations[1].key"],
    );
}

#[test]
fn policies_have_constraints_and_param_kind() {
    let good = json!([{"expression": "true"}]);
    check(
        validating,
        json!({"validations": good, "failurePolicy": null, "matchConstraints": null}),
        &["spec.failurePolicy", "spec.matchConstraints"],
    );
    let param = |version: &str, kind: &str| json!({"validations": good, "paramKind": {"apiVersion": version, "kind": kind}});
    check(validating, param("a.b/v1", "Thing"), &[]);
    check(validating, param("", ""), &["spec.paramKind.apiVersion", "spec.paramKind.kind"]);
    check(
        validating,
        param("A/B", "a_b"),
        &["spec.paramKind.apiVersion", "spec.paramKind.apiVersion", "spec.paramKind.kind"],
    );
    check(validating, param("a/b/c", "A"), &["spec.paramKind.apiVersion"]);
    let variables = json!([{"name": "a", "expression": "1"}, {"name": "for"}]);
    check(
        validating,
        json!({"validations": good, "variables": variables}),
        &["spec.variables[1].name", "spec.variables[1].expression"],
    );
}

#[test]
fn a_mutation_is_of_one_type() {
    check(
        mutating,
        json!({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/a'}]"}}]}),
        &[],
    );
    check(mutating, json!({}), &["spec.mutations"]);
    check(
        mutating,
        json!({"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {}}]}),
        &["spec.mutations[0].jsonPatch", "spec.mutations[0].applyConfiguration"],
    );
    check(
        mutating,
        json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {}}]}),
        &["spec.mutations[0].applyConfiguration.expression"],
    );
    check(
        mutating,
        json!({"mutations": [{"patchType": "x"}, {}], "reinvocationPolicy": ""}),
        &["spec.mutations[0].patchType", "spec.mutations[1].patchType", "spec.reinvocationPolicy"],
    );
}

#[test]
fn existing_bad_conditions_are_allowed() {
    let bad = policy(&json!({"validations": [{"expression": "true"}], "matchConditions": [{}]}));
    assert_eq!(validating_update("", &bad, &bad, &ValidationContext::default()), ErrorList::new());
    assert_eq!(validating(&bad, None, &ValidationContext::default()).len(), 2);
    let mut warned = bad;
    warned.insert("status", json!({"typeChecking": {"expressionWarnings": [{"fieldRef": "a"}]}}));
    let errors = validating_update("status", &warned, &warned, &ValidationContext::default());
    assert_eq!(
        errors.iter().map(Error::field).collect::<Vec<_>>(),
        ["status.typeChecking.expressionWarnings[0].warning"]
    );
}
