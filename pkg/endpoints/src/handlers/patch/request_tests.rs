//! Tests of patches over an in-memory store.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

#[tokio::test]
async fn patch_types_change_the_object() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let cases = [
        (JSON_PATCH, json!([{"op": "add", "path": "/data/l", "value": "1"}]), json!({"k": "v", "l": "1"})),
        (MERGE, json!({"data": {"l": null}}), json!({"k": "v"})),
        (STRATEGIC, json!({"data": {"$patch": "replace", "m": "2"}}), json!({"m": "2"})),
    ];
    for (media_type, patch, expected) in cases {
        let response = client.patch(&path, media_type, &patch).await;
        assert_eq!((response.code, &response.json()["data"]), (200, &expected), "{media_type}");
    }
}

#[tokio::test]
async fn failed_test_operation_is_unprocessable() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let patch = json!([{"op": "test", "path": "/data/k", "value": "w"}]);
    let response = client.patch(&format!("{CONFIG_MAPS}/a"), JSON_PATCH, &patch).await;
    assert_eq!(response.code_and_reason(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn endlessly_nesting_patch_is_unprocessable() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let value = (0..100).fold(json!({}), |inner, _| json!({"a": inner}));
    let bottom = format!("/metadata/y{}/a", "/a".repeat(100));
    let mut operations = vec![json!({"op": "add", "path": "/metadata/x", "value": {}})];
    for _ in 0..550 {
        operations.push(json!({"op": "add", "path": "/metadata/y", "value": value}));
        operations.push(json!({"op": "move", "from": "/metadata/x", "path": bottom}));
        operations.push(json!({"op": "move", "from": "/metadata/y", "path": "/metadata/x"}));
    }
    let path = format!("{CONFIG_MAPS}/a?dryRun=All");
    let response = client.patch(&path, JSON_PATCH, &json!(operations)).await;
    assert_eq!(response.code_and_reason(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn patch_of_missing_object_is_not_found() {
    let client = Client::start().await;
    let response = client.patch(&format!("{CONFIG_MAPS}/a"), MERGE, &json!({})).await;
    assert_eq!(response.code_and_reason(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn patch_with_stale_revision_conflicts() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}});
    let response = client.patch(&format!("{CONFIG_MAPS}/a"), MERGE, &patch).await;
    assert_eq!(response.code_and_reason(), (409, "Conflict".to_owned()));
}

#[tokio::test]
async fn invalid_patch_of_missing_object_is_rejected() {
    let client = Client::start().await;
    for media_type in [JSON_PATCH, MERGE, STRATEGIC] {
        for body in ["", "{", "[] []", "a: b", "{}\u{b}"] {
            let headers = [("content-type", media_type)];
            let response = client.send("PATCH", &format!("{CONFIG_MAPS}/a"), &headers, body).await;
            assert_eq!(
                (response.code, &response.json()["message"]),
                (400, &json!("invalid JSON patch")),
                "{media_type} {body}"
            );
        }
    }
}

#[tokio::test]
async fn errors_quote_the_whole_patched_object() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let patch = json!({"data": {"l": 1}});
    let response = client.patch(&format!("{CONFIG_MAPS}/a"), MERGE, &patch).await;
    assert_eq!(response.code_and_reason(), (422, "Invalid".to_owned()));
    let message = response.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(r#"\"name\":\"a\""#), "{message}");
}

#[tokio::test]
async fn patch_without_version_is_bad_request() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let patch = json!([{"op": "remove", "path": "/apiVersion"}]);
    let response = client.patch(&format!("{CONFIG_MAPS}/a"), JSON_PATCH, &patch).await;
    assert_eq!(response.code_and_reason(), (400, "BadRequest".to_owned()));
}
