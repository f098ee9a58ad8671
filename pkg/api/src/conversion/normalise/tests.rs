//! Tests of normalization for storage.

use super::*;
use crate::conversion::kind::ROLLBACK_TO;
use crate::conversion::workload::TEMPLATE_GENERATION;
use jsontree::{Value, json};

fn normalised(group: &str, kind: &str, object: Value) -> Result<Value, String> {
    let Value::Object(mut object) = object else { return Err("not an object".to_owned()) };
    normalise_for_storage(group, kind, &mut object).map_err(|error| error.to_string())?;
    Ok(Value::Object(object))
}

fn check(group: &str, kind: &str, object: Value, expected: Value) {
    assert_eq!(normalised(group, kind, object), Ok(expected.clone()));
    assert_eq!(normalised(group, kind, expected.clone()), Ok(expected), "once more");
}

#[test]
fn the_service_account_has_two_names() {
    let pod = |spec: Value| json!({"spec": spec});
    let both = pod(json!({"serviceAccount": "a", "serviceAccountName": "a", "securityContext": {}}));
    check("", "Pod", pod(json!({"serviceAccount": "a"})), both.clone());
    check("", "Pod", pod(json!({"serviceAccountName": "a"})), both.clone());
    check("", "Pod", pod(json!({"serviceAccount": "b", "serviceAccountName": "a"})), both);
    check("", "Pod", pod(json!({})), pod(json!({"securityContext": {}})));
}

#[test]
fn templates_are_normalised_at_every_path() {
    let before = json!({
        "spec": {"serviceAccount": "a", "terminationGracePeriodSeconds": -1},
    });
    let after = json!({
        "spec": {"serviceAccount": "a", "serviceAccountName": "a", "securityContext": {}, "terminationGracePeriodSeconds": -1},
    });
    check("", "PodTemplate", json!({"template": before}), json!({"template": after}));
    for (group, kind) in
        [("", "ReplicationController"), ("apps", "ReplicaSet"), ("apps", "Deployment"), ("batch", "Job")]
    {
        check(group, kind, json!({"spec": {"template": before}}), json!({"spec": {"template": after}}));
    }
    let job = |template: &Value| json!({"spec": {"jobTemplate": {"spec": {"template": template}}}});
    check("batch", "CronJob", job(&before), job(&after));
    check("", "ReplicationController", json!({"spec": {}}), json!({"spec": {}}));
}

#[test]
fn a_pod_has_no_negative_grace_period() {
    check(
        "",
        "Pod",
        json!({"spec": {"terminationGracePeriodSeconds": -5, "securityContext": {}}}),
        json!({"spec": {"terminationGracePeriodSeconds": 1, "securityContext": {}}}),
    );
}

#[test]
fn pod_address_is_its_first_address() {
    let pod = |status: Value| json!({"spec": {"securityContext": {}}, "status": status});
    let check = |before: Value, after: Value| check("", "Pod", pod(before), pod(after));
    check(json!({}), json!({}));
    check(json!({"podIP": "1.1.1.1"}), json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}));
    check(
        json!({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]}),
        json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]}),
    );
    check(
        json!({"podIP": "2.2.2.2", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]}),
        json!({"podIP": "2.2.2.2", "podIPs": [{"ip": "2.2.2.2"}]}),
    );
}

#[test]
fn node_range_is_its_first_range() {
    let check =
        |before: Value, after: Value| check("", "Node", json!({"spec": before}), json!({"spec": after}));
    check(json!({}), json!({}));
    check(json!({"podCIDR": "a"}), json!({"podCIDR": "a", "podCIDRs": ["a"]}));
    check(json!({"podCIDRs": ["a", "b"]}), json!({"podCIDR": "a", "podCIDRs": ["a", "b"]}));
    check(json!({"podCIDR": "c", "podCIDRs": ["a", "b"]}), json!({"podCIDR": "c", "podCIDRs": ["c"]}));
}

#[test]
fn string_data_overwrites_data() {
    check(
        "",
        "Secret",
        json!({"data": {"a": "AA==", "b": "AA=="}, "stringData": {"b": "é", "c": ""}}),
        json!({"data": {"a": "AA==", "b": "w6k=", "c": ""}}),
    );
    check("", "Secret", json!({"stringData": {"a": "x"}}), json!({"data": {"a": "eA=="}}));
    check("", "Secret", json!({"stringData": {}}), json!({}));
}

#[test]
fn claim_templates_name_their_kind() {
    check(
        "apps",
        "StatefulSet",
        json!({"spec": {"volumeClaimTemplates": [{"kind": "X"}]}}),
        json!({"spec": {"volumeClaimTemplates": [{"kind": "PersistentVolumeClaim", "apiVersion": "v1"}]}}),
    );
}

#[test]
fn numbers_in_annotations_are_numbers() {
    let annotated = |name: &str, value: &str| json!({"metadata": {"annotations": {name: value}}});
    check("apps", "Deployment", annotated(ROLLBACK_TO, "+5"), annotated(ROLLBACK_TO, "5"));
    check("apps", "Deployment", annotated(ROLLBACK_TO, ""), json!({"metadata": {"annotations": {}}}));
    assert_eq!(
        normalised("apps", "Deployment", annotated(ROLLBACK_TO, "x")),
        Err(concat!(
            "failed to parse annotation[deprecated.deployment.rollback.to]=x as int64: ",
            r#"strconv.ParseInt: parsing "x": invalid syntax"#,
        )
        .to_owned())
    );
    check("apps", "DaemonSet", json!({}), annotated(TEMPLATE_GENERATION, "0"));
    check("apps", "DaemonSet", annotated(TEMPLATE_GENERATION, "007"), annotated(TEMPLATE_GENERATION, "7"));
    assert_eq!(
        normalised("apps", "DaemonSet", annotated(TEMPLATE_GENERATION, "")),
        Err(r#"strconv.ParseInt: parsing "": invalid syntax"#.to_owned())
    );
}

#[test]
fn budget_keeps_label_only_to_match_nothing() {
    let budget = |expressions: Value| json!({"spec": {"selector": {"matchExpressions": expressions}}});
    let reserved =
        json!({"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"});
    let other = json!({"key": "a", "operator": "Exists"});
    check("policy", "PodDisruptionBudget", budget(json!([reserved])), budget(json!([reserved])));
    check("policy", "PodDisruptionBudget", budget(json!([reserved, other])), budget(json!([other])));
}

#[test]
fn stored_autoscalers_carry_no_fields_in_annotations() {
    let annotated = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    check(
        "autoscaling",
        "HorizontalPodAutoscaler",
        annotated(json!({"autoscaling.alpha.kubernetes.io/metrics": "[]", "a": "b"})),
        annotated(json!({"a": "b"})),
    );
}
