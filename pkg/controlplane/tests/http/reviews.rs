//! Claims about reviews: objects that are questions, answered and not stored.

use serde_json::{Value, json};

use crate::client::{Client, JSON};

const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

async fn ask(client: &Client, path: &str, kind: &str, spec: Value) -> (u16, Value) {
    let group = if kind == "SelfSubjectReview" { "authentication" } else { "authorization" };
    let body = json!({"apiVersion": format!("{group}.k8s.io/v1"), "kind": kind, "spec": spec});
    let answer = client.send("POST", path, &[("content-type", JSON)], body.to_string()).await;
    (answer.code, answer.json())
}

#[tokio::test]
async fn who_asks_is_told_who_that_is() {
    let client = Client::start().await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, review) = ask(&client, path, "SelfSubjectReview", Value::Null).await;
    assert_eq!(code, 201);
    let groups = review["status"]["userInfo"]["groups"].as_array().unwrap();
    assert!(groups.contains(&json!("system:masters")), "{review}");
}

#[tokio::test]
async fn access_is_what_the_authorizer_of_the_chain_says() {
    let client = Client::start().await;
    for (groups, allowed) in [(json!(["system:masters"]), true), (json!(["dev"]), false)] {
        let attributes = json!({"namespace": "a", "verb": "get", "resource": "pods"});
        let spec = json!({"user": "zed", "groups": groups, "resourceAttributes": attributes});
        let (code, review) = ask(&client, ACCESS, "SubjectAccessReview", spec.clone()).await;
        assert_eq!((code, &review["status"]), (201, &json!({"allowed": allowed})));
        assert_eq!(review["spec"], spec);
    }
}

#[tokio::test]
async fn a_review_that_asks_nothing_or_about_nobody_is_invalid() {
    let client = Client::start().await;
    let attributes = json!({"verb": "get", "resource": "pods"});
    for (spec, field) in [
        (json!({"user": "zed"}), "spec.resourceAttributes"),
        (json!({"resourceAttributes": attributes}), "spec.user"),
    ] {
        let (code, status) = ask(&client, ACCESS, "SubjectAccessReview", spec).await;
        assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!(field)));
    }
}
