//! Test registry of config maps and secrets over a store with planned failures.
#![allow(clippy::unwrap_used, clippy::panic)]

use component_base::features::Gates;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use apimachinery::time::UnixTime;
use bytes::Bytes;
use cacher::{Delegator, Options};
use component_base::clock::TestClock;
use jsontree::{Value, json};
use schema::object::Object;
use storage::Storage;
use storage::fault::{Fault, FaultyStorage, Operation, Plan};
use storage::memory::Memory;
use tokio::task::JoinHandle;

use crate::{Client, Entropy, Registry};

/// Entropy that counts up.
#[derive(Default)]
struct Counting(AtomicU32);

impl Entropy for Counting {
    fn uid(&self) -> String {
        format!("uid-{}", self.number())
    }

    fn number(&self) -> u32 {
        self.0.fetch_add(1, Relaxed)
    }
}

/// Store with a server; the server runs while this lives.
pub(crate) struct Cluster {
    /// The store without faults.
    pub(crate) memory: Arc<Memory>,
    pub(crate) store: Arc<FaultyStorage<Memory>>,
    pub(crate) registry: Registry,
    delegator: Delegator,
    driver: JoinHandle<()>,
}

impl Cluster {
    /// Creates a cluster over an in-memory store with these faults. `cached` enables the watch cache.
    pub(crate) fn new(
        memory: Arc<Memory>,
        cached: bool,
        faults: impl IntoIterator<Item = (Operation, u64, Fault)>,
    ) -> Self {
        let store = Arc::new(FaultyStorage::new(Arc::clone(&memory), Plan::script(faults)));
        let mut resources = crate::ingest::resources("/registry", Gates::default(), |_| true);
        let served = ["configmaps", "secrets", "resourcequotas"];
        resources.retain(|resource| served.contains(&&*resource.resource));
        let options = Options { enabled: cached, ..Options::default() };
        let (delegator, driver) = Delegator::new(store.clone(), "/registry", resources, options);
        let clock = Arc::new(TestClock::at(UnixTime { seconds: 1_735_689_600, nanos: 0 }));
        let entropy = Arc::new(Counting::default());
        let registry =
            Registry::new(delegator.clone(), "/registry", clock, entropy, Duration::from_secs(3600));
        Cluster { memory, store, registry, delegator, driver: tokio::spawn(driver.run()) }
    }

    /// Creates a cluster with an empty store without faults, and filled caches.
    pub(crate) async fn empty(cached: bool) -> Self {
        let cluster = Cluster::new(Arc::default(), cached, []);
        if cached {
            cluster.delegator.ready().await;
        }
        cluster
    }

    /// Returns a client of a resource of the core group.
    pub(crate) fn client(&self, plural: &str) -> Client {
        Client::find(&self.registry, "", plural).unwrap()
    }

    /// Stores raw bytes, whatever was there.
    pub(crate) async fn store_raw(&self, key: &str, value: &'static [u8]) {
        let revision = self.memory.get(key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
        self.memory.put(key, Bytes::from_static(value), revision, None).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

pub(crate) fn object(literal: Value) -> Object {
    match literal {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn config_map(name: &str, datum: &str) -> Object {
    object(json!({"metadata": {"name": name, "namespace": "ns"}, "data": {"datum": datum}}))
}
