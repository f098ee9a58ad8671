//! Tests of deletion over an in-memory store.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn deleted_object_is_gone() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let response = client.delete(&path, &json!({})).await;
    assert_eq!((response.code, &response.json()["status"]), (200, &json!("Success")));
    assert_eq!(client.delete(&path, &json!({})).await.code_and_reason(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn deletion_with_other_uid_conflicts() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let response = client.delete(&path, &json!({"preconditions": {"uid": "other"}})).await;
    assert_eq!(response.code_and_reason(), (409, "Conflict".to_owned()));
    assert_eq!(client.get(&path, JSON).await.code, 200);
}

#[tokio::test]
async fn finalizer_delays_deletion() {
    let client = Client::start().await;
    let metadata = json!({"name": "a", "finalizers": ["example.com/wait"]});
    client.post(CONFIG_MAPS, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
    let path = format!("{CONFIG_MAPS}/a");
    assert!(client.delete(&path, &json!({})).await.json()["metadata"]["deletionTimestamp"].is_string());
    let mut object = client.get(&path, JSON).await.json();
    object["metadata"]["finalizers"] = json!([]);
    assert_eq!(client.put(&path, &object).await.code, 200);
    assert_eq!(client.get(&path, JSON).await.code, 404);
}

#[tokio::test]
async fn collection_deletion_follows_selector() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    client.create_config_map("b", "y").await;
    let path = format!("{CONFIG_MAPS}?labelSelector=app%3Dx");
    assert_eq!(client.delete(&path, &json!({})).await.code, 200);
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a"), JSON).await.code, 404);
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/b"), JSON).await.code, 200);
}
