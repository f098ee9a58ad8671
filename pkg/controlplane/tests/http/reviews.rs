//! Tests of reviews: objects that are evaluated and not stored.

use jsontree::{Value, json};

use crate::client::{Client, JSON};

const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const ACCESS_OF_SELF: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

async fn review(client: &Client, path: &str, kind: &str, spec: Value) -> (u16, Value) {
    let group = if kind.ends_with("AccessReview") { "authorization" } else { "authentication" };
    let body = json!({"apiVersion": format!("{group}.k8s.io/v1"), "kind": kind, "spec": spec});
    let response = client.send("POST", path, &[("content-type", JSON)], body.to_string()).await;
    (response.code, response.json())
}

#[tokio::test]
async fn self_subject_review_returns_own_user() {
    let client = Client::start().await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, review) = review(&client, path, "SelfSubjectReview", Value::Null).await;
    assert_eq!(code, 201);
    let groups = review["status"]["userInfo"]["groups"].as_array().unwrap();
    assert!(groups.contains(&json!("system:masters")), "{review}");
}

#[tokio::test]
async fn access_reviews_use_chain_authorizer() {
    let client = Client::start().await;
    for (groups, allowed) in [(json!(["system:masters"]), true), (json!(["dev"]), false)] {
        let attributes = json!({"namespace": "a", "verb": "get", "resource": "pods"});
        let spec = json!({"user": "zed", "groups": groups, "resourceAttributes": attributes});
        let (code, review) = review(&client, ACCESS, "SubjectAccessReview", spec.clone()).await;
        assert_eq!((code, &review["status"]), (201, &json!({"allowed": allowed})));
        assert_eq!(review["spec"], spec);
    }
}

#[tokio::test]
async fn review_without_attributes_or_subject_is_invalid() {
    let client = Client::start().await;
    let attributes = json!({"verb": "get", "resource": "pods"});
    for (spec, field) in
        [(json!({"user": "zed"}), "spec"), (json!({"resourceAttributes": attributes}), "spec.user")]
    {
        let (code, status) = review(&client, ACCESS, "SubjectAccessReview", spec).await;
        assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!(field)));
    }
}

#[tokio::test]
async fn token_review_uses_chain_authenticator() {
    let client = Client::start().await;
    let api = "https://kubernetes.default.svc";
    let nobody = json!({"username": "nobody", "uid": "2", "groups": ["system:authenticated"]});
    let authenticated = json!({"authenticated": true, "user": nobody, "audiences": [api]});
    let unknown = json!({"error": "invalid bearer token", "user": {}});
    for (spec, status) in [
        (json!({"token": "nobody-token"}), &authenticated),
        (json!({"token": "nobody-token", "audiences": ["other", api]}), &authenticated),
        (json!({"token": "nobody-token", "audiences": ["other"]}), &unknown),
        (json!({"token": "no-token"}), &unknown),
    ] {
        let (code, review) = review(&client, TOKENS, "TokenReview", spec.clone()).await;
        assert_eq!((code, &review["status"], &review["spec"]), (201, status, &spec));
    }
    let (code, status) = review(&client, TOKENS, "TokenReview", json!({})).await;
    let message = "token is required for TokenReview in authentication";
    assert_eq!((code, &status["message"]), (400, &json!(message)));
}

#[tokio::test]
async fn reviews_are_never_tables() {
    let client = Client::start().await;
    let body = json!({"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}).to_string();
    for (kind, code) in [("Table", 406), ("PartialObjectMetadata", 201)] {
        let accept = format!("application/json;as={kind};g=meta.k8s.io;v=v1");
        let headers = [("content-type", JSON), ("accept", &accept)];
        assert_eq!(client.send("POST", ACCESS_OF_SELF, &headers, body.clone()).await.code, code, "{kind}");
    }
}
