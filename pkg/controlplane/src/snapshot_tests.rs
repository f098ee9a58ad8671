//! Tests of in-memory servers that start from a snapshot.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use jsontree::{Value, json};

use crate::config::{MemoryConfig, StorageConfig};
use crate::test_client::Client;
use crate::test_cluster::{TestDir, TestServer};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Timeout for a role to take effect.
const CHANGE_MAX: Duration = Duration::from_secs(30);
const SNAPSHOT: &str = "/embedded/snapshot";
/// Length of a CRD description, so that each CRD fills a part of the file.
const DESCRIPTION: usize = 70_000;

/// Writes a snapshot of a server with some CRDs and one object of each.
async fn snapshot(dir: &TestDir, plurals: &[&str]) -> PathBuf {
    let path = dir.path().join("snapshot");
    let file = path.clone();
    let server = TestServer::start_with(|config| config.snapshot_file = Some(file)).await.unwrap();
    let client = Client::of(&server);
    for plural in plurals {
        let kind = plural.to_uppercase();
        let schema = json!({"type": "object", "description": "x".repeat(DESCRIPTION)});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let names =
            json!({"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")});
        let spec = json!({"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]});
        let name = format!("{plural}.example.com");
        client.make(DEFINITIONS, json!({"metadata": {"name": name}, "spec": spec})).await;
        let objects = format!("/apis/example.com/v1/{plural}");
        client.eventually(&objects, 200).await;
        let object = json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "one"}});
        client.make(&objects, object).await;
    }
    server.stop().await;
    path
}

