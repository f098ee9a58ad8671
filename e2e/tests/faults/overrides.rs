//! Resources in a second etcd (`--etcd-servers-overrides`).

use std::time::Duration;

use e2e::{Etcd, Server};
use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::client::Body;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(60);
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A server with ConfigMaps and widgets in a second etcd.
struct Split {
    main: Etcd,
    other: Etcd,
    server: Server,
    client: Client,
}

impl Split {
    async fn start() -> Self {
        let main = Etcd::start();
        let other = Etcd::start();
        let route = |resource: &str| format!("{resource}#{}", other.url());
        let overrides = [route("/configmaps"), route("example.com/widgets")].join(",");
        let server =
            Server::start_on_flagged(&main.url(), &[format!("--etcd-servers-overrides={overrides}")]);
        let client = server.client().await;
        Split { main, other, server, client }
    }

    /// Sends a request, and returns the status code and the JSON of the response; null for other content.
    async fn send(&self, request: Request<Body>) -> (u16, Value) {
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        // The 404 for an unknown path is a plain text.
        let body = response.into_body().collect_bytes().await.unwrap();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Defines widgets, and creates one as soon as they are served.
    async fn create_widget(&self) {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let names = json!({"plural": "widgets", "kind": "Widget"});
        let definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        });
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        Api::all(self.client.clone()).create(&PostParams::default(), &definition).await.unwrap();
        let served = async { while self.get(WIDGETS).await.0 == 404 {} };
        timeout(LIMIT, served).await.expect("widgets are served");
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
        let request = Request::post(WIDGETS).header("content-type", "application/json");
        let (code, created) =
            self.send(request.body(Body::from(widget.to_string().into_bytes())).unwrap()).await;
        assert_eq!(code, 201, "{created}");
    }
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

async fn create(client: &Client, name: &str) {
    let api = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &config_map(name)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn overridden_resources_are_in_their_etcd() {
    let split = Split::start().await;
    create(&split.client, "a").await;
    split.create_widget().await;
    let namespaced = |etcd: &Etcd, resource: &str| etcd.keys(&format!("/registry/{resource}/default/"));
    assert_eq!(namespaced(&split.other, "configmaps"), ["/registry/configmaps/default/a"]);
    assert_eq!(namespaced(&split.other, "example.com/widgets"), ["/registry/example.com/widgets/default/w"]);
    assert_eq!(namespaced(&split.main, "configmaps"), Vec::<String>::new());
    assert_eq!(namespaced(&split.main, "example.com/widgets"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_serve_consistent_lists_of_overridden_resources() {
    let split = Split::start().await;
    split.create_widget().await;
    create(&split.client, "a").await;
    let api: Api<ConfigMap> = Api::default_namespaced(split.client.clone());
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    let (code, widgets) = split.get(WIDGETS).await;
    assert_eq!((code, widgets["items"].as_array().map(Vec::len)), (200, Some(1)));
    let metrics =
        split.client.request_text(Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap();
    for resource in [r#"group="",resource="configmaps""#, r#"group="example.com",resource="widgets""#] {
        let labels = format!(r#"fallback="false",{resource},success="true""#);
        let name = format!("apiserver_watch_cache_consistent_read_total{{{labels}}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        assert!(count.is_some_and(|count| count > 0), "{name} in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_resources_outlive_a_lost_etcd() {
    let mut split = Split::start().await;
    split.server.allow_log("storage did not answer");
    split.server.allow_log("will be tried again");
    split.server.allow_log("watch of the caches failed");
    create(&split.client, "before").await;
    let api: Api<ConfigMap> = Api::default_namespaced(split.client.clone());
    let events = watcher::watcher(api.clone(), watcher::Config::default()).default_backoff();
    let mut names = events
        .touched_objects()
        .filter_map(|object| async move { object.ok().and_then(|object| object.metadata.name) })
        .boxed();
    split.other.kill();
    let secrets: Api<Secret> = Api::default_namespaced(split.client.clone());
    assert_eq!(secrets.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let lost = api.list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = lost else { panic!("not a response of the server: {lost:?}") };
    assert!((500..=504).contains(&status.code), "{status:?}");
    split.other.restart();
    let created = async { while api.create(&PostParams::default(), &config_map("after")).await.is_err() {} };
    timeout(LIMIT, created).await.expect("the etcd serves again");
    let seen = async { while names.next().await.expect("a watcher never ends") != "after" {} };
    timeout(LIMIT, seen).await.expect("the watch continues");
}
