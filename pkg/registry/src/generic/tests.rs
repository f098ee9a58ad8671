//! Tests of the verbs, with an in-memory store, a stopped clock and scripted randomness.
#![allow(clippy::unwrap_used, clippy::panic)]

mod admit;
mod admit_delete;
mod contention;
mod create;
mod custom_versions;
mod delete;
mod emulated_storage;
mod grace;
mod hostile_stored;
mod old;
mod reads;
mod sharded;
mod stale;
mod too_large;
mod update;

use component_base::features::Gates;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::options::DeleteOptions;
use api::resources::Resource;

use apimachinery::status::{Reason, Status};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cacher::Delegator;
use component_base::clock::TestClock;
use jsontree::{Value, json};
use kinds::validation::kinds::Settings;
use schema::object::Object;
use storage::Storage;
use storage::memory::Memory;

use super::{
    AdmitAll, CreateRequest, DeleteOutcome, DeleteRequest, Entropy, Registry, Result, Target, UpdateRequest,
};
use crate::{StoredRef, codec};

/// 2025-01-01T00:00:00Z.
const NOW: i64 = 1_735_689_600;
const NAMESPACE: &str = "ns";
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// Ascending uids, and numbers from a script; 0 after its end.
#[derive(Default)]
struct Script {
    uids: AtomicU32,
    numbers: Mutex<VecDeque<u32>>,
}

impl Entropy for Script {
    fn uid(&self) -> String {
        format!("uid-{}", self.uids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn number(&self) -> u32 {
        self.numbers.lock().unwrap().pop_front().unwrap_or(0)
    }
}

struct World {
    store: Arc<Memory>,
    clock: Arc<TestClock>,
    script: Arc<Script>,
    registry: Registry,
    user: UserInfo,
}

/// Row of `plural` or `plural/subresource`, in v1.
fn row(path: &str) -> &'static Resource<'static> {
    let (plural, subresource) = path.split_once('/').unwrap_or((path, ""));
    let is_endpoint =
        |row: &&Resource| (row.plural, row.subresource, row.version) == (plural, subresource, "v1");
    api::resources::all().find(is_endpoint).unwrap_or_else(|| panic!("{path} is no resource of v1"))
}

fn target<'n>(plural: &str, name: &'n str) -> Target<'n> {
    let row = row(plural);
    Target { resource: row, namespace: if row.namespaced { NAMESPACE } else { "" }, name }
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

/// Smallest spec that is valid for the kind.
fn minimal_spec(plural: &str) -> Value {
    let containers = json!([{"name": "c", "image": "i"}]);
    let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"});
    match plural {
        "pods" => json!({"containers": containers}),
        "services" => json!({"ports": [{"port": 80}]}),
        "persistentvolumeclaims" => json!({
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "dataSource": snapshot,
            "dataSourceRef": snapshot,
        }),
        "certificatesigningrequests" => json!({
            "request": STANDARD.encode(include_str!("../../../kinds/testdata/x509/p256.csr")),
            "usages": ["client auth"],
        }),
        "deployments" | "replicasets" | "statefulsets" | "daemonsets" => json!({
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}},
        }),
        _ => Value::Null,
    }
}

/// Object with a name, a namespace if needed, additional members, and its defaults. Members of the spec are
/// merged with the smallest valid spec.
fn named(plural: &str, name: &str, more: Value) -> Object {
    let row = row(plural);
    let mut tree = object(json!({"apiVersion": row.group_version, "kind": row.kind}));
    let mut metadata = object(json!({"name": name}));
    if row.namespaced {
        metadata.insert("namespace", NAMESPACE.into());
    }
    let mut more = object(more);
    if let Some(Value::Object(more_metadata)) = more.remove("metadata") {
        metadata.extend(more_metadata);
    }
    tree.insert("metadata", Value::Object(metadata));
    if let Value::Object(mut spec) = minimal_spec(plural) {
        spec.extend(more.remove("spec").map(object).unwrap_or_default());
        tree.insert("spec", Value::Object(spec));
    }
    tree.extend(more);
    if plural == "events" {
        tree.insert("involvedObject", json!({"namespace": NAMESPACE}));
    }
    kinds::defaults::apply(row.group_version, row.kind, &mut tree, &Gates::default());
    tree
}

