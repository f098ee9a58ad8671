//! Tests of light requests while CPU-heavy requests occupy their pool.

use std::sync::mpsc;

use bytes::Bytes;
use endpoints::cpu_pool::{StartRequest, latest_start};
use http_body_util::BodyExt;
use jsontree::{Value, json};

use crate::client::{CONFIG_MAPS, Client, JSON};

/// Builds a config map that is too large for a light write.
fn large(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v".repeat(300_000)}})
}

#[tokio::test]
async fn light_requests_continue_while_heavy_ones_wait() {
    let client = Client::start().await;
    assert_eq!(client.post(CONFIG_MAPS, &large("there")).await.code, 201);
    let path = format!("{CONFIG_MAPS}?watch=true&labelSelector=app");
    let mut watch = client.open("GET", &path, &[], "").await.into_body();
    let (gate, shut) = mpsc::channel::<()>();
    let pool = client.heavy();
    let start = StartRequest { user: "other", retained_bytes: 0, start_by: latest_start(None) };
    let busy = tokio::spawn(async move { pool.run(start, async move { shut.recv() }).await });
    let path_of_map = format!("{CONFIG_MAPS}/there");
    let merge = [("content-type", "application/merge-patch+json")];
    let new = large("new");
    let patch = Bytes::from_static(b"{\"data\":{\"l\":\"v\"}}");
    let quiet = async {
        assert_eq!(client.get("/readyz", JSON).await.code, 200);
        client.config_map("light", "x").await;
        assert_eq!(client.get(&format!("{CONFIG_MAPS}/light"), JSON).await.code, 200);
        let event = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(event.starts_with(b"{\"type\":\"ADDED\""));
        let page = client.get("/metrics", "*/*").await;
        String::from_utf8(page.body.to_vec()).unwrap()
    };
    let heavy = async {
        tokio::join!(
            client.post(CONFIG_MAPS, &new),
            client.send("PATCH", &path_of_map, &merge, patch),
            client.get(&path_of_map, JSON),
            client.get("/openapi/v3/api/v1", JSON),
        )
    };
    tokio::pin!(heavy);
    let page = tokio::select! {
        biased;
        _ = &mut heavy => panic!("no thread was free"),
        page = quiet => page,
    };
    let requests = page.lines().filter_map(|line| line.strip_prefix("mainstay_heavy_requests{"));
    let counts = requests.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u32>().ok());
    assert_eq!(counts.sum::<u32>(), 5, "they have begun or wait, as the busy one has: {page}");
    drop(gate);
    let (created, patched, got, document) = heavy.await;
    assert_eq!([created.code, patched.code, got.code, document.code], [201, 200, 200, 200]);
    assert!(busy.await.unwrap().is_ok());
}
