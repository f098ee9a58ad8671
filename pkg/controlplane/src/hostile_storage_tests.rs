//! Tests of complete servers over stores with values that no server of this release has written.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use component_base::features::Gate;
use jsontree::{Value, json};

use crate::config::StorageConfig;
use crate::test_client::Client;
use crate::test_cluster::{TestDir, TestServer};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

/// Prefixes of stored resources that tasks of the server follow, with their collections.
const FOLLOWED: [(&str, &str); 16] = [
    ("namespaces/", "/api/v1/namespaces"),
    ("secrets/default/", "/api/v1/namespaces/default/secrets"),
    ("services/endpoints/default/", "/api/v1/namespaces/default/endpoints"),
    ("services/specs/default/", "/api/v1/namespaces/default/services"),
    ("serviceaccounts/default/", "/api/v1/namespaces/default/serviceaccounts"),
    ("leases/default/", "/apis/coordination.k8s.io/v1/namespaces/default/leases"),
    ("roles/default/", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"),
    ("clusterroles/", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ("clusterrolebindings/", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    ("apiregistration.k8s.io/apiservices/", "/apis/apiregistration.k8s.io/v1/apiservices"),
    ("apiextensions.k8s.io/customresourcedefinitions/", DEFINITIONS),
    (
        "validatingwebhookconfigurations/",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    ("prioritylevelconfigurations/", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"),
    ("flowschemas/", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"),
    ("priorityclasses/", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    ("example.com/things/default/", THINGS),
];

async fn started(dir: PathBuf) -> (TestServer, Client) {
    let server = TestServer::start_with(|config| {
        config.storage = StorageConfig::Embedded { dir, compaction_interval: None, from: None };
        config.gates = config.gates.with(Gate::AllowUnsafeMalformedObjectDeletion, true);
    });
    let server = server.await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

fn definition(plural: &str, kind: &str, schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    })
}

/// Creates the custom resource `things`, which keeps every field.
async fn define_things(client: &Client) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    client.make(DEFINITIONS, definition("things", "Thing", schema)).await;
    client.eventually(THINGS, 200).await;
}

fn deep(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

fn deep_thing(metadata: &str) -> String {
    let metadata = format!(r#"{{"name":"deep","namespace":"default","uid":"u"{metadata}}}"#);
    let spec = deep(1000);
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Thing","metadata":{metadata},"spec":{spec}}}"#)
}

/// Waits until an object that no JSON library reads is gone.
async fn until_gone(client: &Client, path: &str) {
    let polling = async { while client.text("GET", path).await.0 != 404 {} };
    tokio::time::timeout(Duration::from_secs(30), polling).await.expect("it was not deleted in time");
}

async fn store(server: &TestServer, key: &str, value: impl Into<Bytes>) {
    let storage = server.storage();
    let revision = storage.get(key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
    storage.put(key, value.into(), revision, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_custom_resource_is_served_and_deleted() {
    let dir = TestDir::new().unwrap();
    let (server, client) = started(dir.path().join("store")).await;
    define_things(&client).await;
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "good"}});
    client.make(THINGS, thing).await;
    let key = "/registry/example.com/things/default/deep";
    store(&server, key, deep_thing(r#","finalizers":["example.com/f"]"#)).await;
    let path = format!("{THINGS}/deep");
    client.until_page_has(THINGS, r#""name":"deep""#).await;
    for at in [path.clone(), THINGS.to_owned(), format!("{THINGS}?watch=1&timeoutSeconds=1")] {
        let (code, text) = client.text("GET", &at).await;
        assert_eq!((code, text.contains(&deep(1000))), (200, true), "{at}");
    }
    let (code, _) = client.text("DELETE", &path).await;
    assert_eq!(code, 200, "the finalizer holds it");
    let patched = client.text_of("PATCH", &path, json!({"metadata": {"labels": {"l": "1"}}})).await;
    assert_eq!((patched.0, patched.1.contains(&deep(1000))), (200, true), "a merge patch keeps the rest");
    let patched = client.text_of("PATCH", &path, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(patched.0, 200, "{}", patched.1.get(..300).unwrap_or_default());
    assert_eq!(client.send("GET", &path, Value::Null).await.0, 404);
    store(&server, key, deep_thing("")).await;
    client.until_page_has(THINGS, r#""name":"deep""#).await;
    assert_eq!(client.text("DELETE", THINGS).await.0, 200);
    assert!(client.get(THINGS).await["items"].as_array().unwrap().is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_definition_blocks_no_other() {
    let dir = TestDir::new().unwrap();
    let (server, client) = started(dir.path().join("store")).await;
    define_things(&client).await;
    let opened = r#"{"type":"object","properties":{"a":"#;
    let schema = opened.repeat(300) + r#"{"type":"string"}"# + &"}}".repeat(300);
    let text = definition("deeps", "Deep", json!("SCHEMA")).to_string().replace(r#""SCHEMA""#, &schema);
    let text = text.replace(r#""name":"deeps.example.com""#, r#""name":"deeps.example.com","uid":"u""#);
    store(&server, "/registry/apiextensions.k8s.io/customresourcedefinitions/deeps.example.com", text).await;
    let path = format!("{DEFINITIONS}/deeps.example.com");
    client.until_page_has(DEFINITIONS, "deeps.example.com").await;
    for at in [&path, DEFINITIONS] {
        let (code, text) = client.text("GET", at).await;
        assert_eq!((code, text.contains(&schema)), (200, true), "{at}");
    }
    client.eventually("/apis/example.com/v1/namespaces/default/deeps", 200).await;
    assert_eq!(client.send("GET", THINGS, Value::Null).await.0, 200);
    let (code, text) = client.text("DELETE", &path).await;
    assert_eq!(code, 200, "{}", text.get(..300).unwrap_or_default());
    until_gone(&client, &path).await;
    assert_eq!(client.send("GET", THINGS, Value::Null).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_starts_over_hostile_values() {
    let dir = TestDir::new().unwrap();
    let (server, client) = started(dir.path().join("store")).await;
    define_things(&client).await;
    let values = [Bytes::new(), "k8s\0nonsense".into(), "{".into(), "k8s:enc:aescbc:v1:key:secret".into()];
    for (prefix, _) in FOLLOWED {
        for (number, value) in values.iter().enumerate() {
            store(&server, &format!("/registry/{prefix}bad-{number}"), value.clone()).await;
        }
    }
    server.stop().await;

    let (server, client) = started(dir.path().join("store")).await;
    assert_eq!(client.text("GET", "/readyz").await.0, 200);
    for (_, collection) in FOLLOWED {
        client.eventually(collection, 200).await;
        let response = client.response("GET", collection).await;
        let mut warnings = response.headers().get_all("warning").iter().map(|text| text.to_str().unwrap());
        assert!(warnings.any(|text| text.contains("4 stored object(s)")), "{collection}");
        let bad = format!("{collection}/bad-0");
        assert_eq!(client.send("GET", &bad, Value::Null).await.0, 500, "{bad}");
        let unread = format!("{bad}?ignoreStoreReadErrorWithClusterBreakingPotential=true");
        client.ok("DELETE", &unread, Value::Null).await;
        assert_eq!(client.send("GET", &bad, Value::Null).await.0, 404, "{bad}");
    }
    client.make("/api/v1/namespaces", json!({"metadata": {"name": "new"}})).await;
    client.make("/api/v1/namespaces/new/secrets", json!({"metadata": {"name": "s"}})).await;
    let (_, metrics) = client.text("GET", "/metrics").await;
    assert!(metrics.contains(r#"mainstay_watch_cache_unreadable_objects{group="",resource="namespaces"} 3"#));
    assert_eq!(client.text("GET", "/readyz").await.0, 200);
    server.stop().await;
}
