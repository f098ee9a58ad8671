//! kube-rs against a fork and a server on etcd: typed calls, watchers, reflectors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use e2e::Server;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;

e2e::on_forks_and_etcd!(
    objects_are_read_as_they_were_written,
    a_stale_replace_is_a_conflict,
    a_watcher_that_lists_first_follows_every_change,
    a_watcher_that_streams_its_list_follows_every_change,
    a_reflector_mirrors_the_server,
);

const LIMIT: Duration = Duration::from_secs(60);

/// Runs a claim about the ConfigMaps of the default namespace.
fn with_config_maps<F: Future<Output = ()>>(server: &Server, claim: impl FnOnce(Api<ConfigMap>) -> F) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client: Client = server.client().await;
        timeout(LIMIT, claim(Api::default_namespaced(client))).await.expect("in time");
    });
}

fn object(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": value}})).unwrap()
}

fn value(object: &ConfigMap) -> &str {
    &object.data.as_ref().unwrap()["k"]
}

fn name(object: &ConfigMap) -> &str {
    object.metadata.name.as_deref().unwrap()
}

fn objects_are_read_as_they_were_written(server: &Server) {
    with_config_maps(server, |api| async move {
        let created = api.create(&PostParams::default(), &object("c", "v")).await.unwrap();
        assert_eq!(value(&created), "v");
        assert_eq!(api.get("c").await.unwrap(), created);

        let patch = Patch::Merge(json!({"data": {"k": "w"}}));
        let patched = api.patch("c", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(value(&patched), "w");
        assert_ne!(patched.metadata.resource_version, created.metadata.resource_version);

        let list = api.list(&ListParams::default().fields("metadata.name=c")).await.unwrap();
        assert_eq!(list.items, [patched]);
        api.delete("c", &DeleteParams::default()).await.unwrap();
        assert_eq!(api.get_opt("c").await.unwrap(), None);
    });
}

fn a_stale_replace_is_a_conflict(server: &Server) {
    with_config_maps(server, |api| async move {
        let mut old = api.create(&PostParams::default(), &object("c", "v")).await.unwrap();
        let patch = Patch::Merge(json!({"data": {"k": "w"}}));
        api.patch("c", &PatchParams::default(), &patch).await.unwrap();
        old.data = object("c", "stale").data;
        let refused = api.replace("c", &PostParams::default(), &old).await;
        let Err(kube::Error::Api(status)) = refused else { panic!("{refused:?}") };
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
        assert_eq!(value(&api.get("c").await.unwrap()), "w");
    });
}

fn a_watcher_that_lists_first_follows_every_change(server: &Server) {
    with_config_maps(server, |api| follows_every_change(api, watcher::Config::default()));
}

fn a_watcher_that_streams_its_list_follows_every_change(server: &Server) {
    with_config_maps(server, |api| follows_every_change(api, watcher::Config::default().streaming_lists()));
}

async fn follows_every_change(api: Api<ConfigMap>, config: watcher::Config) {
    api.create(&PostParams::default(), &object("before", "v")).await.unwrap();
    // A streaming list starts at "0", that is, at any state of the watch cache. A consistent list before it
    // ensures that the cache contains the object.
    api.list(&ListParams::default()).await.unwrap();
    let mut events = watcher::watcher(api.clone(), config).boxed();
    let mut next_event = async || match events.try_next().await.unwrap().expect("a watcher never ends") {
        watcher::Event::Init => "init".to_owned(),
        watcher::Event::InitApply(object) => format!("init {}", name(&object)),
        watcher::Event::InitDone => "init done".to_owned(),
        watcher::Event::Apply(object) => format!("apply {} {}", name(&object), value(&object)),
        watcher::Event::Delete(object) => format!("delete {} {}", name(&object), value(&object)),
    };
    assert_eq!(next_event().await, "init");
    assert_eq!(next_event().await, "init before");
    assert_eq!(next_event().await, "init done");
    api.create(&PostParams::default(), &object("after", "v")).await.unwrap();
    assert_eq!(next_event().await, "apply after v");
    let patch = Patch::Merge(json!({"data": {"k": "w"}}));
    api.patch("after", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(next_event().await, "apply after w");
    api.delete("after", &DeleteParams::default()).await.unwrap();
    assert_eq!(next_event().await, "delete after w");
}

fn a_reflector_mirrors_the_server(server: &Server) {
    with_config_maps(server, |api| async move {
        let (mirror, writer) = reflector::store();
        let stream = watcher::watcher(api.clone(), watcher::Config::default()).default_backoff();
        let mut events = stream.reflect(writer).boxed();
        let mut event = async || events.try_next().await.unwrap().expect("a watcher never ends");
        let mirrored = |name: &str| mirror.get(&ObjectRef::new(name).within("default"));

        let first = api.create(&PostParams::default(), &object("first", "v")).await.unwrap();
        while !matches!(event().await, watcher::Event::InitDone) {}
        assert_eq!(mirrored("first").as_deref(), Some(&first));
        let second = api.create(&PostParams::default(), &object("second", "v")).await.unwrap();
        event().await;
        assert_eq!(mirrored("second").as_deref(), Some(&second));
        api.delete("first", &DeleteParams::default()).await.unwrap();
        event().await;
        assert_eq!(mirrored("first"), None);
        assert_eq!(mirror.len(), 1);
    });
}
