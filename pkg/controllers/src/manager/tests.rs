//! Tests of the controllers over an in-memory store, in virtual time.
#![allow(clippy::unwrap_used, clippy::panic)]

use api::catalog::Catalog;
use api::options::DeleteOptions;
use apimachinery::time::UnixTime;
use async_trait::async_trait;
use cacher::{Delegator, Options};
use component_base::clock::{Clock, TestClock};
use component_base::features::Gates;
use jsontree::{Value, json};
use registry::client::{Client, ReadFreshness};
use registry::generic::{AdmitAll, DeleteRequest};
use registry::{Target, meta};
use schema::object::{self, Object};
use storage::memory::Memory;
use tokio::task::JoinHandle;

use super::*;
use crate::desired_state;
use crate::testing::SystemEntropy;

const START: UnixTime = UnixTime { seconds: 1_735_689_600, nanos: 0 };
/// Time within which the controllers must react.
const REACTION: Duration = Duration::from_secs(1);

/// A server without HTTP.
struct Cluster {
    registry: Registry,
    clock: Arc<TestClock>,
    driver: JoinHandle<()>,
    /// Sender of catalog changes, which never come.
    catalog_changes: watch::Sender<()>,
}

/// No aggregated API server.
struct NoRemoteContent;

#[async_trait]
impl RemoteContent for NoRemoteContent {
    async fn delete_all(&self, _: &str) -> ContentReport {
        ContentReport::default()
    }
}

impl Cluster {
    async fn new() -> Self {
        let memory = Arc::new(Memory::new());
        let resources = registry::ingest::resources("/registry", Gates::default(), |_| true);
        let options = Options { enabled: true, ..Options::default() };
        let (delegator, driver) = Delegator::new(memory, "/registry", resources, options);
        let clock = Arc::new(TestClock::at(START));
        let shared: Arc<dyn Clock> = clock.clone();
        let lifetime = Duration::from_secs(3600);
        let registry =
            Registry::new(delegator.clone(), "/registry", shared, Arc::new(SystemEntropy), lifetime);
        let driver = tokio::spawn(driver.run());
        delegator.ready().await;
        Cluster { registry, clock, driver, catalog_changes: watch::Sender::new(()) }
    }

    /// Runs the controllers until the result is dropped.
    fn start(&self) -> Running {
        let catalog = Arc::new(Catalog::builtin(|row| !row.off_by_default));
        let options = ManagerOptions {
            catalog: Arc::new(move || Arc::clone(&catalog)),
            catalog_changes: self.catalog_changes.subscribe(),
            root_ca: "PEM".into(),
            remote: Arc::new(NoRemoteContent),
        };
        Running(tokio::spawn(ControllerManager::new(&self.registry, options).unwrap().run()))
    }

    fn client(&self, plural: &str) -> Client {
        Client::find(&self.registry, "", plural).unwrap()
    }

    async fn get(&self, plural: &str, name: &str) -> Option<Object> {
        let namespace = if plural == "namespaces" { "" } else { "ns" };
        self.client(plural).get(namespace, name, ReadFreshness::Latest).await.unwrap()
    }

    async fn exists(&self, plural: &str, name: &str) -> bool {
        self.get(plural, name).await.is_some()
    }

    /// Creates a config map with these owners. Returns its UID.
    async fn create(&self, name: &str, owners: Value, finalizers: Value) -> String {
        let object = json!({"metadata": {
            "name": name, "namespace": "ns", "ownerReferences": owners, "finalizers": finalizers,
        }});
        let created = self.client("configmaps").create(desired_state::object(object)).await.unwrap();
        meta::text(&created, "uid").to_owned()
    }

    async fn create_namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}});
        self.client("namespaces").create(desired_state::object(namespace)).await.unwrap();
    }

    async fn delete(&self, plural: &str, name: &str, policy: &str) {
        let namespace = if plural == "namespaces" { "" } else { "ns" };
        let options =
            DeleteOptions { propagation_policy: Some(policy.to_owned()), ..DeleteOptions::default() };
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        let row = self.client(plural).row();
        self.registry.delete(&Target { resource: row, namespace, name }, &request).await.unwrap();
    }

    async fn drop_finalizers(&self, name: &str) {
        let mut change = |old: &Object| {
            let mut new = old.clone();
            meta::set_finalizers(&mut new, Vec::new());
            Ok(new)
        };
        self.client("configmaps").update("ns", name, &mut change).await.unwrap();
    }

    /// Writes the lease of kube-controller-manager.
    async fn renew(&self, holder: &str) {
        let renewed = self.clock.now().rfc3339().to_string().replace('Z', ".000000Z");
        let desired = |current: Option<&Object>| {
            let named = json!({"metadata": {"name": lease::NAME, "namespace": lease::NAMESPACE}});
            let mut desired = current.cloned().unwrap_or_else(|| desired_state::object(named));
            let mut spec = json!({"leaseDurationSeconds": 15, "renewTime": renewed});
            if let Some(spec) = spec.as_object_mut().filter(|_| !holder.is_empty()) {
                spec.insert("holderIdentity", holder.into());
            }
            desired.insert("spec", spec);
            Some(desired)
        };
        let client = Client::find(&self.registry, "coordination.k8s.io", "leases").unwrap();
        client.reconcile(lease::NAMESPACE, lease::NAME, &desired).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Controllers that run while this lives.
struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
}

