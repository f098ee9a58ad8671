//! Store failures: it becomes unavailable and recovers, or contains unreadable values.

use std::time::Duration;

use e2e::{Server, Store};
use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ListParams, PostParams};
use kube::client::Body;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::load::Load;

const WRITES: usize = 100;
const FAILURES: usize = 20;
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn server_recovers_from_lost_etcd() {
    let mut server = Server::start(Store::Etcd);
    server.allow_log("storage did not answer");
    server.allow_log("will be tried again");
    let client = server.client().await;
    let mut load = Load::start(&client, "l");
    load.until(|progress| progress.acknowledged >= WRITES).await;
    server.etcd.as_mut().unwrap().kill();
    load.until(|progress| progress.failed >= FAILURES).await;
    server.etcd.as_mut().unwrap().restart();
    let before = load.progress().acknowledged;
    load.until(|progress| progress.acknowledged >= before + WRITES).await;
    assert!(server.is_running(), "the server that answers is the one that lost its store");
    let outcome = load.stop().await;
    for failure in &outcome.failures {
        let kube::Error::Api(status) = failure else { panic!("not an answer of the server: {failure:?}") };
        assert!((500..=504).contains(&status.code), "{status:?}");
    }
    outcome.assert_on_server(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_outlives_a_lost_etcd() {
    let mut server = Server::start(Store::Etcd);
    server.allow_log("storage did not answer");
    server.allow_log("will be tried again");
    let client = server.client().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
    let mut names = events
        .touched_objects()
        .filter_map(|object| async move { object.ok().and_then(|object| object.metadata.name) })
        .boxed();
    let mut check = async |name: &str| {
        create(&client, name).await;
        let event = async { while names.next().await.expect("a watcher never ends") != name {} };
        timeout(LIMIT, event).await.expect("the watcher sees what was created");
    };
    check("before").await;
    server.etcd.as_mut().unwrap().kill();
    server.etcd.as_mut().unwrap().restart();
    check("after").await;
}

/// A value that is no object, and one with only the prefix of an object.
const CORRUPT: [&str; 2] = ["garbage", "k8s\0garbage"];
const KEYS: &str = "/registry/configmaps/default/";

/// Starts a server with ConfigMaps `good`, `bad0` and `bad1`; the values of the bad ones are corrupt.
async fn corrupt() -> (Server, Client) {
    let server = Server::start(Store::Etcd);
    server.allow_log("cannot be decoded");
    server.allow_log("stored object cannot be read");
    server.allow_log("cannot be transcoded");
    server.allow_log("an event cannot be encoded");
    let client = server.client().await;
    create(&client, "good").await;
    for (n, value) in CORRUPT.into_iter().enumerate() {
        let name = format!("bad{n}");
        create(&client, &name).await;
        server.etcd.as_ref().unwrap().put(&format!("{KEYS}{name}"), value);
    }
    (server, client)
}

async fn create(client: &Client, name: &str) {
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &object).await.unwrap();
}

/// Returns the status code and the `Status` of a failing GET.
async fn failure(client: &Client, path: &str) -> (u16, Value) {
    let response = client.send(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    (code, serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn corrupt_value_fails_only_its_reads() {
    let (_server, client) = corrupt().await;
    let config_maps = "/api/v1/namespaces/default/configmaps";
    for path in [format!("{config_maps}/bad0"), format!("{config_maps}/bad1")] {
        let (code, status) = failure(&client, &path).await;
        assert_eq!(
            (code, &status["kind"], &status["status"]),
            (500, &"Status".into(), &"Failure".into()),
            "{status}"
        );
        assert!(status["message"].as_str().is_some_and(|message| !message.is_empty()), "{status}");
    }
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let listed = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(listed.iter().filter_map(|item| item.metadata.name.as_deref()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(api.get("good").await.unwrap().metadata.name.as_deref(), Some("good"));
    create(&client, "new").await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    assert_eq!(secrets.list(&ListParams::default()).await.unwrap().items, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_contains_the_key_of_corrupt_value() {
    let (server, client) = corrupt().await;
    for name in ["bad0", "bad1"] {
        failure(&client, &format!("/api/v1/namespaces/default/configmaps/{name}")).await;
        let key = format!("{KEYS}{name}");
        assert!(server.log().contains(&key), "{key} in\n{}", server.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn corrupt_value_ends_watch_but_not_server() {
    let (_server, client) = corrupt().await;
    let watch = Request::get("/api/v1/configmaps?watch=1&timeoutSeconds=1").body(Body::empty()).unwrap();
    let watch = client.send(watch).await.unwrap();
    timeout(LIMIT, watch.into_body().collect_bytes())
        .await
        .expect("the watch ends")
        .expect("in an orderly way");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let listed = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(listed.iter().filter_map(|item| item.metadata.name.as_deref()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(api.get("good").await.unwrap().metadata.name.as_deref(), Some("good"));
}
