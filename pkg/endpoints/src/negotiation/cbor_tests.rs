//! Tests of CBOR with and without its feature gate.

use jsontree::{Value, json};
use schema::cbor::{SELF_DESCRIBED, decode_untyped, untyped};

use crate::negotiation::Formats;
use crate::testing::server::{CONFIG_MAPS, Client, JSON, Settings};

const CBOR: &str = "application/cbor";

async fn with_gate() -> Client {
    let formats = Formats { cbor: true, ..Formats::default() };
    Client::start_with(Settings { formats, ..Settings::default() }).await
}

fn encoded(value: Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    untyped(&value, &mut bytes).unwrap();
    bytes
}

fn decoded(bytes: &[u8]) -> Value {
    assert!(bytes.starts_with(&SELF_DESCRIBED));
    Value::Object(decode_untyped(bytes).unwrap().unwrap())
}

#[tokio::test]
async fn without_the_gate_cbor_is_unknown() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    assert_eq!(client.get(&path, CBOR).await.code_and_reason(), (406, "NotAcceptable".to_owned()));
    let response = client.send("POST", CONFIG_MAPS, &[("content-type", CBOR)], encoded(json!({}))).await;
    assert_eq!(response.code_and_reason(), (415, "UnsupportedMediaType".to_owned()));
    assert_eq!(client.get("/api/v1", CBOR).await.code, 406);
}

#[tokio::test]
async fn objects_support_cbor_with_gate() {
    let client = with_gate().await;
    let headers = [("content-type", CBOR), ("accept", CBOR)];
    let object = json!({"metadata": {"name": "a", "labels": {"app": "x"}}, "data": {"k": "v"}});
    let created = client.send("POST", CONFIG_MAPS, &headers, encoded(object)).await;
    assert_eq!((created.code, created.header("content-type")), (201, CBOR));
    let path = format!("{CONFIG_MAPS}/a");
    let plain = client.get(&path, JSON).await.json();
    assert_eq!(decoded(&created.body), plain);
    assert_eq!(decoded(&client.get(&path, CBOR).await.body), plain);
    let updated = client.send("PUT", &path, &headers, created.body).await;
    assert_eq!((updated.code, decoded(&updated.body)), (200, plain), "nothing has changed");

    let list = format!("{CONFIG_MAPS}?labelSelector=app");
    for accept in ["", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"] {
        let json = client.get(&list, &format!("{JSON}{accept}")).await.json();
        assert_eq!(decoded(&client.get(&list, &format!("{CBOR}{accept}")).await.body), json);
    }
    let table = format!("{CBOR};as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(client.get(&list, &table).await.code_and_reason(), (406, "NotAcceptable".to_owned()));
    let options = encoded(json!({"propagationPolicy": "Background"}));
    assert_eq!(client.send("DELETE", &path, &headers, options).await.code, 200);
    let missing = client.get(&path, CBOR).await;
    assert_eq!((missing.code, missing.header("content-type")), (404, CBOR));
    assert_eq!(decoded(&missing.body)["message"], "configmaps \"a\" not found");
}

#[tokio::test]
async fn cbor_apply_requires_gate() {
    let configuration =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let path = format!("{CONFIG_MAPS}/a?fieldManager=m");
    let headers = [("content-type", "application/apply-patch+cbor")];
    let refused = Client::start().await.send("PATCH", &path, &headers, encoded(configuration.clone())).await;
    assert_eq!(refused.code_and_reason(), (415, "UnsupportedMediaType".to_owned()));

    let client = with_gate().await;
    let applied = client.send("PATCH", &path, &headers, encoded(configuration)).await;
    assert_eq!((applied.code, &applied.json()["data"]), (201, &json!({"k": "v"})));
    let garbage = client.send("PATCH", &path, &headers, vec![0xff]).await;
    assert_eq!(garbage.code_and_reason(), (400, "BadRequest".to_owned()));
}

#[tokio::test]
async fn group_version_documents_support_cbor_with_gate() {
    let client = with_gate().await;
    for (path, code) in [("/api", 406), ("/apis", 406), ("/apis/apps", 406), ("/version", 406)] {
        assert_eq!(client.get(path, CBOR).await.code, code, "{path}");
    }
    for path in ["/api/v1", "/apis/apps/v1"] {
        let response = client.get(path, CBOR).await;
        assert_eq!((response.code, response.header("content-type")), (200, CBOR), "{path}");
        assert_eq!(decoded(&response.body), client.get(path, JSON).await.json(), "{path}");
    }
    let openapi = client.get("/openapi/v3/api/v1", JSON).await.json();
    let patch = &openapi["paths"]["/api/v1/nodes/{name}"]["patch"];
    assert!(patch["requestBody"]["content"]["application/apply-patch+cbor"].is_object());
    assert!(patch["responses"]["200"]["content"][CBOR].is_object());
}
