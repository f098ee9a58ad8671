//! Tests of several servers over one store.
#![allow(clippy::unwrap_used, clippy::panic)]

use component_base::features::Gates;
use component_base::metrics::MetricsRegistry;
use std::net::Ipv4Addr;

use api::options::Preconditions;
use api::tree;
use cacher::{Delegator, Options};
use jsontree::Value;
use storage::memory::Memory;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::service_cidr::DefaultServiceCidr;
use crate::services;
use crate::testing::{SystemClock, SystemEntropy};

/// Longer than the lease of a dead server plus the next round of another one.
const A_WHILE: Duration = Duration::from_secs(100);

/// A server that is not ready yet.
struct Server {
    service: Arc<KubernetesService>,
    endpoints: Client,
    slices: Client,
    tasks: Tasks,
}

impl Server {
    async fn start(
        storage: &Arc<dyn Storage>,
        last: u8,
        change: impl FnOnce(&mut KubernetesServiceOptions),
    ) -> Self {
        let range = Cidr { network: Ipv4Addr::new(10, 0, 0, 0).into(), prefix_len: 24 };
        let mut options = KubernetesServiceOptions {
            address: Ipv4Addr::new(192, 0, 2, last).into(),
            port: 6443,
            service_range: Some(range),
            node_port: 0,
            reconciler: EndpointReconciler::Lease,
            prefix: "/registry".to_owned(),
        };
        change(&mut options);
        let resources = registry::ingest::resources("/registry", Gates::default(), |_| false);
        let (delegator, _) = Delegator::new(Arc::clone(storage), "/registry", resources, Options::default());
        let clock = Arc::new(SystemClock);
        let entropy = Arc::new(SystemEntropy);
        let registry = Registry::new(delegator.clone(), "/registry", clock, entropy, Duration::from_secs(1));
        let pools = registry::services::Options {
            families: services::families(&[range]),
            node_ports: 30_000..=32_767,
            bitmap_ranges: Vec::new(),
            storage: Arc::clone(storage),
            prefix: "/registry".to_owned(),
            entropy: Arc::new(SystemEntropy),
        };
        let metrics = MetricsRegistry::default();
        let (registry, _, following) = services::with_pools(pools, registry, &delegator, &metrics).unwrap();
        tokio::spawn(following.run());
        let cidr = Arc::new(DefaultServiceCidr::new(&[range], &registry).unwrap());
        let service = Arc::new(KubernetesService::new(options, &registry, Arc::clone(storage)).unwrap());
        let tasks = Tasks::new(CancellationToken::new(), &metrics);
        cidr.hook(&tasks).work.await.unwrap();
        service.hook(&tasks).work.await.unwrap();
        let endpoints = Client::find(&registry, "", "endpoints").unwrap();
        let slices = Client::find(&registry, "discovery.k8s.io", "endpointslices").unwrap();
        Server { service, endpoints, slices, tasks }
    }

    /// Returns the addresses of the Endpoints and the slice, which must be equal; `None` if there are none
    /// yet.
    async fn addresses(&self) -> Option<Vec<String>> {
        let endpoints = self.endpoints.get("default", "kubernetes", ReadFreshness::Cached).await.unwrap()?;
        let slice = self.slices.get("default", "kubernetes", ReadFreshness::Cached).await.unwrap().unwrap();
        let subsets = tree::children(&endpoints, "subsets");
        let of_endpoints = subsets.flat_map(|subset| tree::children(subset, "addresses"));
        let of_endpoints: Vec<String> = of_endpoints.map(|a| tree::text(a, "ip").to_owned()).collect();
        let of_slice = tree::children(&slice, "endpoints").flat_map(|e| tree::texts(e, "addresses"));
        assert_eq!(of_slice.collect::<Vec<_>>(), of_endpoints);
        Some(of_endpoints)
    }

    async fn die(&self) {
        self.tasks.finish(A_WHILE).await;
    }

    async fn stop(&self) {
        self.tasks.finish(A_WHILE).await;
        self.service.remove_at_shutdown().await;
    }
}

fn store() -> Arc<dyn Storage> {
    Arc::new(Memory::new())
}

fn addresses(last: &[u8]) -> Option<Vec<String>> {
    Some(last.iter().map(|last| format!("192.0.2.{last}")).collect())
}