async fn begun_with(path: &Path) -> (TestServer, Client) {
    let from = Some(path.to_owned());
    let memory = StorageConfig::Memory(MemoryConfig { from, ..MemoryConfig::default() });
    let server = TestServer::start_with(|config| config.storage = memory).await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

#[tokio::test]
async fn crds_in_snapshot_are_served() {
    let dir = TestDir::new().unwrap();
    let path = snapshot(&dir, &["as", "bs", "cs"]).await;
    for first in ["/apis/example.com/v1/bs/one", "/apis/example.com/v1", "/openapi/v3/apis/example.com/v1"] {
        let (server, client) = begun_with(&path).await;
        client.ok("GET", first, Value::Null).await;
        let resources = client.get("/apis/example.com/v1").await;
        let names = resources["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["as", "bs", "cs"]);
        assert_eq!(client.text("GET", "/apis/example.com/v1/ds").await.0, 404);
        let object = json!({"apiVersion": "example.com/v1", "kind": "BS", "metadata": {"name": "two"}});
        client.make("/apis/example.com/v1/bs", object).await;
        let items = client.get("/apis/example.com/v1/bs").await["items"].as_array().unwrap().len();
        assert_eq!(items, 2);
        client.ok("DELETE", &format!("{DEFINITIONS}/bs.example.com"), Value::Null).await;
        // Its objects are deleted first.
        client.eventually(&format!("{DEFINITIONS}/bs.example.com"), 404).await;
        server.stop().await;
    }
}

/// Roles and references of pods are loaded on the first decision that needs them.
#[tokio::test]
async fn permissions_in_snapshot_apply_to_first_request() {
    let dir = TestDir::new().unwrap();
    let path = dir.path().join("snapshot");
    let file = path.clone();
    let server = TestServer::start_with(|config| config.snapshot_file = Some(file)).await.unwrap();
    let rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
    let role = json!({"metadata": {"name": "reader"}, "rules": rules});
    let binding = json!({
        "metadata": {"name": "nobody"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    });
    Client::of(&server).make("/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    Client::of(&server).make(rbac, binding).await;
    server.stop().await;
    let (server, admin) = begun_with(&path).await;
    let nobody = Client::of(&server).with_token(server.nobody_token());
    nobody.get("/api/v1/namespaces/default/configmaps").await;
    let refused = nobody.send("GET", "/api/v1/namespaces/default/secrets", Value::Null).await;
    assert_eq!(refused.0, 403, "{}", refused.1);
    admin.ok("DELETE", &format!("{rbac}/nobody"), Value::Null).await;
    nobody.eventually("/api/v1/namespaces/default/configmaps", 403).await;
    server.stop().await;
}

/// Roles for diagnostics must not grant a copy of all secrets.
#[tokio::test]
async fn snapshot_needs_path_and_all_reads() {
    let server = TestServer::start_with(|config| config.snapshot_endpoint = true).await.unwrap();
    let admin = Client::of(&server);
    let path = |path: &str| json!({"nonResourceURLs": [path], "verbs": ["*"]});
    let all = |verbs: &[&str]| json!({"apiGroups": ["*"], "resources": ["*"], "verbs": verbs});
    let core = json!({"apiGroups": [""], "resources": ["*"], "verbs": ["*"]});
    let mut named = all(&["get", "list"]);
    named["resourceNames"] = json!(["a"]);
    let cases = [
        (json!([path("/debug/*")]), 403),
        (json!([path("*")]), 403),
        (json!([path("/embedded/*")]), 403),
        (json!([path("/embedded/snapshot")]), 403),
        (json!([all(&["*"])]), 403),
        (json!([all(&["*"]), path("/debug/*")]), 403),
        (json!([all(&["get", "watch"]), path("*")]), 403),
        (json!([all(&["list", "watch"]), path("*")]), 403),
        (json!([core, path("*")]), 403),
        (json!([named, path("*")]), 403),
        (json!([all(&["get", "list"]), path("/embedded/snapshot")]), 200),
        (json!([all(&["*"]), path("*")]), 200),
    ];
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
    const GROUP: &str = "rbac.authorization.k8s.io";
    for (number, (rules, _)) in cases.iter().enumerate() {
        let name = format!("user-{number}");
        let role = json!({"metadata": {"name": name}, "rules": rules});
        admin.make(&format!("{RBAC}/clusterroles"), role).await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": name}],
        });
        admin.make(&format!("{RBAC}/clusterrolebindings"), binding).await;
    }
    // The last binding is in effect only after all others.
    let code = async |name: &str, path: &str| {
        let user = Client::of(&server).with_header("impersonate-user", name.to_owned().leak());
        user.response("GET", path).await.status().as_u16()
    };
    let last = format!("user-{}", cases.len() - 1);
    let in_effect = async { while code(&last, SNAPSHOT).await != 200 {} };
    tokio::time::timeout(CHANGE_MAX, in_effect).await.unwrap();
    for (number, (rules, expected)) in cases.iter().enumerate() {
        assert_eq!(code(&format!("user-{number}"), SNAPSHOT).await, *expected, "{rules}");
    }
    assert_eq!(admin.response("GET", SNAPSHOT).await.status(), 200);
    assert_eq!(admin.response("GET", "/debug/snapshot").await.status(), 404);
    server.stop().await;
}

#[tokio::test]
async fn snapshot_is_not_served_by_default() {
    let server = TestServer::start().await.unwrap();
    assert_eq!(Client::of(&server).response("GET", SNAPSHOT).await.status(), 404);
    server.stop().await;
}

/// An unreadable CRD does not affect other CRDs.
#[tokio::test]
async fn crd_is_served_on_demand() {
    let dir = TestDir::new().unwrap();
    let path = snapshot(&dir, &["as", "bs", "cs"]).await;
    let mut bytes = std::fs::read(&path).unwrap();
    let key = b"customresourcedefinitions/bs.example.com";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
    bytes[at + 1_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (server, client) = begun_with(&path).await;
    for plural in ["cs", "as"] {
        assert_eq!(
            client.get(&format!("/apis/example.com/v1/{plural}/one")).await["metadata"]["name"],
            "one"
        );
    }
    assert_eq!(client.send("GET", &format!("{DEFINITIONS}/bs.example.com"), Value::Null).await.0, 500);
    client.ok("GET", &format!("{DEFINITIONS}/as.example.com"), Value::Null).await;
    server.stop().await;
}
