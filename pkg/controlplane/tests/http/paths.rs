//! Tests of unusual spellings of paths.

use apimachinery::query::Query;
use apimachinery::request_info::request_info;
use jsontree::{Value, json};

use crate::client::{Client, JSON};

/// Upstream's answers, printed by `pkg/endpoints/differential`.
const UPSTREAM: &str = include_str!("paths.txt");

/// Serves the custom resources of the table.
async fn create_definitions(client: &Client) {
    for (plural, kind, scope) in [("widgets", "Widget", "Namespaced"), ("things", "Thing", "Cluster")] {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com", "scope": scope, "versions": [version],
                "names": {"plural": plural, "kind": kind},
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(client.post(definitions, &definition).await.code, 201);
        let resource = format!("/apis/example.com/v1/{plural}");
        while client.get(&resource, JSON).await.code != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Returns the class of a response, as in the table.
fn class(code: u16, body: &[u8]) -> String {
    let status: Option<Value> = serde_json::from_slice(body).ok();
    let message = status.as_ref().and_then(|status| status["message"].as_str()).unwrap_or_default();
    match (code, body) {
        (404, b"404 page not found\n") => "text".to_owned(),
        (404, b"") => "empty".to_owned(),
        (404, _) if message != "the server could not find the requested resource" => "served".to_owned(),
        (200, _) => "served".to_owned(),
        _ => code.to_string(),
    }
}

/// Escapes every byte after the first slash.
fn escaped(path: &str) -> String {
    path.bytes().skip(1).fold("/".to_owned(), |escaped, byte| format!("{escaped}%{byte:02x}"))
}

#[tokio::test]
async fn path_spellings_answer_like_upstream() {
    let client = Client::start().await;
    create_definitions(&client).await;
    let mut sender = client.connect().await;
    let mut wrong = Vec::new();
    for line in UPSTREAM.lines() {
        let [path, expected, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        for target in [path.to_owned(), escaped(path)] {
            let response = client.send_on(&mut sender, "GET", &target, &[], "").await;
            let actual = class(response.code, &response.body);
            if actual != expected {
                wrong.push(format!("{target}: {actual} instead of {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn authorized_attributes_equal_upstream() {
    for line in UPSTREAM.lines() {
        let [path, _, expected] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let info = request_info("GET", path, &Query::default()).unwrap();
        let parts = [&info.verb, &info.group, &info.version, &info.namespace, &info.resource];
        let parts = parts.into_iter().chain([&info.subresource, &info.name]);
        let attributes = parts.map(String::as_str).collect::<Vec<_>>().join(",");
        assert_eq!(if info.is_resource { &attributes } else { "-" }, expected, "{path}");
    }
}

#[tokio::test]
async fn empty_names_write_nothing() {
    let client = Client::start().await;
    client.config_map("x", "x").await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}).to_string();
    let response = client
        .send("POST", "/api/v1/namespaces//configmaps", &[("content-type", JSON)], object.clone())
        .await;
    let message = "ConfigMap \"x\" is invalid: metadata.namespace: Required value";
    assert_eq!((response.code, response.json()["message"].as_str()), (422, Some(message)));
    for (method, path, message) in [
        ("PUT", "/api/v1/namespaces//configmaps/x", "Namespace parameter required."),
        ("DELETE", "/api/v1/namespaces//configmaps/x", "Namespace parameter required."),
        ("DELETE", "/api/v1/namespaces//configmaps", "Namespace parameter required."),
        ("PUT", "/api/v1/namespaces//status", "name must be provided"),
        (
            "PUT",
            "/api/v1/namespaces/default/pods//status?fieldSelector=metadata.name=x",
            "name must be provided",
        ),
        ("GET", "/api/v1/namespaces/default/pods//log", "name must be provided"),
    ] {
        let body = if method == "PUT" { object.clone() } else { String::new() };
        let response = client.send(method, path, &[("content-type", JSON)], body).await;
        assert_eq!(
            (response.code, response.json()["message"].as_str()),
            (400, Some(message)),
            "{method} {path}"
        );
    }
}