fn decode(plural: &str, stored: StoredRef<'_>) -> Value {
    Value::Object(codec::decode(row(plural).storage.as_ref().unwrap(), stored).unwrap())
}

impl World {
    fn new() -> Self {
        World::gated(Gates::default())
    }

    fn gated(gates: Gates) -> Self {
        let store = Arc::new(Memory::new());
        let resources = crate::ingest::resources("/registry", gates, |row| row.watch_cache);
        let world = World::with(store.clone(), Delegator::uncached(store, resources));
        let settings = Settings { gates, ..Settings::default() };
        World { registry: world.registry.clone().with_settings(settings), ..world }
    }

    /// Creates a world whose registry uses `delegator`, backed by `store`.
    fn with(store: Arc<Memory>, delegator: Delegator) -> Self {
        let clock = Arc::new(TestClock::at(UnixTime { seconds: NOW, nanos: 5 }));
        let script = Arc::new(Script::default());
        let registry = Registry::new(delegator, "/registry", clock.clone(), script.clone(), EVENT_TTL);
        let user = UserInfo { name: "tester".to_owned(), ..UserInfo::default() };
        World { store, clock, script, registry, user }
    }

    async fn revision(&self) -> i64 {
        self.store.current_revision().await.unwrap()
    }

    async fn post(&self, plural: &str, object: Object, dry_run: bool) -> Result<Value> {
        let request = CreateRequest { user: &self.user, dry_run, shares_labels: false, admit: &AdmitAll };
        let created = self.registry.create(&target(plural, ""), object, request).await?;
        Ok(decode(plural, created.as_ref()))
    }

    /// Creates a precondition object of a test.
    async fn create_object(&self, plural: &str, name: &str, more: Value) -> Value {
        self.post(plural, named(plural, name, more), false).await.unwrap()
    }

    async fn get(&self, plural: &str, name: &str) -> Result<Value> {
        let element = self.registry.get(&target(plural, name), "").await?;
        Ok(decode(plural, StoredRef::element(&element)))
    }

    fn update<'w>(&'w self, endpoint: &str) -> UpdateRequest<'w> {
        UpdateRequest {
            endpoint: row(endpoint),
            uid: String::new(),
            user: &self.user,
            dry_run: false,
            force_allow_create: false,
            keeps_managers: false,
            pending_conversions: None,
            admit: &AdmitAll,
        }
    }

    /// Replaces an object through `plural` or `plural/subresource`.
    async fn put(&self, endpoint: &str, object: Value) -> Result<Value> {
        let plural = endpoint.split('/').next().unwrap();
        let mut object = self::object(object);
        kinds::defaults::apply(row(plural).group_version, row(plural).kind, &mut object, &Gates::default());
        let name = crate::meta::text(&object, "name").to_owned();
        let mut request = self.update(endpoint);
        request.uid = crate::meta::text(&object, "uid").to_owned();
        let outcome =
            self.registry.update(&target(plural, &name), &request, &mut |_| Ok(object.clone())).await?;
        Ok(decode(plural, outcome.stored.as_ref()))
    }

    async fn delete(&self, plural: &str, name: &str, options: &DeleteOptions) -> Result<DeleteOutcome> {
        let request = DeleteRequest { options, dry_run: false, admit: &AdmitAll };
        self.registry.delete(&target(plural, name), &request).await
    }

    /// Deletes without options; returns the remaining object, if any.
    async fn delete_and_get(&self, plural: &str, name: &str) -> Option<Value> {
        self.delete(plural, name, &DeleteOptions::default()).await.unwrap();
        self.get(plural, name).await.ok()
    }
}

/// Code, reason and message of an error.
fn failure<T>(result: Result<T>) -> (u16, Reason, String) {
    let status: Box<Status> = result.err().unwrap();
    (status.code, status.reason.clone(), status.message.clone())
}

/// Expected value of [`failure`].
fn expected_failure(code: u16, reason: Reason, message: &str) -> (u16, Reason, String) {
    (code, reason, message.to_owned())
}
