//! A kind that is made while the server runs goes through the same verbs as the built-in ones.

use serde_json::{Value, json};

use super::{definitions, started};
use crate::test_client::Client;

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Defines the kind: objects are stored in `example.com/v1`, and everything is kept.
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
async fn a_custom_kind_goes_through_all_verbs_in_all_its_versions() {
    let (server, client) = started().await;
    assert_eq!(client.text("GET", WIDGETS).await, (404, "404 page not found\n".to_owned()));
    define(&client).await;

    let made = client.ok("POST", WIDGETS, widget("a")).await;
    assert_eq!((&made["metadata"]["generation"], &made["status"]), (&json!(1), &Value::Null));
    assert_eq!(made["spec"], widget("a")["spec"], "nothing is pruned");
    let one = format!("{WIDGETS}/a");
    let changed = client.ok("PATCH", &one, json!({"spec": {"size": 2}})).await;
    assert_eq!(changed["metadata"]["generation"], 2);
    let status =
        client.ok("PATCH", &format!("{one}/status"), json!({"status": {"n": 1}, "spec": null})).await;
    assert_eq!((&status["status"], &status["spec"]["size"]), (&json!({"n": 1}), &json!(2)));
    assert_eq!(status["metadata"]["generation"], 2, "the status is not what is desired");

    let other = client.ok("GET", &one.replace("/v1/", "/v2/"), Value::Null).await;
    assert_eq!((&other["apiVersion"], &other["spec"]), (&json!("example.com/v2"), &status["spec"]));
    let discovered = client.ok("GET", "/apis/example.com", Value::Null).await;
    assert_eq!(discovered["preferredVersion"]["version"], "v2");

    let (_, text) = client.text("GET", WIDGETS).await;
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["items"][0]["kind"], "Widget", "items of custom lists say what they are");
    assert_eq!(list["kind"], "WidgetList");
    assert!(text.starts_with(r#"{"apiVersion":"example.com/v1","items":[{"apiVersion":"#), "{text}");
    client.ok("DELETE", &one, Value::Null).await;
    assert_eq!(client.send("GET", &one, Value::Null).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_custom_kind_is_stored_as_json_in_the_order_of_names() {
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
async fn what_is_no_widget_is_refused() {
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
