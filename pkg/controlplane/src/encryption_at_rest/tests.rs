//! Tests of stored values and of their readability.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod servers;

use std::path::Path;

use bytes::Bytes;
use encryption::NOT_EXPECTED;
use futures::StreamExt;
use storage::memory::Memory;
use storage::{
    Error, Form, KeyValue, ListOptions, PutResult, Storage, Update, UpdateResult, WatchItem, WatchOptions,
    guaranteed_update,
};

use super::watch_decryptor::WatchDecryptor;
use super::*;
use crate::test_cluster::TestDir;

const KEY: &str = "/registry/secrets/default/a";
const OTHER: &str = "/registry/configmaps/default/a";

/// Builds a configuration with one rule for these resources, and keys with these names.
fn text(resources: &str, keys: &[&str]) -> String {
    let key = |name: &&str| format!("{{name: {name}, secret: MDEyMzQ1Njc4OWFiY2RlZg==}}");
    let keys: Vec<String> = keys.iter().map(key).collect();
    format!(
        "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n- resources: {resources}\n  \
         providers: [{{aesgcm: {{keys: [{}]}}}}, {{identity: {{}}}}]\n",
        keys.join(", ")
    )
}

fn loader(file: &Path, reload: bool) -> Loader {
    Loader {
        file: file.to_owned(),
        reload,
        prefix: "/registry".to_owned(),
        factory: Arc::new(kms::Plugins {
            clock: Arc::new(SystemClock),
            random: Arc::new(|out| rand::fill(out)),
            metrics: Arc::default(),
            v1: false,
        }),
        random: Arc::new(|out| rand::fill(out)),
        metrics: Arc::default(),
    }
}

async fn covers(text: &str) -> EncryptionRules {
    loader(Path::new("/none"), false).build_rules(text.as_bytes()).await.unwrap()
}

/// Returns an encrypted store, the wrapped store, and the active configuration.
async fn store(text: &str) -> (EncryptedStore, Arc<Memory>, CurrentRules) {
    let memory = Arc::new(Memory::new());
    let current: CurrentRules = Arc::new(ArcSwap::from_pointee(covers(text).await));
    (EncryptedStore::new(Arc::clone(&memory) as _, 0, Arc::clone(&current)), memory, current)
}

async fn raw(memory: &Memory, key: &str) -> Bytes {
    memory.get(key).await.unwrap().kv.unwrap().value
}

async fn write(store: &dyn Storage, key: &str, value: &'static str) -> i64 {
    match store.put(key, Bytes::from_static(value.as_bytes()), 0, None).await.unwrap() {
        PutResult::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    }
}

async fn keep_writing(store: &dyn Storage, value: &'static str) -> Result<UpdateResult, Error> {
    let change = |_: Option<&KeyValue>| Ok(Update::Write(Bytes::from_static(value.as_bytes()), None));
    guaranteed_update(store, KEY, None, change).await
}

#[tokio::test]
async fn values_are_encrypted_only_in_store() {
    let (store, memory, _) = store(&text("[secrets]", &["one"])).await;
    let revision = write(&store, KEY, "text").await;
    write(&store, OTHER, "text").await;
    assert!(raw(&memory, KEY).await.starts_with(b"k8s:enc:aesgcm:v1:one:"));
    assert_eq!(raw(&memory, OTHER).await, "text");
    let kv = store.get(KEY).await.unwrap().kv.unwrap();
    assert_eq!(kv, KeyValue::new(KEY, "text", revision));
    let listed = store.list("/registry/secrets/", ListOptions::default()).await.unwrap().kvs;
    assert_eq!(listed, std::slice::from_ref(&kv));
    let all = store.list("/registry/", ListOptions::default()).await.unwrap().kvs;
    assert_eq!(all.iter().map(|kv| &*kv.value).collect::<Vec<_>>(), [b"text", b"text"]);
    let PutResult::Stale { current, .. } = store.put(KEY, Bytes::new(), 0, None).await.unwrap() else {
        panic!()
    };
    assert_eq!(current, Some(kv));
}

