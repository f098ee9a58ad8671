//! Tests of service allocations, with an in-memory store that two servers share.
#![allow(clippy::unwrap_used, clippy::panic)]

mod address_bitmaps;
mod address_ranges;
mod allocating;
mod completing;
mod family_defaults;
mod faults;
mod node_ports;
mod racing;
mod sequences;
mod stored_ports;

use component_base::features::Gates;
use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use api::options::DeleteOptions;
use api::resources::{self, Resource};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use cacher::Delegator;
use component_base::clock::TestClock;
use component_base::metrics::MetricsRegistry;
use jsontree::{Value, json};
use storage::memory::Memory;
use tokio::task::AbortHandle;

use super::range::AddressRange;
use super::*;
use crate::client::ReadFreshness;
use crate::generic::{AdmitAll, CreateRequest, DeleteRequest, Target, UpdateRequest};
use crate::{StoredRef, codec};

const NAMESPACE: &str = "ns";

/// Deterministic pseudo-random numbers.
pub(super) struct Numbers {
    state: Mutex<u64>,
    uids: AtomicU32,
}

impl Numbers {
    pub(super) fn seeded(seed: u64) -> Arc<Self> {
        Arc::new(Numbers { state: Mutex::new(seed.wrapping_mul(2).wrapping_add(1)), uids: AtomicU32::new(0) })
    }

    fn below(&self, end: u32) -> u32 {
        self.number() % end
    }
}

