//! Tests of reads over an in-memory store.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn missing_object_is_not_found() {
    let client = Client::start().await;
    let response = client.get(&format!("{CONFIG_MAPS}/a"), JSON).await;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "configmaps \"a\" not found", "reason": "NotFound",
        "details": {"name": "a", "kind": "configmaps"}, "code": 404,
    });
    assert_eq!((response.code, response.json()), (404, expected));
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
        let response = client.send(method, path, &[], "").await;
        assert_eq!(response.code_and_reason(), (405, "MethodNotAllowed".to_owned()), "{method} {path}");
    }
}