fn blocked_owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
}

/// Waits for a condition, for at most [`REACTION`].
async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let polling = async {
        while !condition().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(REACTION, polling).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Gives the controllers the time for a reaction that must not come.
async fn settle() {
    sleep(REACTION).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_gets_default_objects() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    cluster.create_namespace("ns").await;
    until("account", || cluster.exists("serviceaccounts", "default")).await;
    until("bundle", || cluster.exists("configmaps", "kube-root-ca.crt")).await;
    cluster.delete("serviceaccounts", "default", "Background").await;
    cluster.delete("configmaps", "kube-root-ca.crt", "Background").await;
    until("account again", || cluster.exists("serviceaccounts", "default")).await;
    until("bundle again", || cluster.exists("configmaps", "kube-root-ca.crt")).await;
}

#[tokio::test(start_paused = true)]
async fn deleted_namespace_is_emptied() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    cluster.create_namespace("ns").await;
    cluster.create("a", json!([]), json!([])).await;
    cluster.delete("namespaces", "ns", "Background").await;
    until("namespace", || async { !cluster.exists("namespaces", "ns").await }).await;
    assert!(!cluster.exists("configmaps", "a").await);
    assert!(!cluster.exists("serviceaccounts", "default").await);
}

#[tokio::test(start_paused = true)]
async fn namespace_waits_for_finalizers() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    cluster.create_namespace("ns").await;
    cluster.create("held", json!([]), json!(["example.com/f"])).await;
    cluster.delete("namespaces", "ns", "Background").await;
    settle().await;
    let namespace = cluster.get("namespaces", "ns").await.unwrap();
    let conditions = object::get_list(&namespace, &["status", "conditions"]);
    let problems: Vec<_> = conditions.iter().filter(|c| c["status"] == "True").collect();
    let types: Vec<_> = problems.iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]);
    let message = "Some resources are remaining: configmaps. has 1 resource instances";
    assert_eq!(problems[0]["message"], message);
    cluster.drop_finalizers("held").await;
    until("namespace", || async { !cluster.exists("namespaces", "ns").await }).await;
}

#[tokio::test(start_paused = true)]
async fn background_deletion_removes_dependents() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let top = cluster.create("top", json!([]), json!([])).await;
    let middle = cluster.create("middle", json!([owner("top", &top)]), json!([])).await;
    cluster.create("leaf", json!([owner("middle", &middle)]), json!([])).await;
    settle().await;
    assert!(cluster.exists("configmaps", "leaf").await);
    cluster.delete("configmaps", "top", "Background").await;
    until("leaf", || async { !cluster.exists("configmaps", "leaf").await }).await;
    assert!(!cluster.exists("configmaps", "middle").await);
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_for_blocking_dependents() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let top = cluster.create("top", json!([]), json!([])).await;
    cluster.create("held", json!([blocked_owner("top", &top)]), json!(["example.com/f"])).await;
    cluster.create("free", json!([owner("top", &top)]), json!([])).await;
    cluster.delete("configmaps", "top", "Foreground").await;
    until("free", || async { !cluster.exists("configmaps", "free").await }).await;
    settle().await;
    assert!(cluster.exists("configmaps", "top").await && cluster.exists("configmaps", "held").await);
    cluster.drop_finalizers("held").await;
    until("top", || async { !cluster.exists("configmaps", "top").await }).await;
}