#[tokio::test(start_paused = true)]
async fn servers_are_endpoints_while_ready() {
    let storage = store();
    let one = Server::start(&storage, 1, |_| {}).await;
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, None, "it is not ready");
    one.tasks.server_is_ready();
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1]));
    let two = Server::start(&storage, 2, |_| {}).await;
    two.tasks.server_is_ready();
    let three = Server::start(&storage, 3, |_| {}).await;
    three.tasks.server_is_ready();
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1, 2, 3]));
    two.die().await;
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1, 3]));
    three.stop().await;
    assert_eq!(one.addresses().await, addresses(&[1]), "at once");
    one.stop().await;
    assert_eq!(one.addresses().await, addresses(&[]));
}

#[tokio::test(start_paused = true)]
async fn crashed_server_is_no_endpoint_until_ready_again() {
    let storage = store();
    let one = Server::start(&storage, 1, |_| {}).await;
    one.tasks.server_is_ready();
    let two = Server::start(&storage, 2, |_| {}).await;
    two.tasks.server_is_ready();
    sleep(A_WHILE).await;
    two.die().await;
    let again = Server::start(&storage, 2, |_| {}).await;
    assert_eq!(one.addresses().await, addresses(&[1]));
    again.tasks.server_is_ready();
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1, 2]));
}

#[tokio::test(start_paused = true)]
async fn server_can_leave_endpoints_unmanaged() {
    let storage = store();
    let server = Server::start(&storage, 1, |options| options.reconciler = EndpointReconciler::None).await;
    server.tasks.server_is_ready();
    sleep(A_WHILE).await;
    assert_eq!(server.addresses().await, None);
    assert!(storage.get("/registry/services/specs/default/kubernetes").await.unwrap().kv.is_some());
    server.stop().await;
    assert_eq!(storage.count("/registry/masterleases/").await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn counted_servers_add_and_remove_themselves_without_leases() {
    let storage = store();
    let counted = |options: &mut KubernetesServiceOptions| {
        options.reconciler = EndpointReconciler::MasterCount(2);
    };
    let one = Server::start(&storage, 1, counted).await;
    one.tasks.server_is_ready();
    let two = Server::start(&storage, 2, counted).await;
    two.tasks.server_is_ready();
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1, 2]));
    two.die().await;
    sleep(A_WHILE).await;
    assert_eq!(one.addresses().await, addresses(&[1, 2]), "nobody notices");
    let again = Server::start(&storage, 2, counted).await;
    assert_eq!(one.addresses().await, addresses(&[1]), "it is not ready yet");
    again.tasks.server_is_ready();
    sleep(A_WHILE).await;
    one.stop().await;
    assert_eq!(again.addresses().await, addresses(&[2]));
    assert_eq!(storage.count("/registry/masterleases/").await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn changed_service_is_kept_and_deleted_one_recreated() {
    let storage = store();
    let server = Server::start(&storage, 1, |_| {}).await;
    server.tasks.server_is_ready();
    sleep(A_WHILE).await;
    let key = "/registry/services/specs/default/kubernetes";
    let services = &server.service.services;
    let labelled = |current: Option<&Object>| {
        let mut service = current.cloned()?;
        schema::object::set(&mut service, &["metadata", "labels", "x"], "y");
        Some(service)
    };
    services.reconcile("default", "kubernetes", &labelled).await.unwrap();
    let revision = storage.get(key).await.unwrap().kv.unwrap().mod_revision;
    sleep(A_WHILE).await;
    let now = storage.get(key).await.unwrap().kv.unwrap().mod_revision;
    assert_eq!(now, revision);
    services.delete("default", "kubernetes", Preconditions::default()).await.unwrap();
    sleep(A_WHILE).await;
    let service = services.get("default", "kubernetes", ReadFreshness::Cached).await.unwrap().unwrap();
    assert_eq!(service["metadata"]["labels"], json!({"component": "apiserver", "provider": "kubernetes"}));
}

#[test]
fn service_has_first_address_and_optional_node_port() {
    let check = |node_port: u16, kind: &str, expected: Value| {
        let service = service(Ipv4Addr::new(10, 0, 0, 1).into(), 6443, node_port);
        let spec = json!({
            "ports": [expected],
            "clusterIP": "10.0.0.1",
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "type": kind,
        });
        assert_eq!(service["spec"], spec);
    };
    let mut port = json!({"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443});
    check(0, "ClusterIP", port.clone());
    port["nodePort"] = json!(30443);
    check(30443, "NodePort", port);
}
