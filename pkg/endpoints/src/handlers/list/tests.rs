//! Tests of lists over an in-memory store.

mod options;
mod selectors;

use crate::testing::server::{CONFIG_MAPS, Client, JSON};

#[tokio::test]
async fn chunks_add_up_to_the_list() {
    let client = Client::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        client.create_config_map(name, "x").await;
    }
    let mut names = Vec::new();
    let mut revisions = Vec::new();
    let mut token = String::new();
    loop {
        let path = format!("{CONFIG_MAPS}?labelSelector=app&limit=2&continue={token}");
        let page = client.get(&path, JSON).await.json();
        for item in page["items"].as_array().unwrap() {
            names.push(item["metadata"]["name"].as_str().unwrap().to_owned());
        }
        revisions.push(page["metadata"]["resourceVersion"].clone());
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    revisions.dedup();
    assert_eq!(revisions.len(), 1, "all chunks show one moment");
}

#[tokio::test]
async fn selectors_filter_lists() {
    let client = Client::start().await;
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        client.create_config_map(name, app).await;
    }
    for (query, expected) in [
        ("labelSelector=app%3Dx", &["a", "c"][..]),
        ("labelSelector=app%20in%20(x,y)", &["a", "b", "c"]),
        ("labelSelector=app%21%3Dx,app", &["b"]),
        ("fieldSelector=metadata.name%3Db", &["b"]),
        ("fieldSelector=metadata.name%3Db&labelSelector=app%3Dx", &[]),
    ] {
        let list = client.get(&format!("{CONFIG_MAPS}?{query}"), JSON).await.json();
        let names: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
        assert_eq!(names, expected, "{query}");
    }
}

#[tokio::test]
async fn list_errors_precede_table_errors() {
    let client = Client::start().await;
    let path = format!("{CONFIG_MAPS}?includeObject=x&continue=!!");
    let response = client.get(&path, "application/json;as=Table;v=v1;g=meta.k8s.io").await;
    let message = "invalid continue token: continue key is not valid: illegal base64 data at input byte 0";
    assert_eq!((response.code, response.json()["message"].as_str()), (400, Some(message)));
}

#[tokio::test]
async fn invalid_list_options_are_bad_requests() {
    let client = Client::start().await;
    for query in [
        "labelSelector=%3D%3D%3D",
        "fieldSelector=data.k%3Dv",
        "resourceVersion=x",
        "continue=%25",
        "limit=x",
    ] {
        let response = client.get(&format!("{CONFIG_MAPS}?{query}"), JSON).await;
        assert_eq!(response.code_and_reason(), (400, "BadRequest".to_owned()), "{query}");
    }
}
