//! Tests of server-side apply over an in-memory store.

use jsontree::{Value, json};

use crate::testing::server::{CONFIG_MAPS, Client};

const APPLY: &str = "application/apply-patch+yaml";

fn configuration(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}})
}

fn path(options: &str) -> String {
    format!("{CONFIG_MAPS}/a?{options}")
}

#[tokio::test]
async fn apply_creates_missing_object() {
    let client = Client::start().await;
    let applied = client.patch(&path("fieldManager=m"), APPLY, &configuration("v")).await;
    assert_eq!((applied.code, &applied.json()["data"]), (201, &json!({"k": "v"})));
    assert_eq!(applied.json()["metadata"]["managedFields"][0]["operation"], "Apply");
}

#[tokio::test]
async fn field_of_other_manager_conflicts() {
    let client = Client::start().await;
    client.patch(&path("fieldManager=m"), APPLY, &configuration("v")).await;
    let conflict = client.patch(&path("fieldManager=n"), APPLY, &configuration("w")).await;
    assert_eq!(conflict.code_and_reason(), (409, "Conflict".to_owned()));
    assert_eq!(conflict.json()["details"]["causes"][0]["field"], ".data.k");
}

#[tokio::test]
async fn forced_apply_takes_ownership() {
    let client = Client::start().await;
    client.patch(&path("fieldManager=m"), APPLY, &configuration("v")).await;
    let applied = client.patch(&path("fieldManager=n&force=true"), APPLY, &configuration("w")).await;
    assert_eq!((applied.code, &applied.json()["data"]), (200, &json!({"k": "w"})));
}

#[tokio::test]
async fn omitted_field_is_removed() {
    let client = Client::start().await;
    client.patch(&path("fieldManager=m"), APPLY, &configuration("v")).await;
    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let applied = client.patch(&path("fieldManager=m"), APPLY, &empty).await;
    assert_eq!((applied.code, applied.json().get("data")), (200, None));
}

#[tokio::test]
async fn apply_needs_field_manager() {
    let client = Client::start().await;
    let response = client.patch(&path(""), APPLY, &configuration("v")).await;
    assert_eq!(response.code_and_reason(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn many_keys_can_be_applied_and_patched() {
    let client = Client::start().await;
    let mut large = configuration("v");
    large["data"] = (0..50_000).map(|key| (format!("k{key}"), "")).collect();
    let applied = client.patch(&path("fieldManager=m"), APPLY, &large).await;
    assert_eq!(applied.code, 201);
    large["data"]["k0"] = "w".into();
    assert_eq!(client.patch(&path("fieldManager=m"), APPLY, &large).await.code, 200);
    let strategic = "application/strategic-merge-patch+json";
    let patched = client.patch(&path(""), strategic, &json!({"data": {"k1": "w"}})).await;
    assert_eq!(patched.code, 200);
}

#[tokio::test]
async fn malformed_configuration_is_rejected() {
    async fn check(body: &'static str, expected: &str) {
        let client = Client::start().await;
        let headers = [("content-type", APPLY)];
        let response = client.send("PATCH", &path("fieldManager=m"), &headers, body).await;
        assert_eq!((response.code, &response.json()["message"]), (400, &json!(expected)), "{body}");
    }
    check("a: [", "error encoding patch: yaml: line 1: did not find expected node content").await;
    check(
        "{",
        "error decoding patch: error converting YAML to JSON: yaml: line 1: did not find expected node content",
    )
    .await;
    check(
        "[]",
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array \
         into Go value of type map[string]interface {}",
    )
    .await;
}
