//! Tests of the shutdown.

use std::time::Duration;

use http_body_util::BodyExt;
use jsontree::json;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::super::finish;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

#[tokio::test]
async fn retry_after_mode_finishes_requests_first() {
    let server = TestServer::start_with(|config| {
        config.serving.send_retry_after = true;
        config.serving.watch_grace = Duration::from_secs(60);
    })
    .await
    .unwrap();
    let client = Client::of(&server);
    let mut watch = client.response("GET", "/api/v1/configmaps?watch=1").await.into_body();
    let object = json!({"metadata": {"name": "a"}});
    let (resume, created) = client.held_back("/api/v1/namespaces/default/configmaps", &object);
    client
        .until_page_has("/metrics", "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1")
        .await;
    let address = client.address();
    let stopping = tokio::spawn(server.stop());
    let refused = loop {
        let response = client.response("GET", "/api/v1/namespaces").await;
        if response.status() == 429 {
            break response;
        }
    };
    assert_eq!(refused.headers()["retry-after"], "5");
    assert_eq!(refused.headers()["connection"], "close");
    let text = refused.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(&text[..], b"The apiserver is shutting down, please try again later.\n");
    // Health and metrics are served until the end.
    assert_eq!(client.text("GET", "/readyz").await.0, 500);
    assert_eq!(client.text("GET", "/livez").await.0, 200);
    assert_eq!(client.text("GET", "/metrics").await.0, 200);
    // Watches end gracefully.
    while let Some(frame) = watch.frame().await {
        frame.unwrap();
    }
    assert!(!stopping.is_finished(), "a request is under way");
    resume.send(()).unwrap();
    assert_eq!(created.await.unwrap(), 201);
    stopping.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn watches_get_full_grace_period() {
    let seconds = Duration::from_secs;
    let check = async |requests: u64, watches: u64, expected: u64| {
        let start = Instant::now();
        finish(sleep(seconds(requests)), sleep(seconds(watches)), seconds(60)).await;
        assert_eq!(start.elapsed().as_secs(), expected, "{requests} {watches}");
    };
    check(1, 120, 120).await;
    check(30, 1, 30).await;
    check(100, 1, 60).await;
}

#[tokio::test]
async fn server_deregisters_before_it_stops_accepting() {
    let server = TestServer::start_with(|config| config.serving.shutdown_delay = Duration::from_secs(600))
        .await
        .unwrap();
    let client = Client::of(&server);
    let storage = server.storage();
    let stopping = tokio::spawn(server.stop());
    while client.text("GET", "/readyz").await.0 != 500 {}
    while storage.count("/registry/masterleases/").await.unwrap() > 0
        || storage.count("/registry/leases/").await.unwrap() > 0
    {
        tokio::task::yield_now().await;
    }
    // All other requests are served as usual.
    client.make("/api/v1/namespaces/default/configmaps", json!({"metadata": {"name": "a"}})).await;
    assert!(!stopping.is_finished());
    stopping.abort();
}
