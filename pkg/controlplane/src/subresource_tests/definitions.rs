//! Tests of CRDs with a complete server.

use jsontree::{Value, json};
use tokio::task::yield_now;
use tokio::time::{Duration, timeout};

use super::started;
use crate::test_client::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Timeout for a CRD to reach a state, which takes milliseconds on an idle machine.
const WAIT_MAX: Duration = Duration::from_secs(30);

fn definition(plural: &str, kind: &str, spec: Value) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
        },
    });
    for (name, value) in spec.as_object().unwrap() {
        definition["spec"][name] = value.clone();
    }
    definition
}

/// Builds a spec with one version and this schema for `spec`.
fn one_version(schema: Value) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": schema, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    json!({"versions": [{
        "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }]})
}

/// Waits until a CRD satisfies `holds`; `None` means that it does not exist.
pub(super) async fn until(client: &Client, plural: &str, holds: impl Fn(Option<&Value>) -> bool) {
    let path = format!("{DEFINITIONS}/{plural}.example.com");
    let polling = async {
        loop {
            let (code, definition) = client.send("GET", &path, Value::Null).await;
            if holds((code == 200).then_some(&definition)) {
                return;
            }
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, polling).await.expect("the definition did not change in time");
}

/// Returns status and reason of a condition.
fn condition(definition: &Value, kind: &str) -> Option<(String, String)> {
    let conditions = definition["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == kind)?;
    let text = |name: &str| condition[name].as_str().unwrap().to_owned();
    Some((text("status"), text("reason")))
}

fn is(definition: Option<&Value>, kind: &str, status: &str, reason: &str) -> bool {
    let actual = definition.and_then(|definition| condition(definition, kind));
    actual == Some((status.to_owned(), reason.to_owned()))
}

/// Creates a CRD in `example.com` and waits until it is established.
pub(super) async fn define(client: &Client, plural: &str, kind: &str, spec: Value) {
    client.make(DEFINITIONS, definition(plural, kind, spec)).await;
    until(client, plural, |definition| is(definition, "Established", "True", "InitialNamesAccepted")).await;
}

fn objects(plural: &str) -> String {
    format!("/apis/example.com/v1/namespaces/default/{plural}")
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn custom_objects_are_pruned_defaulted_and_validated() {
    let (server, client) = started().await;
    let schema = json!({"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "default": "red"},
    }});
    define(&client, "widgets", "Widget", one_version(schema)).await;
    let path = objects("widgets");
    let created = client.ok("POST", &path, object("Widget", "a", json!({"size": 1, "nope": 2}))).await;
    assert_eq!(created["spec"], json!({"size": 1, "color": "red"}));
    let (code, status) = client
        .send("POST", &format!("{path}?fieldValidation=Strict"), object("Widget", "b", json!({"nope": 2})))
        .await;
    assert_eq!(code, 400);
    assert!(status["message"].as_str().unwrap().ends_with(r#"unknown field "spec.nope""#), "{status}");
    let (code, status) = client.send("POST", &path, object("Widget", "b", json!({"size": 0}))).await;
    let message = r#"Widget.example.com "b" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"#;
    assert_eq!((code, &status["message"]), (422, &json!(message)));
    server.stop().await;
}

#[tokio::test]
async fn oversized_defaults_are_rejected_and_never_stored() {
    let (server, client) = started().await;
    let items =
        |item: Value| json!({"type": "object", "properties": {"list": {"type": "array", "items": item}}});
    define(&client, "widgets", "Widget", one_version(items(json!({"type": "object"})))).await;
    let path = objects("widgets");
    let many = json!({"list": vec![json!({}); 5_000]});
    client.ok("POST", &path, object("Widget", "a", many.clone())).await;
    client.ok("POST", &path, object("Widget", "b", json!({"list": [{}]}))).await;
    let text = json!({"type": "string", "default": "d".repeat(10_000)});
    let with_defaults = one_version(items(json!({"type": "object", "properties": {"text": text}})));
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let mut now = client.get(&definition).await;
    now["spec"]["versions"] = with_defaults["versions"].clone();
    client.ok("PUT", &definition, now).await;
    let filled_in = async {
        while client.get(&format!("{path}/b")).await["spec"]["list"][0]["text"].is_null() {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, filled_in).await.expect("the new defaults were not filled in in time");

    assert_eq!(client.get(&format!("{path}/a")).await["spec"], many);
    for (method, at, name) in [("POST", path.clone(), "c"), ("PUT", format!("{path}/b"), "b")] {
        let (code, status) = client.send(method, &at, object("Widget", name, many.clone())).await;
        assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{status}");
    }
    client.ok("DELETE", &format!("{path}/a"), Value::Null).await;
    server.stop().await;
}

#[tokio::test]
async fn create_response_contains_default_status() {
    let (server, client) = started().await;
    let mut spec = one_version(json!({"type": "object"}));
    spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = json!({
        "type": "object", "properties": {"phase": {"type": "string"}}, "default": {"phase": "Pending"},
    });
    define(&client, "widgets", "Widget", spec).await;
    let mut body = object("Widget", "a", json!({}));
    body["status"] = json!({"phase": "Wished"});
    let created = client.ok("POST", &objects("widgets"), body).await;
    assert_eq!(created["status"], json!({"phase": "Pending"}));
    assert_eq!(client.get(&format!("{}/a", objects("widgets"))).await, created);
    server.stop().await;
}

#[tokio::test]
async fn fields_of_request_version_are_validated_not_stored() {
    let (server, client) = started().await;
    let mut spec = one_version(json!({"type": "object", "properties": {
        "port": {"type": "integer", "minimum": 1}, "size": {"type": "integer"},
    }}));
    let mut stored = one_version(json!({"type": "object", "properties": {"size": {"type": "integer"}}}));
    spec["versions"][0]["storage"] = json!(false);
    stored["versions"][0]["name"] = json!("v2");
    spec["versions"].as_array_mut().unwrap().push(stored["versions"][0].clone());
    define(&client, "widgets", "Widget", spec).await;
    let path = objects("widgets");
    let body = |port: i32| object("Widget", "a", json!({"port": port, "size": 1}));
    let (code, status) = client.send("POST", &path, body(0)).await;
    assert_eq!(code, 422, "{status}");
    let created = client.ok("POST", &path, body(1)).await;
    assert_eq!(created["spec"], json!({"size": 1}));
    let owned = &created["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert_eq!(owned, &json!({".": {}, "f:port": {}, "f:size": {}}));
    server.stop().await;
}

#[tokio::test]
async fn validation_rules_apply_except_to_unchanged_fields() {
    let (server, client) = started().await;
    let rule = |rule: &str| json!([{"rule": rule}]);
    let with_rules = |rules: Value| {
        one_version(json!({
            "type": "object", "properties": {
                "a": {"type": "integer", "x-kubernetes-validations": rules}, "b": {"type": "integer"},
            },
        }))
    };
    define(&client, "widgets", "Widget", with_rules(rule("self < 10"))).await;
    let path = objects("widgets");
    client.make(&path, object("Widget", "a", json!({"a": 5}))).await;
    let (code, status) = client.send("POST", &path, object("Widget", "b", json!({"a": 10}))).await;
    let message = r#"Widget.example.com "b" is invalid: spec.a: Invalid value: 10: failed rule: self < 10"#;
    assert_eq!((code, &status["message"]), (422, &json!(message)));

    let stricter = json!({"spec": with_rules(rule("self < 3"))});
    client.ok("PATCH", &format!("{DEFINITIONS}/widgets.example.com"), stricter).await;
    let refused = async {
        while client.send("PATCH", &format!("{path}/a?dryRun=All"), json!({"spec": {"a": 4}})).await.0 != 422
        {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, refused).await.expect("the new rule does not count");
    let changed = client.ok("PATCH", &format!("{path}/a"), json!({"spec": {"b": 1}})).await;
    assert_eq!(changed["spec"], json!({"a": 5, "b": 1}));
    server.stop().await;
}

#[tokio::test]
async fn crd_for_crds_has_no_effect() {
    let (server, client) = started().await;
    let path = format!("{DEFINITIONS}/customresourcedefinitions.apiextensions.k8s.io");
    let mut body = definition(
        "customresourcedefinitions",
        "CustomResourceDefinition",
        one_version(json!({"type": "object"})),
    );
    body["metadata"] = json!({
        "name": "customresourcedefinitions.apiextensions.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, test-only"},
    });
    body["spec"]["group"] = json!("apiextensions.k8s.io");
    body["spec"]["scope"] = json!("Cluster");
    client.ok("POST", DEFINITIONS, body).await;
    let established = async {
        while !is(
            Some(&client.ok("GET", &path, Value::Null).await),
            "Established",
            "True",
            "InitialNamesAccepted",
        ) {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, established).await.unwrap();
    define(&client, "widgets", "Widget", one_version(json!({"type": "object"}))).await;
    client.ok("DELETE", &path, Value::Null).await;
    let deleted = async {
        while client.send("GET", &path, Value::Null).await.0 != 404 {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, deleted).await.unwrap();
    until(&client, "widgets", |definition| {
        definition.is_some_and(|definition| !definition["metadata"]["deletionTimestamp"].is_string())
    })
    .await;
    define(&client, "gadgets", "Gadget", one_version(json!({"type": "object"}))).await;
    server.stop().await;
}

#[tokio::test]
async fn api_services_remain_while_crd_is_unreadable() {
    const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
    let (server, client) = started().await;
    let unreadable = "/registry/apiextensions.k8s.io/customresourcedefinitions/bogus";
    server.storage().put(unreadable, "bogus data".into(), 0, None).await.unwrap();
    // The earlier unreadable CRD was processed before this one is served.
    define(&client, "widgets", "Widget", one_version(json!({"type": "object"}))).await;
    let labels = json!({"kube-aggregator.kubernetes.io/automanaged": "true"});
    let spec = json!({
        "group": "stale.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
    });
    let stale = json!({"metadata": {"name": "v1.stale.example.com", "labels": labels}, "spec": spec});
    client.make(API_SERVICES, stale).await;
    let stale = format!("{API_SERVICES}/v1.stale.example.com");
    let served = format!("{API_SERVICES}/v1.example.com");
    for _ in 0..2 {
        client.eventually(&served, 200).await;
        let uid = client.get(&served).await["metadata"]["uid"].clone();
        client.ok("DELETE", &served, Value::Null).await;
        // It is re-created by the next full reconciliation.
        client.eventually(&served, 200).await;
        assert_ne!(client.get(&served).await["metadata"]["uid"], uid);
    }
    client.get(&stale).await;
    let written = server.storage().get(unreadable).await.unwrap().kv.unwrap().mod_revision;
    server.storage().delete(unreadable, written).await.unwrap();
    client.eventually(&stale, 404).await;
    server.stop().await;
}

#[tokio::test]
async fn names_go_to_first_crd_until_deletion() {
    let (server, client) = started().await;
    let any_object = || one_version(json!({"type": "object"}));
    define(&client, "widgets", "Widget", any_object()).await;
    client.make(DEFINITIONS, definition("gadgets", "Widget", any_object())).await;
    until(&client, "gadgets", |definition| is(definition, "NamesAccepted", "False", "ListKindConflict"))
        .await;
    until(&client, "gadgets", |definition| is(definition, "Established", "False", "NotAccepted")).await;
    assert_eq!(client.text("GET", &objects("gadgets")).await.0, 404);
    client.ok("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    until(&client, "gadgets", |definition| is(definition, "Established", "True", "InitialNamesAccepted"))
        .await;
    client.get(&objects("gadgets")).await;
    server.stop().await;
}

#[tokio::test]
async fn deleted_crd_waits_for_objects_with_finalizers() {
    let (server, client) = started().await;
    define(&client, "widgets", "Widget", one_version(json!({"type": "object"}))).await;
    let path = objects("widgets");
    let mut finalized = object("Widget", "kept", json!({}));
    finalized["metadata"]["finalizers"] = json!(["example.com/mine"]);
    client.make(&path, finalized).await;
    client.make(&path, object("Widget", "other", json!({}))).await;
    let deleted = client.ok("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    assert!(is(Some(&deleted), "Terminating", "True", "InstanceDeletionPending"), "{deleted}");
    until(&client, "widgets", |definition| {
        is(definition, "Terminating", "True", "InstanceDeletionInProgress")
    })
    .await;
    client.eventually(&format!("{path}/other"), 404).await;
    let refused = async {
        loop {
            let (code, status) = client.send("POST", &path, object("Widget", "new", json!({}))).await;
            if code == 403 {
                return status;
            }
            yield_now().await;
        }
    };
    let status = timeout(WAIT_MAX, refused).await.expect("objects are still made");
    let message = r#"widgets.example.com "new" is forbidden: create not allowed while custom resource definition is terminating"#;
    assert_eq!(status["message"], message);
    client.ok("PATCH", &format!("{path}/kept"), json!({"metadata": {"finalizers": null}})).await;
    until(&client, "widgets", |definition| definition.is_none()).await;
    let unserved = async {
        while client.text("GET", &path).await != (404, "404 page not found\n".to_owned()) {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, unserved).await.expect("the resource is still served");
    server.stop().await;
}

#[tokio::test]
async fn scale_uses_replica_path_of_crd() {
    let (server, client) = started().await;
    let mut spec = one_version(json!({"type": "object", "properties": {"count": {"type": "integer"}}}));
    spec["versions"][0]["subresources"]["scale"] = json!({
        "specReplicasPath": ".spec.count", "statusReplicasPath": ".status.there", "labelSelectorPath": ".status.selector",
    });
    define(&client, "widgets", "Widget", spec).await;
    let path = format!("{}/a", objects("widgets"));
    client.make(&objects("widgets"), object("Widget", "a", json!({}))).await;
    let (code, status) = client.send("GET", &format!("{path}/scale"), Value::Null).await;
    assert_eq!((code, status["reason"].as_str()), (500, Some("InternalError")), "{status}");
    client.ok("PATCH", &path, json!({"spec": {"count": 2}})).await;
    client.ok("PATCH", &format!("{path}/status"), json!({"status": {"there": 1, "selector": "a=b"}})).await;
    let scale = client.get(&format!("{path}/scale")).await;
    assert_eq!(
        (&scale["spec"], &scale["status"]),
        (&json!({"replicas": 2}), &json!({"replicas": 1, "selector": "a=b"}))
    );
    client.ok("PATCH", &format!("{path}/scale"), json!({"spec": {"replicas": 3}})).await;
    assert_eq!(client.get(&path).await["spec"]["count"], 3);
    let (code, _) = client.send("PATCH", &format!("{path}/scale"), json!({"spec": {"replicas": -1}})).await;
    assert_eq!(code, 422);
    server.stop().await;
}

#[tokio::test]
async fn invalid_ca_bundle_prevents_establishment() {
    let (server, client) = started().await;
    let mut spec = one_version(json!({"type": "object"}));
    spec["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/convert", "caBundle": "YmFk"},
    }});
    client.make(DEFINITIONS, definition("widgets", "Widget", spec)).await;
    until(&client, "widgets", |definition| is(definition, "Established", "False", "InvalidCABundle")).await;
    server.stop().await;
}

#[tokio::test]
async fn unserved_version_is_not_found() {
    let (server, client) = started().await;
    let mut spec = one_version(json!({"type": "object"}));
    let mut other = spec["versions"][0].clone();
    (other["name"], other["storage"]) = (json!("v2"), json!(false));
    spec["versions"].as_array_mut().unwrap().push(other);
    define(&client, "widgets", "Widget", spec.clone()).await;
    let path = objects("widgets").replace("/v1/", "/v2/");
    client.get(&path).await;
    assert_eq!(client.get("/apis/example.com").await["preferredVersion"]["version"], "v2");
    spec["versions"][1]["served"] = json!(false);
    client.ok("PATCH", &format!("{DEFINITIONS}/widgets.example.com"), json!({"spec": spec})).await;
    let unserved = async {
        while client.text("GET", &path).await.0 != 404 {
            yield_now().await;
        }
    };
    timeout(WAIT_MAX, unserved).await.expect("the version is still served");
    assert_eq!(client.get("/apis/example.com").await["preferredVersion"]["version"], "v1");
    server.stop().await;
}
