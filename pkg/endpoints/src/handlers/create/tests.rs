//! Tests of creation over an in-memory store.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn generated_name_starts_with_prefix() {
    let client = Client::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}});
    let created = client.post(CONFIG_MAPS, &object).await;
    let name = created.json()["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!((created.code, name.len()), (201, "a-".len() + 5));
    assert!(name.starts_with("a-"), "{name}");
}

#[tokio::test]
async fn second_create_already_exists() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(client.post(CONFIG_MAPS, &object).await.code_and_reason(), (409, "AlreadyExists".to_owned()));
}

#[tokio::test]
async fn dry_run_stores_nothing() {
    let client = Client::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(client.post(&format!("{CONFIG_MAPS}?dryRun=All"), &object).await.code, 201);
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a"), JSON).await.code, 404);
}

#[tokio::test]
async fn unknown_field_follows_field_validation() {
    let client = Client::start().await;
    let object =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "extra": 1});
    for (validation, code, warning) in [
        ("", 201, "299 - \"unknown field \\\"extra\\\"\""),
        ("Warn", 201, "299 - \"unknown field \\\"extra\\\"\""),
        ("Ignore", 201, ""),
        ("Strict", 400, ""),
    ] {
        let path = format!("{CONFIG_MAPS}?fieldValidation={validation}");
        let name = format!("a{}", validation.to_lowercase());
        let response = client.post(&path, &object(&name)).await;
        assert_eq!((response.code, response.header("warning")), (code, warning), "{validation:?}");
    }
}

#[tokio::test]
async fn strict_rejection_names_field() {
    let client = Client::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "extra": 1});
    let response = client.post(&format!("{CONFIG_MAPS}?fieldValidation=Strict"), &object).await;
    let message = response.json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("strict decoding error: unknown field \"extra\""), "{message}");
}

#[tokio::test]
async fn system_metadata_of_clients_is_ignored() {
    let client = Client::start().await;
    let metadata = json!({
        "name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x",
    });
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let created = client.post(CONFIG_MAPS, &object).await.json();
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "selfLink"] {
        assert_ne!(created["metadata"].get(name), metadata.get(name), "{name}");
    }
}
