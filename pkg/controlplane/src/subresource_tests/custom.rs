//! Tests of all verbs with custom resources, with a complete server.

use component_base::features::Gate;
use jsontree::{Value, json};

use super::{definitions, started};
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Creates the CRD. Objects are stored in `example.com/v1`, and unknown fields are preserved.
async fn define(client: &Client) {
    let version = |name: &str, storage: bool| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        })
    };
    let spec = json!({"versions": [version("v1", true), version("v2", false)]});
    definitions::define(client, "widgets", "Widget", spec).await;
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"l": name}},
        "spec": {"size": 1, "parts": [{"b": 1.5, "a": null}]}, "status": {"ready": true},
    })
}

#[tokio::test]
async fn custom_kind_supports_all_verbs_and_versions() {
    let (server, client) = started().await;
    assert_eq!(client.text("GET", WIDGETS).await, (404, "404 page not found\n".to_owned()));
    define(&client).await;

    let created = client.ok("POST", WIDGETS, widget("a")).await;
    assert_eq!((&created["metadata"]["generation"], &created["status"]), (&json!(1), &Value::Null));
    assert_eq!(created["spec"], widget("a")["spec"], "nothing is pruned");
    let path = format!("{WIDGETS}/a");
    let changed = client.ok("PATCH", &path, json!({"spec": {"size": 2}})).await;
    assert_eq!(changed["metadata"]["generation"], 2);
    let status =
        client.ok("PATCH", &format!("{path}/status"), json!({"status": {"n": 1}, "spec": null})).await;
    assert_eq!((&status["status"], &status["spec"]["size"]), (&json!({"n": 1}), &json!(2)));
    assert_eq!(status["metadata"]["generation"], 2, "the status is not what is desired");

    let other = client.ok("GET", &path.replace("/v1/", "/v2/"), Value::Null).await;
    assert_eq!((&other["apiVersion"], &other["spec"]), (&json!("example.com/v2"), &status["spec"]));
    let discovered = client.ok("GET", "/apis/example.com", Value::Null).await;
    assert_eq!(discovered["preferredVersion"]["version"], "v2");

    let (_, text) = client.text("GET", WIDGETS).await;
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["items"][0]["kind"], "Widget", "items of custom lists say what they are");
    assert_eq!(list["kind"], "WidgetList");
    assert!(text.starts_with(r#"{"apiVersion":"example.com/v1","items":[{"apiVersion":"#), "{text}");
    client.ok("DELETE", &path, Value::Null).await;
    assert_eq!(client.send("GET", &path, Value::Null).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn custom_kind_is_stored_as_sorted_json() {
    let (server, client) = started().await;
    define(&client).await;
    client
        .ok("POST", &WIDGETS.replace("/v1/", "/v2/"), {
            let mut widget = widget("a");
            widget["apiVersion"] = "example.com/v2".into();
            widget
        })
        .await;
    let stored = server.storage().get("/registry/example.com/widgets/default/a").await.unwrap();
    let text = String::from_utf8(stored.kv.unwrap().value.to_vec()).unwrap();
    assert!(
        text.starts_with(
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"creationTimestamp":"#
        )
    );
    assert!(text.ends_with("\"spec\":{\"parts\":[{\"a\":null,\"b\":1.5}],\"size\":1}}\n"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn other_kinds_are_rejected() {
    let (server, client) = started().await;
    define(&client).await;
    let refused = async |change: Value| {
        let mut widget = widget("a");
        for (name, value) in change.as_object().unwrap() {
            widget[name] = value.clone();
        }
        let (code, status) = client.send("POST", WIDGETS, widget).await;
        (code, status["message"].as_str().unwrap().to_owned())
    };
    let (code, message) = refused(json!({"kind": "Gadget"})).await;
    assert_eq!(code, 422);
    assert!(message.ends_with(r#"kind: Invalid value: "Gadget": must be Widget"#), "{message}");
    let (code, message) = refused(json!({"apiVersion": "example.com/v2"})).await;
    assert_eq!(code, 400);
    assert!(message.starts_with("the API version in the data (example.com/v2) does not match"), "{message}");
    assert_eq!(refused(json!({"metadata": {"name": "A"}})).await.0, 422);
    server.stop().await;
}

/// Builds a spec with these versions and schemas; the last one is the storage version.
fn versions(schemas: &[(&str, Value)]) -> Value {
    let last = schemas.len() - 1;
    let version = |(number, (name, schema)): (usize, &(&str, Value))| {
        json!({
            "name": name, "served": true, "storage": number == last,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {
                "status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
            },
        })
    };
    json!({"versions": schemas.iter().enumerate().map(version).collect::<Vec<_>>()})
}

#[tokio::test]
async fn non_storage_version_shows_its_own_name() {
    let (server, client) = started().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut spec = versions(&[("v1", any.clone()), ("v2", any)]);
    spec["names"] = json!({
        "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "ManyWidgets",
    });
    definitions::define(&client, "widgets", "Widget", spec).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    for version in ["v2", "v1", "v2", "v1"] {
        let path = WIDGETS.replace("/v1/", &format!("/{version}/"));
        let api_version = json!(format!("example.com/{version}"));
        assert_eq!(client.get(&format!("{path}/a")).await["apiVersion"], api_version);
        let list = client.get(&path).await;
        assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ManyWidgets"), &api_version));
        assert_eq!(list["items"][0]["apiVersion"], api_version);
    }
    server.stop().await;
}

#[tokio::test]
async fn type_fields_are_validated_per_version() {
    let (server, client) = started().await;
    let only_v1 = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string", "pattern": "^example.com/v1$"},
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
    }});
    let schemas = [("v1", only_v1.clone()), ("v2", only_v1)];
    definitions::define(&client, "widgets", "Widget", versions(&schemas)).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    let change = json!({"spec": {"size": 2}});
    client.ok("PATCH", &format!("{WIDGETS}/a"), change.clone()).await;
    let (code, status) =
        client.send("PATCH", &format!("{}/a", WIDGETS.replace("/v1/", "/v2/")), change).await;
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("apiVersion")));
    server.stop().await;
}

#[tokio::test]
async fn responses_have_defaults_of_storage_version() {
    let (server, client) = started().await;
    let schema = |name: &str| {
        let member = json!({"type": "string", "default": name});
        let spec = json!({"type": "object", "properties": {name: member}, "x-kubernetes-preserve-unknown-fields": true});
        json!({"type": "object", "properties": {"spec": spec}})
    };
    let schemas = [("v1", schema("mine")), ("v2", schema("stored"))];
    definitions::define(&client, "widgets", "Widget", versions(&schemas)).await;
    let mut sent = widget("a");
    sent["spec"] = json!({});
    let created = client.ok("POST", WIDGETS, sent).await;
    assert_eq!(created["spec"], json!({"mine": "mine", "stored": "stored"}));
    server.stop().await;
}

#[tokio::test]
async fn a_scale_is_not_merged_strategically() {
    let (server, client) = started().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definitions::define(&client, "widgets", "Widget", versions(&[("v1", any)])).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    let path = format!("{WIDGETS}/a/scale");
    let (code, status) = client.send("STRATEGIC", &path, json!({"spec": {"replicas": 2}})).await;
    assert_eq!(code, 415, "{status}");
    client.ok("PATCH", &path, json!({"spec": {"replicas": 2}})).await;
    server.stop().await;
}

/// Upstream's router checks the `Accept` header of built-in resources only.
#[tokio::test]
async fn a_custom_scale_accepts_any_kind_of_application_type() {
    let (server, client) = started().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definitions::define(&client, "widgets", "Widget", versions(&[("v1", any)])).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    let client = client.with_header("accept", "application/*");
    assert_eq!(client.get(&format!("{WIDGETS}/a/scale")).await["kind"], "Scale");
    assert_eq!(client.text("GET", "/api/v1/namespaces").await.0, 406);
    server.stop().await;
}

/// As in upstream, an applied Scale cannot be converted back, unless nothing changes.
#[tokio::test]
async fn scale_cannot_be_changed_by_apply() {
    let (server, client) = started().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definitions::define(&client, "widgets", "Widget", versions(&[("v1", any)])).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    client.ok("PATCH", &format!("{WIDGETS}/a/scale"), json!({"spec": {"replicas": 2}})).await;
    let path = format!("{WIDGETS}/a/scale?fieldManager=m&force=true");
    let scale = |replicas| {
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"replicas": replicas},
        })
    };
    let (code, status) = client.send("APPLY", &path, scale(3)).await;
    let expected = "failed to convert new object (default/a; autoscaling/v1, Kind=Scale) to proper version: request \
                    to convert CR to an invalid group/version: autoscaling/v1";
    assert_eq!((code, status["message"].as_str()), (500, Some(expected)));
    client.ok("APPLY", &path, scale(2)).await;
    server.stop().await;
}