#[tokio::test(start_paused = true)]
async fn foreground_cycle_is_broken() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let top = cluster.create("top", json!([]), json!([])).await;
    let other = cluster.create("other", json!([blocked_owner("top", &top)]), json!([])).await;
    let mut change = |old: &Object| {
        let mut new = old.clone();
        meta::set(&mut new, "ownerReferences", Some(json!([blocked_owner("other", &other)])));
        Ok(new)
    };
    cluster.client("configmaps").update("ns", "top", &mut change).await.unwrap();
    cluster.delete("configmaps", "top", "Foreground").await;
    until("both", || async {
        !cluster.exists("configmaps", "top").await && !cluster.exists("configmaps", "other").await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn orphans_lose_their_owner() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let top = cluster.create("top", json!([]), json!([])).await;
    cluster.create("leaf", json!([owner("top", &top)]), json!([])).await;
    cluster.delete("configmaps", "top", "Orphan").await;
    until("top", || async { !cluster.exists("configmaps", "top").await }).await;
    settle().await;
    let leaf = cluster.get("configmaps", "leaf").await.unwrap();
    assert!(object::get_list(&leaf, &["metadata", "ownerReferences"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn recreated_owner_is_another_owner() {
    let cluster = Cluster::new().await;
    let top = cluster.create("top", json!([]), json!([])).await;
    cluster.create("leaf", json!([owner("top", &top)]), json!([])).await;
    cluster.delete("configmaps", "top", "Background").await;
    let again = cluster.create("top", json!([]), json!([])).await;
    cluster.create("new", json!([owner("top", &again)]), json!([])).await;
    // A restart finds the dependents of the first owner.
    let _running = cluster.start();
    until("leaf", || async { !cluster.exists("configmaps", "leaf").await }).await;
    settle().await;
    assert!(cluster.exists("configmaps", "new").await);
}

#[tokio::test(start_paused = true)]
async fn absent_owner_beside_another_is_removed() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let top = cluster.create("top", json!([]), json!([])).await;
    cluster.create("leaf", json!([owner("top", &top), owner("never", "u")]), json!([])).await;
    settle().await;
    let leaf = cluster.get("configmaps", "leaf").await.unwrap();
    let owners = object::get_list(&leaf, &["metadata", "ownerReferences"]);
    assert_eq!(owners.iter().map(|o| o["name"].as_str().unwrap()).collect::<Vec<_>>(), ["top"]);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_owner_is_found() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    cluster.create_namespace("top").await;
    let top = cluster.get("namespaces", "top").await.unwrap();
    let owner = |uid: &str| json!([{"apiVersion": "v1", "kind": "Namespace", "name": "top", "uid": uid}]);
    cluster.create("leaf", owner(meta::text(&top, "uid")), json!([])).await;
    cluster.create("wrong", owner("u"), json!([])).await;
    until("wrong", || async { !cluster.exists("configmaps", "wrong").await }).await;
    assert!(cluster.exists("configmaps", "leaf").await);
    cluster.delete("namespaces", "top", "Background").await;
    until("leaf", || async { !cluster.exists("configmaps", "leaf").await }).await;
}

#[tokio::test(start_paused = true)]
async fn owner_of_unknown_kind_protects() {
    let cluster = Cluster::new().await;
    let _running = cluster.start();
    let owner = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u"}]);
    cluster.create("leaf", owner, json!([])).await;
    settle().await;
    assert!(cluster.exists("configmaps", "leaf").await);
}

#[tokio::test(start_paused = true)]
async fn held_lease_stops_the_controllers() {
    let cluster = Cluster::new().await;
    cluster.renew("other").await;
    let _running = cluster.start();
    cluster.create_namespace("ns").await;
    let top = cluster.create("top", json!([]), json!([])).await;
    cluster.create("leaf", json!([owner("top", &top)]), json!([])).await;
    cluster.delete("configmaps", "top", "Background").await;
    for _ in 0..3 {
        sleep(Duration::from_secs(10)).await;
        cluster.clock.advance_seconds(10);
        cluster.renew("other").await;
    }
    assert!(!cluster.exists("serviceaccounts", "default").await);
    assert!(cluster.exists("configmaps", "leaf").await);
    sleep(Duration::from_secs(15)).await;
    until("account", || cluster.exists("serviceaccounts", "default")).await;
    until("leaf", || async { !cluster.exists("configmaps", "leaf").await }).await;
}

#[tokio::test(start_paused = true)]
async fn released_lease_starts_the_controllers() {
    let cluster = Cluster::new().await;
    cluster.renew("other").await;
    let _running = cluster.start();
    cluster.create_namespace("ns").await;
    settle().await;
    assert!(!cluster.exists("serviceaccounts", "default").await);
    cluster.clock.advance_seconds(1);
    cluster.renew("").await;
    until("account", || cluster.exists("serviceaccounts", "default")).await;
}
