//! Tests of malicious headers and small bodies.

use jsontree::json;

use crate::client::{CONFIG_MAPS, Client, JSON};

/// The largest number of seconds that a client can write.
const FOREVER: &str = "9223372036854775807";

#[tokio::test]
async fn dot_segment_namespace_is_no_storage_key() {
    let client = Client::start().await;
    client.config_map("x", "x").await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}).to_string();
    let merge = ("content-type", "application/merge-patch+json");
    let apply = ("content-type", "application/apply-patch+yaml");
    for namespace in ["..", ".", "%2e%2e", "%2E"] {
        let decoded = if namespace.contains("..") || namespace.contains("%2e%2e") { ".." } else { "." };
        let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
        let element = format!("{collection}/x");
        let all = format!("/configmaps/{decoded}");
        let key = format!("/configmaps/{decoded}/x");
        for (method, path, header, body, key) in [
            ("GET", &element, merge, "", &key),
            ("GET", &collection, merge, "", &all),
            ("GET", &format!("{collection}?watch=1"), merge, "", &all),
            ("GET", &format!("{collection}?fieldSelector=metadata.name%3Dx"), merge, "", &key),
            ("GET", &format!("/api/v1/watch/namespaces/{namespace}/configmaps"), merge, "", &all),
            ("GET", &format!("/api/v1/watch/namespaces/{namespace}/configmaps/x"), merge, "", &key),
            ("DELETE", &element, merge, "", &key),
            ("DELETE", &collection, merge, "", &all),
            ("PUT", &element, ("content-type", JSON), &object, &key),
            ("PATCH", &element, merge, "{}", &key),
            ("PATCH", &format!("{element}?fieldManager=m"), apply, &object, &key),
            (
                "GET",
                &format!("/api/v1/namespaces/{namespace}/pods/x/log"),
                merge,
                "",
                &key.replace("configmaps", "pods"),
            ),
        ] {
            let response = client.send(method, path, &[header], body.to_owned()).await;
            let message = response.json()["message"].as_str().unwrap_or("").to_owned();
            assert_eq!((response.code, message), (500, format!("invalid key: {key:?}")), "{method} {path}");
        }
        let posted = client.send("POST", &collection, &[("content-type", JSON)], object.clone()).await;
        assert!(posted.code >= 400, "POST {collection}: {}", posted.code);
    }
}

#[tokio::test]
async fn dot_segment_name_is_no_storage_key() {
    let client = Client::start().await;
    for (name, decoded, why) in [
        ("..", "..", "may not be '..'"),
        ("%2e", ".", "may not be '.'"),
        ("a%25b", "a%b", "may not contain '%'"),
    ] {
        for collection in [CONFIG_MAPS, "/api/v1/namespaces", "/api/v1/nodes"] {
            for method in ["GET", "DELETE"] {
                let path = format!("{collection}/{name}");
                let response = client.send(method, &path, &[], "").await;
                let message = response.json()["message"].as_str().unwrap_or("").to_owned();
                let expected = format!("Name parameter invalid: {decoded:?}: {why}");
                assert_eq!((response.code, message), (400, expected), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn huge_watch_timeout_is_accepted() {
    let client = Client::start().await;
    for path in [
        format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={FOREVER}"),
        format!("/api/v1/watch/configmaps?timeoutSeconds={FOREVER}"),
        format!("/api/v1/watch/configmaps?timeoutSeconds=-{FOREVER}&resourceVersion=0&limit={FOREVER}"),
        format!(
            "/api/v1/watch/namespaces/default/configmaps/x?timeoutSeconds={FOREVER}&allowWatchBookmarks=1"
        ),
    ] {
        assert_eq!(client.open("GET", &path, &[], "").await.status(), 200, "{path}");
    }
    for path in [
        format!("{CONFIG_MAPS}?timeoutSeconds={FOREVER}&limit={FOREVER}"),
        format!("{CONFIG_MAPS}?timeoutSeconds=-{FOREVER}&limit=-{FOREVER}"),
        format!("{CONFIG_MAPS}?timeout=2562047h47m16s"),
    ] {
        assert_eq!(client.send("GET", &path, &[], "").await.code, 200, "{path}");
    }
}

#[tokio::test]
async fn unreadable_query_deletes_nothing() {
    let client = Client::start().await;
    client.config_map("x", "x").await;
    for (query, why) in [
        ("labelSelector=%zz", "invalid URL escape \"%zz\""),
        ("labelSelector=a;b", "invalid semicolon separator in query"),
    ] {
        let response = client.send("DELETE", &format!("{CONFIG_MAPS}?{query}"), &[], "").await;
        assert_eq!((response.code, response.json()["message"].as_str()), (400, Some(why)));
    }
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/x"), JSON).await.code, 200);
}

#[tokio::test]
async fn unreadable_content_type_is_not_json() {
    let client = Client::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}).to_string();
    for content_type in ["application/json;;;=", "application/json; a", "\u{e9}", "application/json\u{e9}"] {
        let response =
            client.send("POST", CONFIG_MAPS, &[("content-type", content_type)], object.clone()).await;
        assert_eq!(response.code, 415, "{content_type}");
    }
    assert_eq!(client.get(CONFIG_MAPS, "\u{e9}").await.code, 406);
}

#[tokio::test]
async fn invalid_resource_version_is_always_rejected() {
    let client = Client::start().await;
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "resourceVersion": "abc"}});
    let path = format!("{CONFIG_MAPS}/x?fieldManager=m");
    let apply = ("content-type", "application/apply-patch+yaml");
    for _ in 0..2 {
        let response = client.send("PATCH", &path, &[apply], object.to_string()).await;
        let message = response.json()["message"].as_str().unwrap_or("").to_owned();
        let expected = "strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned();
        assert_eq!((response.code, message), (500, expected));
        // Afterwards with an existing object.
        if client.get(&format!("{CONFIG_MAPS}/x"), JSON).await.code == 404 {
            client.config_map("x", "x").await;
        }
    }
}

#[tokio::test]
async fn invalid_query_of_deletion_is_bad_request() {
    let client = Client::start().await;
    client.config_map("a", "x").await;
    let query = "fieldSelector=metadata.name!%3D%zz&fieldSelector=metadata.name%3Da";
    let response = client.send("DELETE", &format!("{CONFIG_MAPS}?{query}"), &[], "").await;
    assert_eq!(response.failure(), (400, "BadRequest".to_owned()));
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a"), JSON).await.code, 200);
}