#[tokio::test]
async fn malformed_scale_has_upstream_error() {
    let (server, client) = started().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definitions::define(&client, "widgets", "Widget", versions(&[("v1", any)])).await;
    client.ok("POST", WIDGETS, widget("a")).await;
    let path = format!("{WIDGETS}/a/scale");
    for malformed in
        [json!([]), json!({"spec": {"replicas": "x"}}), json!({"kind": "Pod", "apiVersion": "v1"})]
    {
        let (code, status) = client.send("PUT", &path, malformed).await;
        let expected = "no kind is registered for the type v1.Scale in scheme \
                        \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";
        assert_eq!((code, status["message"].as_str()), (400, Some(expected)));
    }
    server.stop().await;
}

#[tokio::test]
async fn object_with_invalid_metadata_can_be_deleted() {
    let (server, client) = started().await;
    define(&client).await;
    let mut odd = widget("a");
    odd["metadata"]["annotations"] = json!({"a": 42});
    odd["metadata"]["namespace"] = json!("default");
    odd["metadata"]["unknown"] = json!(1);
    let key = "/registry/example.com/widgets/default/a";
    server.storage().put(key, odd.to_string().into(), 0, None).await.unwrap();
    let path = format!("{WIDGETS}/a");
    client.eventually(&path, 200).await;
    let read = client.get(&path).await;
    assert_eq!(
        (&read["metadata"]["annotations"], &read["metadata"]["labels"]["l"]),
        (&Value::Null, &json!("a"))
    );
    client.ok("DELETE", &path, Value::Null).await;
    assert!(server.storage().get(key).await.unwrap().kv.is_none());
    server.stop().await;
}

#[tokio::test]
async fn objects_are_stored_in_cbor_with_gate() {
    let server = TestServer::start_with(|config| {
        config.gates = config.gates.with(Gate::CBORServingAndStorage, true);
    });
    let server = server.await.unwrap();
    let client = Client::of(&server);
    define(&client).await;
    let created = client.ok("POST", WIDGETS, widget("a")).await;
    let key = "/registry/example.com/widgets/default/a";
    let stored = server.storage().get(key).await.unwrap().kv.unwrap();
    assert!(stored.value.starts_with(b"\xd9\xd9\xf7"));
    let path = format!("{WIDGETS}/a");
    assert_eq!(client.get(&path).await, created);
    let again = client.ok("PUT", &path, created.clone()).await;
    assert_eq!(
        again["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"],
        "nothing changed"
    );
    // Written before the gate was enabled.
    let text = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b", "namespace": "default"}});
    server.storage().put(&key.replace("/a", "/b"), text.to_string().into(), 0, None).await.unwrap();
    client.eventually(&format!("{WIDGETS}/b"), 200).await;
    server.stop().await;
}
