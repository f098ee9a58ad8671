//! Tests that authorization and execution use the same selectors, however a query is written.

use std::sync::Arc;

use apimachinery::user_info::GROUP_MASTERS;
use async_trait::async_trait;
use authorization::{Attributes, Authorizer, Decision};
use jsontree::Value;

use crate::testing::server::{CONFIG_MAPS, Client, JSON, Settings};

/// Authorizer that allows lists and deletions with a selector for the name `allowed`, and nothing else.
struct OneName;

#[async_trait]
impl Authorizer for OneName {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let named = match attributes.verb {
            "list" => attributes.name == "allowed",
            "deletecollection" => attributes.selectors.fields.exact_match("metadata.name") == Some("allowed"),
            _ => false,
        };
        if named || attributes.user.in_group(GROUP_MASTERS) {
            Decision::Allow(std::sync::Arc::default())
        } else {
            Decision::NoOpinion("no".to_owned())
        }
    }
}

async fn started() -> Client {
    let client = Client::start_with(Settings { authorizer: Arc::new(OneName), ..Settings::default() }).await;
    client.create_config_map("allowed", "a").await;
    client.create_config_map("secret", "a").await;
    client
}

/// Returns status code and names in the response for a user with access only to `allowed`.
async fn visible_names(client: &Client, method: &str, query: &str) -> (u16, Vec<String>) {
    let target = format!("{CONFIG_MAPS}?{query}");
    let response = client.send(method, &target, &[("authorization", "Bearer nobody")], "").await;
    let items = response.json()["items"].as_array().cloned().unwrap_or_default();
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or("").to_owned();
    (response.code, items.iter().map(name).collect())
}

#[tokio::test]
async fn list_is_limited_to_authorized_selector() {
    let client = started().await;
    for query in [
        "fieldSelector=metadata.name%3Dallowed",
        // Pairs with invalid escapes or semicolons are ignored by both authorization and execution.
        "fieldSelector=metadata.name!%3D%zz&fieldSelector=metadata.name%3Dallowed",
        "fieldSelector=metadata.name!%3Dx;y&fieldSelector=metadata.name%3Dallowed",
        "fieldSelector%zz=metadata.name!%3Dx&fieldSelector=metadata.name%3Dallowed",
        "watch=%zz&timeoutSeconds=1&fieldSelector=metadata.name%3Dallowed",
        // The first of several counts.
        "fieldSelector=metadata.name%3Dallowed&fieldSelector=metadata.name!%3Dallowed",
    ] {
        assert_eq!(visible_names(&client, "GET", query).await, (200, vec!["allowed".to_owned()]), "{query}");
    }
    for query in [
        "",
        "watch=1&fieldSelector=metadata.name%3Dallowed",
        "fieldSelector=metadata.name!%3Dallowed&fieldSelector=metadata.name%3Dallowed",
    ] {
        assert_eq!(visible_names(&client, "GET", query).await, (403, Vec::new()), "{query}");
    }
}

#[tokio::test]
async fn deletion_is_limited_to_authorized_selector() {
    let client = started().await;
    for query in ["", "labelSelector=app", "fieldSelector=metadata.name!%3Dallowed"] {
        assert_eq!(visible_names(&client, "DELETE", query).await, (403, Vec::new()), "{query}");
    }
    assert_eq!(visible_names(&client, "DELETE", "fieldSelector=metadata.name%3Dallowed").await.0, 200);
    let remaining = client.get(CONFIG_MAPS, JSON).await.json();
    let names: Vec<&str> = remaining["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["secret"]);
}
