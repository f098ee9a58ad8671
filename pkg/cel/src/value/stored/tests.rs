//! Expressions give the same results on the stored bytes of an object as on its JSON.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::compile::compile;
use crate::env::Environment;
use crate::eval::{PER_CALL_LIMIT, evaluate};
use crate::plan::Plan;
use crate::types::Type;
use crate::value::{message_value, text};
use jsontree::{Value as Json, json};
use schema::builtin;
use schema::proto::encode;

/// Evaluates an expression on an object's bytes, on its JSON, and on its tree.
fn all(api_version: &str, kind: &str, object: &Json, expression: &str) -> [String; 3] {
    let message = builtin::kind(api_version, kind).unwrap();
    let mut raw = Vec::new();
    let mut written = Vec::new();
    encode(message, object.as_object().unwrap(), &mut raw).unwrap();
    let mut typed = object.clone();
    typed["kind"] = kind.into();
    typed["apiVersion"] = api_version.into();
    schema::json_write::encode(message, typed.as_object().unwrap(), &mut written).unwrap();
    let tree: Json = serde_json::from_slice(&written).unwrap();
    let env = Environment::of_release(36).variable("object", Type::DYN);
    let plan = Plan::new(&compile(&env, expression).unwrap(), &["object"]).unwrap();
    let arena = Arena::new();
    let stored = Stored::new(MessageRef::new(message, &raw), api_version, kind, &arena);
    let as_tree = message_value(message, typed.as_object().unwrap(), &arena);
    let outcomes = [stored.value(), Value::tree(&tree), as_tree].map(|value| {
        let evaluation = evaluate(&plan, &[Some(value)], &arena, PER_CALL_LIMIT, None);
        format!("{:?} for {}", evaluation.result().map(text), evaluation.cost)
    });
    assert!(!stored.is_irregular(), "{expression}");
    outcomes
}

/// Asserts the result of an expression on bytes, and the same result on JSON.
fn check(api_version: &str, kind: &str, object: &Json, expression: &str, expected: &str) {
    let [stored, json, tree] = all(api_version, kind, object, expression);
    assert_eq!(stored, json, "{expression}");
    assert_eq!(tree, json, "{expression}");
    assert!(stored.starts_with(&format!("Ok(\"{expected}\")")), "{expression}: {stored}");
}

fn deployment() -> Json {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web", "empty": ""},
                     "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [
                {"name": "a", "image": "a:1", "resources": {"limits": {"memory": "1024Mi"}},
                 "env": [{"name": "A", "value": "x"}, {"name": "B"}],
                 "livenessProbe": {"httpGet": {"port": "http"}}},
                {"name": "b", "image": "b:1", "ports": [{"containerPort": 80}]},
            ]}},
        },
        "status": {"replicas": 3},
    })
}

#[test]
fn stored_members_equal_json_members() {
    for (expression, expected) in [
        ("object.kind + object.apiVersion", "Deploymentapps/v1"),
        ("object.spec.replicas <= 5 && has(object.spec.replicas)", "true"),
        ("has(object.spec.paused) || has(object.metadata.uid)", "false"),
        ("object.metadata.labels.app + object.metadata.labels['empty']", "web"),
        ("'none' in object.metadata.labels", "false"),
        ("size(object.metadata.labels)", "2"),
        ("object.metadata.creationTimestamp", "2024-01-02T03:04:05Z"),
        ("object.spec.template.spec.containers.all(c, c.image.startsWith(c.name))", "true"),
        ("object.spec.template.spec.containers[0].resources.limits.memory", "1Gi"),
        ("object.spec.template.spec.containers[0].livenessProbe.httpGet.port", "http"),
        ("object.spec.template.spec.containers[0].env.exists(e, !has(e.value))", "true"),
        ("object.spec.template.spec.containers[1].ports[0].containerPort", "80"),
        ("object.?spec.?nothing.orValue('x')", "x"),
    ] {
        check("apps/v1", "Deployment", &deployment(), expression, expected);
    }
}

#[test]
fn zero_members_written_by_go_are_present() {
    for (expression, expected) in [
        ("has(object.spec.strategy)", "true"),
        ("has(object.spec.template.spec.containers[1].resources)", "true"),
        ("size(object.spec.template.spec.containers[1].resources)", "0"),
        ("has(object.metadata.creationTimestamp)", "true"),
        ("has(object.spec.template.metadata.creationTimestamp)", "false"),
    ] {
        check("apps/v1", "Deployment", &deployment(), expression, expected);
    }
    let pod =
        json!({"spec": {"containers": [{"name": "a"}]}, "status": {"containerStatuses": [{"name": "a"}]}});
    check("v1", "Pod", &pod, "object.status.containerStatuses[0].restartCount", "0");
    check("v1", "Pod", &pod, "object.status.containerStatuses[0].imageID == ''", "true");
    check("v1", "Pod", &json!({"spec": {}}), "object.spec.containers == null", "true");
    let role = json!({"metadata": {"name": "r"}});
    check("rbac.authorization.k8s.io/v1", "Role", &role, "has(object.rules) && object.rules == null", "true");
}

#[test]
fn whole_objects_equal_their_json() {
    for expression in ["object.map(k, k).join(',')", "object.spec == object.spec"] {
        let [stored, json, tree] = all("apps/v1", "Deployment", &deployment(), expression);
        assert_eq!((&stored, &tree), (&json, &json));
    }
    let secret = json!({"data": {"a": "aGVsbG8="}});
    check("v1", "Secret", &secret, "object.data.a", "aGVsbG8=");
}

#[test]
fn unreadable_members_are_recorded() {
    let arena = Arena::new();
    let message = builtin::kind("v1", "ConfigMap").unwrap();
    let raw = b"\x12\x03\x0a\x01b\x12\x03\x0a\x01a";
    let stored = Stored::new(MessageRef::new(message, raw), "v1", "ConfigMap", &arena);
    let Value::Map(object) = stored.value() else { panic!("an object is a map") };
    assert!(!stored.is_irregular());
    let Some(Value::Map(data)) = object.field("data") else { panic!("there is data") };
    data.iter().count();
    assert!(stored.is_irregular());
}

#[test]
fn trees_parse_verbatim_json() {
    let object = json!({"metadata": {"managedFields": [{"manager": "m", "fieldsV1": "{\"f:data\":{\"f:a\":[1,2]}}"}]}});
    let message = builtin::kind("v1", "ConfigMap").unwrap();
    let expression = "object.metadata.managedFields[0].fieldsV1['f:data']['f:a'] == [1, 2]";
    let env = Environment::of_release(36).variable("object", Type::DYN);
    let plan = Plan::new(&compile(&env, expression).unwrap(), &["object"]).unwrap();
    let arena = Arena::new();
    let value = message_value(message, object.as_object().unwrap(), &arena);
    let evaluation = evaluate(&plan, &[Some(value)], &arena, PER_CALL_LIMIT, None);
    assert_eq!(evaluation.result().map(text), Ok("true".to_owned()));
}
