//! Tests of policies with a complete server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use jsontree::{Value, json};

use crate::test_client::Client;
use crate::test_cluster::TestServer;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const LIMITS: &str = "/apis/example.com/v1/limits";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Repeats a request until the response satisfies `holds`.
async fn until(client: &Client, request: (&str, &str, Value), holds: impl Fn(u16, &Value) -> bool) -> Value {
    let (method, path, body) = request;
    let polling = async {
        loop {
            let (code, response) = client.send(method, path, body.clone()).await;
            if holds(code, &response) {
                return response;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), polling).await.expect("nothing changed in time")
}

/// Creates a cluster-scoped CRD for limits, and one object.
async fn define(client: &Client, max: u64) {
    let properties = json!({
        "max": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}},
    });
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    let definition = json!({
        "metadata": {"name": "limits.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": "limits", "kind": "Limit"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    client.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let limit =
        json!({"kind": "Limit", "apiVersion": "example.com/v1", "metadata": {"name": "l"}, "max": max});
    until(client, ("POST", LIMITS, limit), |code, _| code == 201).await;
}

/// Creates a policy and its binding. `kind` is `validating` or `mutating`.
async fn bind(client: &Client, kind: &str, policy: Value, binding: Value) {
    client.ok("POST", &format!("{GROUP}/{kind}admissionpolicies"), policy).await;
    client.ok("POST", &format!("{GROUP}/{kind}admissionpolicybindings"), binding).await;
}

fn rule(group: &str, plural: &str) -> Value {
    let rule = json!({
        "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [plural],
    });
    json!({"resourceRules": [rule]})
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn params_of_custom_kinds_are_current() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    define(&client, 3).await;
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"},
        "matchConstraints": rule("", "configmaps"),
        "validations": [{"expression": "size(object.metadata.name) <= params.max",
                         "messageExpression": "params.kind + ' ' + string(params.max)"}],
    }});
    let binding = json!({"metadata": {"name": "b"}, "spec": {
        "policyName": "p", "validationActions": ["Deny"],
        "paramRef": {"name": "l", "parameterNotFoundAction": "Deny"},
    }});
    bind(&client, "validating", policy, binding).await;
    let dry = format!("{MAPS}?dryRun=All");
    let refused = until(&client, ("POST", &dry, map("long")), |code, _| code == 422).await;
    let head =
        "configmaps \"long\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    assert_eq!(refused["message"], format!("{head}Limit 3"));
    client.ok("POST", MAPS, map("m")).await;
    client.ok("PATCH", &format!("{LIMITS}/l"), json!({"max": 9})).await;
    until(&client, ("POST", &dry, map("long")), |code, _| code == 201).await;
    client.ok("DELETE", &format!("{LIMITS}/l"), Value::Null).await;
    let missing = until(&client, ("POST", &dry, map("a")), |code, _| code == 422).await;
    let why =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let head =
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    assert_eq!(missing["message"], format!("{head}{why}"));
    client.ok("DELETE", &format!("{GROUP}/validatingadmissionpolicybindings/b"), Value::Null).await;
    until(&client, ("POST", &dry, map("a")), |code, _| code == 201).await;
    server.stop().await;
}

#[tokio::test]
async fn custom_resources_are_merged_by_their_schema() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    define(&client, 3).await;
    let mutate = async |name: &str, expression: &str| {
        let mutation =
            json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
        let condition = json!({"name": "c", "expression": format!("object.metadata.name == '{name}'")});
        let policy = json!({"metadata": {"name": name}, "spec": {
            "matchConstraints": rule("example.com", "limits"), "matchConditions": [condition],
            "mutations": [mutation], "reinvocationPolicy": "Never",
        }});
        let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
        bind(&client, "mutating", policy, binding).await;
    };
    mutate("a", "Object{max: 7, metadata: Object.metadata{labels: {'b': 'c'}}}").await;
    mutate("d", "Object{list: ['x']}").await;
    let limit = |name: &str| json!({"kind": "Limit", "apiVersion": "example.com/v1", "metadata": {"name": name, "labels": {"a": "a"}}});
    let dry = format!("{LIMITS}?dryRun=All");
    let changed = until(&client, ("POST", &dry, limit("a")), |_, limit| limit["max"] == 7).await;
    assert_eq!(changed["metadata"]["labels"], json!({"a": "a", "b": "c"}));
    let refused = until(&client, ("POST", &dry, limit("d")), |code, _| code == 403).await;
    let expected = "policy 'd' with binding 'd' denied request: error applying patch: invalid ApplyConfiguration: may \
                    not mutate atomic arrays, maps or structs: .list";
    assert_eq!(refused["message"], expected);
    server.stop().await;
}

#[tokio::test]
async fn named_params_apply_at_once() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    let mutation = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {
        "expression": "Object{metadata: Object.metadata{labels: {'from': params.data.value}}}",
    }});
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "Secret"}, "matchConstraints": rule("", "configmaps"),
        "mutations": [mutation], "reinvocationPolicy": "Never",
    }});
    let binding = json!({"metadata": {"name": "b"}, "spec": {
        "policyName": "p",
        "paramRef": {"name": "s", "namespace": "default", "parameterNotFoundAction": "Deny"},
    }});
    bind(&client, "mutating", policy, binding).await;
    let dry = format!("{MAPS}?dryRun=All");
    until(&client, ("POST", &dry, map("a")), |code, _| code >= 400).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}, "data": {"value": "b25l"}});
    client.ok("POST", secrets, secret).await;
    let labels = async || client.ok("POST", &dry, map("a")).await["metadata"]["labels"].clone();
    assert_eq!(labels().await, json!({"from": "b25l"}));
    client.ok("PATCH", &format!("{secrets}/s"), json!({"data": {"value": "dHdv"}})).await;
    let next = json!({"from": "dHdv"});
    until(&client, ("POST", &dry, map("a")), |_, map| map["metadata"]["labels"] == next).await;
    client.ok("DELETE", &format!("{secrets}/s"), Value::Null).await;
    until(&client, ("POST", &dry, map("a")), |code, _| code >= 400).await;
    server.stop().await;
}

#[tokio::test]
async fn selected_params_follow_their_labels() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    define(&client, 3).await;
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"},
        "matchConstraints": rule("", "configmaps"),
        "validations": [{"expression": "size(object.metadata.name) <= params.max"}],
    }});
    let selector = json!({"matchLabels": {"on": "1"}});
    let binding = json!({"metadata": {"name": "b"}, "spec": {
        "policyName": "p", "validationActions": ["Deny"],
        "paramRef": {"selector": selector, "parameterNotFoundAction": "Allow"},
    }});
    bind(&client, "validating", policy, binding).await;
    let dry = format!("{MAPS}?dryRun=All");
    let label = async |name: &str, value: Value| {
        client.ok("PATCH", &format!("{LIMITS}/{name}"), json!({"metadata": {"labels": {"on": value}}})).await
    };
    label("l", json!("1")).await;
    until(&client, ("POST", &dry, map("long")), |code, _| code == 422).await;
    label("l", Value::Null).await;
    until(&client, ("POST", &dry, map("long")), |code, _| code == 201).await;
    let second = json!({"kind": "Limit", "apiVersion": "example.com/v1", "max": 2,
        "metadata": {"name": "m", "labels": {"on": "1"}}});
    client.ok("POST", LIMITS, second).await;
    until(&client, ("POST", &dry, map("long")), |code, _| code == 422).await;
    server.stop().await;
}