#[tokio::test]
async fn watch_decrypts_current_and_previous_values() {
    let (store, _, _) = store(&text("[secrets]", &["one"])).await;
    let options = WatchOptions { prev_kv: true, ..WatchOptions::default() };
    let mut watch = store.watch("/registry/", options).await.unwrap();
    let first = write(&store, KEY, "1").await;
    keep_writing(&store, "2").await.unwrap();
    let now = store.get(KEY).await.unwrap().kv.unwrap();
    store.delete(KEY, now.mod_revision).await.unwrap();
    let mut events = Vec::new();
    while events.len() < 3 {
        if let WatchItem::Event(event) = watch.next().await.unwrap().unwrap() {
            events.push((
                event.kv.value,
                event.kv.form,
                event.prev.map(|prev| (prev.value, prev.mod_revision)),
            ));
        }
    }
    let expected = [
        ("1".into(), Form::Current, None),
        ("2".into(), Form::Current, Some(("1".into(), first))),
        (Bytes::new(), Form::Current, Some(("2".into(), now.mod_revision))),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn stale_value_is_rewritten_without_changes() {
    let (store, memory, current) = store(&text("[secrets]", &["old"])).await;
    write(&store, KEY, "text").await;
    assert!(matches!(keep_writing(&store, "text").await, Ok(UpdateResult::Unchanged(_))));
    current.store(Arc::new(covers(&text("[secrets]", &["new", "old"])).await));
    assert_eq!(store.get(KEY).await.unwrap().kv.unwrap().form, Form::Stale);
    assert!(matches!(keep_writing(&store, "text").await, Ok(UpdateResult::Written(_))));
    assert!(raw(&memory, KEY).await.starts_with(b"k8s:enc:aesgcm:v1:new:"));
    assert!(matches!(keep_writing(&store, "text").await, Ok(UpdateResult::Unchanged(_))));
}

#[tokio::test]
async fn stale_value_is_rewritten_despite_cached_suggestion() {
    let (store, memory, current) = store(&text("[secrets]", &["old"])).await;
    let revision = write(&store, KEY, "text").await;
    current.store(Arc::new(covers(&text("[secrets]", &["new", "old"])).await));
    let suggestion = Some(KeyValue::new(KEY, "text", revision));
    let change = |_: Option<&KeyValue>| Ok::<_, Error>(Update::Write("text".into(), None));
    let updated = guaranteed_update(&store, KEY, suggestion, change).await.unwrap();
    assert!(matches!(updated, UpdateResult::Written(_)));
    assert!(raw(&memory, KEY).await.starts_with(b"k8s:enc:aesgcm:v1:new:"));
}

#[tokio::test]
async fn unreadable_value_is_not_overwritten() {
    let (store, memory, _) = store(&text("[secrets]", &["one"])).await;
    write(&store, "/registry/secrets/default/b", "text").await;
    write(&*memory, KEY, "k8s:enc:aesgcm:v1:two:xxx").await;
    let kv = store.get(KEY).await.unwrap().kv.unwrap();
    let why = "no matching key was found for the provided AES transformer";
    assert_eq!((&*kv.value, &kv.form), (&b""[..], &Form::Unreadable(why.into())));
    let listed = store.list("/registry/secrets/", ListOptions::default()).await.unwrap().kvs;
    let forms: Vec<Form> = listed.into_iter().map(|kv| kv.form).collect();
    assert_eq!(forms, [Form::Unreadable(why.into()), Form::Current]);
    let refused = keep_writing(&store, "text").await;
    assert!(matches!(refused, Err(Error::Unreadable { key, message }) if key == KEY && &*message == why));
    assert_eq!(raw(&memory, KEY).await, "k8s:enc:aesgcm:v1:two:xxx");
}

#[tokio::test]
async fn unexpectedly_encrypted_value_is_unreadable() {
    let (store, memory, _) = store(&text("[secrets]", &["one"])).await;
    write(&*memory, OTHER, "k8s:enc:aesgcm:v1:one:xxx").await;
    let unexpected = Form::Unreadable(NOT_EXPECTED.into());
    assert_eq!(store.get(OTHER).await.unwrap().kv.unwrap().form, unexpected);
    let listed = store.list("/registry/configmaps/", ListOptions::default()).await.unwrap().kvs;
    assert_eq!(listed[0].form, unexpected);
}

#[tokio::test]
async fn long_lists_are_decrypted() {
    let (store, _, _) = store(&text("[secrets]", &["one"])).await;
    let long = Bytes::from(vec![b'x'; 64 << 10]);
    for number in 0..10 {
        store.put(&format!("/registry/secrets/default/{number}"), long.clone(), 0, None).await.unwrap();
    }
    let listed = store.list("/registry/secrets/", ListOptions::default()).await.unwrap().kvs;
    assert_eq!(listed.len(), 10);
    assert!(listed.iter().all(|kv| kv.value == long && kv.form == Form::Current));
}

#[tokio::test]
async fn keys_map_to_configured_resources() {
    let covers_of = |resources: &'static str| async move { covers(&text(resources, &["one"])).await };
    let all = covers_of("['*.*']").await;
    for (key, resources) in [
        ("/registry/secrets/a/b", "[secrets]"),
        ("/registry/services/specs/a/b", "[services]"),
        ("/registry/services/endpoints/a/b", "[endpoints]"),
        ("/registry/events/a/b", "[events]"),
        ("/registry/minions/a", "[nodes]"),
        ("/registry/deployments/a/b", "[deployments.apps]"),
        ("/registry/example.com/widgets/a/b", "[widgets.example.com]"),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/a",
            "[customresourcedefinitions.apiextensions.k8s.io]",
        ),
        ("/registry/apiregistration.k8s.io/apiservices/v1.", "[apiservices.apiregistration.k8s.io]"),
    ] {
        assert!(all.of(key).is_some(), "{key}");
        assert!(covers_of(resources).await.of(key).is_some(), "{key} {resources}");
        assert!(covers_of("[leases.coordination.k8s.io]").await.of(key).is_none(), "{key}");
    }
    // Values without an API are not encrypted.
    for key in [
        "/registry/masterleases/192.0.2.1",
        "/registry/peerserverleases/a",
        "/registry/ranges/servicenodeports",
        "/registry/ranges/serviceips",
        "/registry/health",
        "/other/secrets/a/b",
        "compact_rev_key",
    ] {
        assert!(all.of(key).is_none(), "{key}");
    }
}

#[tokio::test]
async fn invalid_file_prevents_start() {
    let dir = TestDir::new().unwrap();
    let file = dir.path().join("x.yaml");
    let loader = loader(&file, false);
    let shown = file.display();
    let error = loader.read().unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("error reading encryption provider configuration file \"{shown}\": "))
    );
    std::fs::write(&file, "").unwrap();
    let empty = format!("encryption provider configuration file \"{shown}\" is empty");
    assert_eq!(loader.read().unwrap_err().to_string(), empty);
    std::fs::write(&file, vec![b' '; (3 << 20) + 1]).unwrap();
    let large = format!("encryption provider configuration file \"{shown}\" is larger than 3145728 bytes");
    assert_eq!(loader.read().unwrap_err().to_string(), large);
    for (text, expected) in [
        (
            "kind: Secret\napiVersion: v1",
            format!(
                "error while parsing file: error decoding encryption provider configuration file \"{shown}\": no kind"
            ),
        ),
        (
            "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1",
            "error while parsing file: resources: Required value: at least one resources is required"
                .to_owned(),
        ),
        (
            "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources: [{resources: [secrets], \
             providers: [{kms: {name: a, endpoint: 'unix:///a'}}]}]",
            "error while building transformers: KMSv1 is deprecated and will only receive security updates"
                .to_owned(),
        ),
    ] {
        let error = loader.build_rules(text.as_bytes()).await.err().unwrap().to_string();
        assert!(error.starts_with(&expected), "{error}");
    }
}

