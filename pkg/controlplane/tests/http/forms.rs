//! Tests of failures and warnings on the wire.

use jsontree::json;

use crate::client::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn missing_object_is_not_found() {
    let client = Client::start().await;
    let answer = client.get(&format!("{CONFIG_MAPS}/a"), JSON).await;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "configmaps \"a\" not found", "reason": "NotFound",
        "details": {"name": "a", "kind": "configmaps"}, "code": 404,
    });
    assert_eq!((answer.code, answer.json()), (404, expected));
    for path in ["/api/v1/nothings", "/apis/no.such.group/v1/things", "/nowhere"] {
        assert_eq!(client.get(path, JSON).await.code, 404, "{path}");
    }
}

#[tokio::test]
async fn unsupported_verb_is_method_not_allowed() {
    let client = Client::start().await;
    for (method, path) in [
        ("PUT", CONFIG_MAPS),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("DELETE", "/api/v1/namespaces"),
    ] {
        let answer = client.send(method, path, &[], "").await;
        assert_eq!(answer.failure(), (405, "MethodNotAllowed".to_owned()), "{method} {path}");
    }
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
        let answer = client.post(&path, &object(&name)).await;
        assert_eq!((answer.code, answer.header("warning")), (code, warning), "{validation:?}");
    }
}

#[tokio::test]
async fn a_strict_refusal_names_the_field() {
    let client = Client::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "extra": 1});
    let answer = client.post(&format!("{CONFIG_MAPS}?fieldValidation=Strict"), &object).await;
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("strict decoding error: unknown field \"extra\""), "{message}");
}

#[tokio::test]
async fn body_and_path_must_match() {
    let client = Client::start().await;
    let mut made = client.config_map("a", "x").await;
    made["metadata"]["name"] = json!("b");
    let path = format!("{CONFIG_MAPS}/a");
    let answer = client.send("PUT", &path, &[("content-type", JSON)], made.to_string()).await;
    assert_eq!(answer.failure(), (400, "BadRequest".to_owned()));
}

#[tokio::test]
async fn clients_do_not_set_the_systems_metadata() {
    let client = Client::start().await;
    let metadata = json!({
        "name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x",
    });
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let made = client.post(CONFIG_MAPS, &object).await.json();
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "selfLink"] {
        assert_ne!(made["metadata"].get(name), metadata.get(name), "{name}");
    }
}

#[tokio::test]
async fn put_needs_existing_namespace() {
    let client = Client::start().await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}})
        .to_string();
    for (namespace, code) in [("default", 201), ("nowhere", 404)] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/a");
        let answer = client.send("PUT", &path, &[("content-type", JSON)], lease.clone()).await;
        assert_eq!(answer.code, code, "{namespace}");
    }
}
