//! The process ends: killed under load, or terminated.

use std::time::Duration;

use e2e::{Server, Store};
use http::{Request, StatusCode};
use kube::client::Body;

use super::load::Load;

const KILLS: usize = 3;
const WRITES: usize = 150;
const STOP_LIMIT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn embedded_store_keeps_acknowledged_writes_on_sigkill() {
    let mut server = Server::start(Store::Embedded);
    for round in 0..KILLS {
        let mut load = Load::start(&server.client().await, &format!("r{round}"));
        load.until(|progress| progress.acknowledged >= WRITES).await;
        server.kill();
        let outcome = load.stop().await;
        server.restart();
        outcome.assert_on_server(&server.client().await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_on_etcd() {
    let mut server = Server::start(Store::Etcd);
    let mut load = Load::start(&server.client().await, "r");
    load.until(|progress| progress.acknowledged >= WRITES).await;
    server.kill();
    let outcome = load.stop().await;
    server.restart();
    outcome.assert_on_server(&server.client().await).await;
}

async fn a_watch_ends_and_the_server_exits_with_0(store: Store) {
    let mut server = Server::start(store);
    let client = server.client().await;
    let request = Request::get("/api/v1/configmaps?watch=1").body(Body::empty()).unwrap();
    let watch = client.send(request).await.unwrap();
    assert_eq!(watch.status(), StatusCode::OK);
    let status = server.terminate(STOP_LIMIT);
    assert_eq!(status.code(), Some(0), "{status}");
    watch.into_body().collect_bytes().await.expect("the stream ends as a stream should");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_watches_and_embedded_server() {
    a_watch_ends_and_the_server_exits_with_0(Store::Embedded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_watches_and_etcd_server() {
    a_watch_ends_and_the_server_exits_with_0(Store::Etcd).await;
}