impl Entropy for Numbers {
    fn uid(&self) -> String {
        format!("uid-{}", self.uids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn number(&self) -> u32 {
        let mut state = self.state.lock().unwrap();
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(*state >> 33).unwrap()
    }
}

pub(super) struct Server {
    pub(super) clock: Arc<TestClock>,
    pub(super) services: Arc<Services>,
    pub(super) store: Arc<dyn Storage>,
    registry: Registry,
    /// Task that follows the ranges.
    following: AbortHandle,
    user: UserInfo,
}

fn row(group: &str, plural: &str) -> &'static Resource<'static> {
    resources::find(group, "v1", plural, "").unwrap()
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

impl Server {
    /// Creates a server of a store. `families` are the families of its cluster.
    fn of(store: &Arc<dyn Storage>, seed: u64, families: Families, ports: RangeInclusive<u16>) -> Self {
        Server::with_bitmaps(store, seed, families, ports, &[])
    }

    /// As [`Server::of`]; the allocations in some ranges are also written to bitmaps.
    fn with_bitmaps(
        store: &Arc<dyn Storage>,
        seed: u64,
        families: Families,
        ports: RangeInclusive<u16>,
        bitmap_ranges: &[&str],
    ) -> Self {
        let delegator = Delegator::uncached(
            store.clone(),
            crate::ingest::resources("/registry", Gates::default(), |_| true),
        );
        let clock = Arc::new(TestClock::at(UnixTime { seconds: 1_735_689_600, nanos: 0 }));
        let numbers = Numbers::seeded(seed);
        let registry =
            Registry::new(delegator, "/registry", clock.clone(), numbers.clone(), Duration::from_secs(3600));
        let options = Options {
            families,
            node_ports: ports,
            bitmap_ranges: bitmap_ranges.iter().map(|range| (*range).to_owned()).collect(),
            storage: store.clone(),
            prefix: "/registry".to_owned(),
            entropy: numbers,
        };
        let (services, following) =
            Services::new(registry.clone(), options, &MetricsRegistry::default()).unwrap();
        let following = tokio::spawn(following.run()).abort_handle();
        let services = Arc::new(services);
        let pools: Arc<dyn Allocator> = services.clone();
        let registry = registry.with_allocators(HashMap::from([(STORAGE_PREFIX, pools)]));
        let user = UserInfo { name: "tester".to_owned(), ..UserInfo::default() };
        Server { clock, services, store: store.clone(), registry, following, user }
    }

    /// Creates the only server of a cluster with these ranges. The first one defines the primary family.
    pub(super) async fn with_ranges(ranges: &[&str]) -> Self {
        let of = |range: &&str| AddressRange::parse(range).unwrap().family;
        let families = Families {
            primary: ranges.first().map_or(Family::V4, of),
            dual: ranges.iter().any(|range| of(range) != of(&ranges[0])),
        };
        let store: Arc<dyn Storage> = Arc::new(Memory::new());
        let server = Server::of(&store, 1, families, 30_000..=30_099);
        if !ranges.is_empty() {
            server.add_ranges("kubernetes", ranges).await;
        }
        server.services.repair_ports(&mut Leaks::default()).await.unwrap();
        server
    }

    async fn add_ranges(&self, name: &str, ranges: &[&str]) {
        let object = json!({"metadata": {"name": name}, "spec": {"cidrs": ranges}});
        self.create("networking.k8s.io", "servicecidrs", "", object, false).await.unwrap();
        if !self.following.is_finished() {
            self.sees_ranges(name, true).await;
        }
    }

    /// Waits until the ranges of this name exist for the server, or no longer exist.
    async fn sees_ranges(&self, name: &str, exists: bool) {
        let observed = self.services.pools.addresses.wait_for_ranges(|ranges| ranges.has(name) == exists);
        tokio::time::timeout(Duration::from_secs(60), observed).await.unwrap();
    }

    pub(super) async fn create(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        object: Value,
        dry_run: bool,
    ) -> Result<Value> {
        let row = row(group, plural);
        let mut object = self::object(object);
        object.insert("apiVersion", row.group_version.into());
        object.insert("kind", row.kind.into());
        if row.namespaced {
            meta::set_text(&mut object, "namespace", namespace);
        }
        kinds::defaults::apply(row.group_version, row.kind, &mut object, &Gates::default());
        let request = CreateRequest { user: &self.user, dry_run, shares_labels: false, admit: &AdmitAll };
        let stored =
            self.registry.create(&Target { resource: row, namespace, name: "" }, object, request).await?;
        Ok(Value::Object(codec::decode(row.storage.as_ref().unwrap(), stored.as_ref()).unwrap()))
    }

    async fn try_post(&self, name: &str, spec: Value, dry_run: bool) -> Result<Value> {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.create("", "services", NAMESPACE, object, dry_run).await
    }

    pub(super) async fn post(&self, name: &str, spec: Value) -> Value {
        self.try_post(name, spec, false).await.unwrap()["spec"].clone()
    }

    /// Replaces members of a service's spec; `null` removes one.
    async fn edit(&self, path: &str, name: &str, changes: Value, dry_run: bool) -> Result<Value> {
        let row = row("", "services");
        let endpoint = resources::find("", "v1", "services", path).unwrap();
        let request = UpdateRequest {
            endpoint,
            uid: String::new(),
            user: &self.user,
            dry_run,
            force_allow_create: false,
            keeps_managers: false,
            pending_conversions: None,
            admit: &AdmitAll,
        };
        let mut change = |old: Option<&Object>| {
            let mut new = old.unwrap().clone();
            let spec = tree::child_mut(&mut new, "spec").unwrap();
            for (name, value) in object(changes.clone()) {
                match value {
                    Value::Null => drop(spec.remove(&name)),
                    value => drop(spec.insert(name, value)),
                }
            }
            kinds::defaults::apply(row.group_version, row.kind, &mut new, &Gates::default());
            Ok(new)
        };
        let target = Target { resource: row, namespace: NAMESPACE, name };
        let outcome = self.registry.update(&target, &request, &mut change).await?;
        let stored = codec::decode(row.storage.as_ref().unwrap(), outcome.stored.as_ref()).unwrap();
        Ok(stored["spec"].clone())
    }

    async fn put(&self, name: &str, changes: Value) -> Result<Value> {
        self.edit("", name, changes, false).await
    }

    pub(super) async fn delete(&self, plural: &str, name: &str, dry_run: bool) {
        let row = resources::all().find(|row| row.plural == plural && row.version == "v1").unwrap();
        let namespace = if row.namespaced { NAMESPACE } else { "" };
        let options = DeleteOptions::default();
        let request = DeleteRequest { options: &options, dry_run, admit: &AdmitAll };
        self.registry.delete(&Target { resource: row, namespace, name }, &request).await.unwrap();
        if plural == "servicecidrs" {
            self.sees_ranges(name, false).await;
        }
    }

    async fn exists(&self, row: &'static Resource<'static>, namespace: &str, name: &str) -> bool {
        self.registry.get(&Target { resource: row, namespace, name }, "").await.is_ok()
    }

    async fn get(&self, plural: &str, name: &str) -> Value {
        let row = resources::all().find(|row| row.plural == plural && row.version == "v1").unwrap();
        let namespace = if row.namespaced { NAMESPACE } else { "" };
        let element = self.registry.get(&Target { resource: row, namespace, name }, "").await.unwrap();
        let storage = row.storage.as_ref().unwrap();
        Value::Object(codec::decode(storage, StoredRef::element(&element)).unwrap())
    }

    pub(super) async fn addresses(&self) -> BTreeSet<String> {
        let all = self.services.pools.addresses.all().await.unwrap();
        all.iter().map(|address| meta::text(address, "name").to_owned()).collect()
    }

    pub(super) async fn ports(&self) -> BTreeSet<i64> {
        let ports = &self.services.pools.ports;
        let stored = ports.read().await.unwrap().0.unwrap();
        stored.allocated.members().map(|position| ports.range().port(position)).collect()
    }

    /// Asserts that the allocations match the services.
    async fn assert_settled(&self, step: &str) {
        let services = self.services.services.list("", ReadFreshness::Latest).await.unwrap();
        let specs: Vec<&Object> =
            services.iter().filter_map(|service| tree::child(service, "spec")).collect();
        let addresses: Vec<String> = specs.iter().flat_map(|spec| address_plan::cluster_ips(spec)).collect();
        let allocated: BTreeSet<String> = addresses.iter().cloned().collect();
        assert_eq!(allocated.len(), addresses.len(), "an address twice after {step}");
        assert_eq!(allocated, self.addresses().await, "addresses after {step}");
        let allocated: BTreeSet<i64> = specs.iter().flat_map(|spec| ports::allocated_ports(spec)).collect();
        assert_eq!(allocated, self.ports().await, "ports after {step}");
    }
}

/// Code and message of an error.
fn failure<T>(result: Result<T>) -> (u16, String) {
    let status = result.err().unwrap();
    (status.code, status.message.clone())
}

fn one_port() -> Value {
    json!([{"port": 80}])
}
