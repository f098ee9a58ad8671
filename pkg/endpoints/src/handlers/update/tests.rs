//! Tests of updates over an in-memory store.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn stale_put_conflicts() {
    let client = Client::start().await;
    let path = format!("{CONFIG_MAPS}/a");
    let first = client.create_config_map("a", "x").await;
    let mut second = first.clone();
    second["data"] = json!({"k": "w"});
    assert_eq!(client.put(&path, &second).await.code, 200);
    assert_eq!(client.put(&path, &first).await.code_and_reason(), (409, "Conflict".to_owned()));
}

#[tokio::test]
async fn put_without_revision_overwrites() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let updated = client.put(&path, &object).await;
    assert_eq!((updated.code, updated.json().get("data")), (200, None));
}

#[tokio::test]
async fn unchanged_put_keeps_revision() {
    let client = Client::start().await;
    let created = client.create_config_map("a", "x").await;
    assert_eq!(client.put(&format!("{CONFIG_MAPS}/a"), &created).await.json(), created);
}

#[tokio::test]
async fn body_and_path_must_match() {
    let client = Client::start().await;
    let mut renamed = client.create_config_map("a", "x").await;
    renamed["metadata"]["name"] = json!("b");
    let path = format!("{CONFIG_MAPS}/a");
    let response = client.send("PUT", &path, &[("content-type", JSON)], renamed.to_string()).await;
    assert_eq!(response.code_and_reason(), (400, "BadRequest".to_owned()));
}
