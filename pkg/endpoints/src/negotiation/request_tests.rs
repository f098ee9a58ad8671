//! Tests of content negotiation.

use jsontree::json;

use crate::testing::server::{CONFIG_MAPS, Client, JSON, PROTOBUF};

#[tokio::test]
async fn response_has_requested_media_type() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    for (accept, code, expected) in [
        ("*/*", 200, JSON),
        (JSON, 200, JSON),
        ("application/yaml", 200, "application/yaml"),
        (PROTOBUF, 200, PROTOBUF),
        ("text/html, application/yaml;q=0.5", 200, "application/yaml"),
        ("text/html", 406, JSON),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 406, JSON),
        ("application/yaml;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 406, JSON),
        ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 406, JSON),
    ] {
        let response = client.get(&path, accept).await;
        assert_eq!((response.code, response.header("content-type")), (code, expected), "{accept}");
    }
}

#[tokio::test]
async fn errors_are_never_tables_and_default_to_json() {
    let client = Client::start().await;
    let path = format!("{CONFIG_MAPS}/none");
    for (accept, expected) in [
        ("application/yaml;as=Table;g=meta.k8s.io;v=v1", JSON),
        ("application/yaml;as=Table;g=meta.k8s.io;v=v1,application/yaml", "application/yaml"),
        (PROTOBUF, PROTOBUF),
    ] {
        let response = client.get(&path, accept).await;
        assert_eq!((response.code, response.header("content-type")), (404, expected), "{accept}");
    }
    let indented = client.get(&path, "application/json;as=Table;g=meta.k8s.io;v=v1").await.body;
    assert!(indented.starts_with(b"{\n  \"kind\": \"Status\"") && indented.ends_with(b"\n}"));
}

#[tokio::test]
async fn objects_are_no_longer_exported() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    for (query, code) in [("export=true", 400), ("export=", 400), ("export=0", 200), ("exports=true", 200)] {
        assert_eq!(client.get(&format!("{CONFIG_MAPS}/a?{query}"), JSON).await.code, code, "{query}");
    }
}

#[tokio::test]
async fn unknown_body_media_type_is_rejected() {
    let client = Client::start().await;
    let response = client.send("POST", CONFIG_MAPS, &[("content-type", "text/csv")], "a,b").await;
    assert_eq!(response.code_and_reason(), (415, "UnsupportedMediaType".to_owned()));
}

#[tokio::test]
async fn a_body_above_three_mebibytes_is_refused() {
    let client = Client::start().await;
    let body = vec![b' '; 3 * 1024 * 1024 + 1];
    let response = client.send("POST", CONFIG_MAPS, &[("content-type", JSON)], body).await;
    assert_eq!(response.code_and_reason(), (413, "RequestEntityTooLarge".to_owned()));
}

#[tokio::test]
async fn a_table_has_a_row_for_each_object() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    client.create_config_map("b", "y").await;
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let table = client.get(&format!("{CONFIG_MAPS}?labelSelector=app"), accept).await.json();
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    let names: Vec<_> = table["rows"].as_array().unwrap().iter().map(|row| &row["cells"][0]).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn partial_metadata_is_metadata_alone() {
    let client = Client::start().await;
    let created = client.create_config_map("a", "x").await;
    let accept = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1");
    let single = client.get(&format!("{CONFIG_MAPS}/a"), &accept("PartialObjectMetadata")).await.json();
    let expected = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"],
    });
    assert_eq!(single, expected);
    let path = format!("{CONFIG_MAPS}?labelSelector=app");
    let list = client.get(&path, &accept("PartialObjectMetadataList")).await.json();
    assert_eq!(list["items"][0]["metadata"], created["metadata"]);
}

#[tokio::test]
async fn large_responses_are_compressed_if_accepted() {
    let client = Client::start().await;
    for (name, bytes) in [("small", 1024), ("large", 129 * 1024)] {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"k": "x".repeat(bytes)},
        });
        assert_eq!(client.post(CONFIG_MAPS, &object).await.code, 201);
    }
    for (name, takes, expected) in
        [("small", "gzip", ""), ("large", "gzip", "gzip"), ("large", "identity", "")]
    {
        let path = format!("{CONFIG_MAPS}/{name}");
        let response = client.send("GET", &path, &[("accept-encoding", takes)], "").await;
        assert_eq!(response.header("content-encoding"), expected, "{name} {takes}");
        assert_eq!(response.body.starts_with(&[0x1f, 0x8b]), expected == "gzip", "{name} {takes}");
    }
}

#[tokio::test]
async fn protobuf_response_can_be_written_back() {
    let client = Client::start().await;
    let created = client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let read = client.get(&path, PROTOBUF).await.body;
    assert!(read.starts_with(b"k8s\0"));
    let headers = [("content-type", PROTOBUF), ("accept", JSON)];
    let updated = client.send("PUT", &path, &headers, read).await;
    assert_eq!((updated.code, updated.json()), (200, created), "nothing has changed");
}

#[tokio::test]
async fn media_type_of_patch_is_checked_first() {
    let client = Client::start().await;
    let path = format!("{CONFIG_MAPS}/a");
    for (content_type, code) in [("text/plain", 415), ("application/merge-patch+json", 406)] {
        let headers = [("content-type", content_type), ("accept", "image/png")];
        let response = client.send("PATCH", &path, &headers, "{}").await;
        assert_eq!(response.code, code, "{content_type}");
    }
}

#[tokio::test]
async fn pretty_answers_are_indented() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let plain = client.get(&path, JSON).await;
    let pretty = client.get(&format!("{path}?pretty=true"), JSON).await;
    assert!(pretty.body.starts_with(b"{\n  \"kind\": \"ConfigMap\",\n"));
    assert!(plain.body.starts_with(b"{\"kind\":\"ConfigMap\","));
    assert_eq!(pretty.json(), plain.json());
}