/// A plugin that never responds.
struct Mute;

#[async_trait::async_trait]
impl encryption::Transformer for Mute {
    fn try_decrypt(
        &self,
        _: &[u8],
        _: &[u8],
    ) -> Option<Result<encryption::DecryptedValue, encryption::Error>> {
        None
    }

    async fn open(&self, _: &[u8], _: &[u8]) -> Result<encryption::DecryptedValue, encryption::Error> {
        std::future::pending().await
    }

    async fn seal(&self, _: &[u8], _: &[u8]) -> Result<Bytes, encryption::Error> {
        std::future::pending().await
    }
}

#[async_trait::async_trait]
impl encryption::KmsProvider for Mute {
    async fn healthy(&self) -> Result<(), encryption::Error> {
        std::future::pending().await
    }
}

#[async_trait::async_trait]
impl encryption::KmsFactory for Mute {
    async fn provider(
        &self,
        _: &encryption::Kms,
    ) -> Result<Arc<dyn encryption::KmsProvider>, encryption::Error> {
        Ok(Arc::new(Mute))
    }
}

#[tokio::test(start_paused = true)]
async fn unresponsive_plugin_delays_watch_only_occasionally() {
    let text = "{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [{resources: [secrets], \
                providers: [{kms: {apiVersion: v2, name: p, endpoint: 'unix:///a'}}]}]}";
    let loader = Loader { factory: Arc::new(Mute), ..loader(Path::new("/none"), false) };
    let covers = loader.build_rules(text.as_bytes()).await.unwrap();
    let current: CurrentRules = Arc::new(ArcSwap::from_pointee(covers));
    let patience = WatchDecryptor::default();
    let start = tokio::time::Instant::now();
    for number in 0..1_000 {
        let kv = KeyValue::new(KEY, "k8s:enc:kms:v2:p:x", number);
        assert!(matches!(patience.open(&current, kv).await.form, Form::Unreadable(_)));
    }
    assert_eq!(start.elapsed().as_secs(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let again = tokio::time::Instant::now();
    patience.open(&current, KeyValue::new(KEY, "k8s:enc:kms:v2:p:x", 1)).await;
    assert_eq!(again.elapsed().as_secs(), 1);
}
