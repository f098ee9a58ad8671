//! Aggregation layer: extension API servers behind APIServices (upstream's `kube-aggregator`).
//!
//! One task watches the APIServices. An APIService with a Service is served from the next request on. Its
//! version is added to the catalog, where it overrides a local version of the same name, and its requests are
//! forwarded (`endpoints::aggregated`).
//!
//! Each APIService has two more tasks. One checks the availability of the server and writes the condition
//! that controls forwarding. The other fetches discovery and OpenAPI. Every replica does the same and writes
//! only differences.

mod availability;
mod discovery;
mod discovery_task;
mod metrics;
mod registered;
mod remote;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ::api::catalog::{ProxiedApiService, ProxiedVersion};
use ::api::resources::{self, Handle};
use apimachinery::status::Reason;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use client::{Address, Dialer};
use component_base::metrics::MetricsRegistry;
use endpoints::aggregated::{BackendAddress, ErrorResponse, ServerResolver};
use endpoints::routing::served::ServedApi;
use registry::client::Client;
use registry::informer::{Informer, InformerTask};
use registry::{Registry, meta};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::config::AggregationConfig;
use crate::error::Error;
use crate::service_addresses::ServiceAddresses;
use availability::{Verdict, Watcher};
use discovery_task::{DiscoveryTask, DiscoveryUpdate, unknown};
use metrics::AvailabilityMetrics;
use registered::{ApiService, ApiServiceProjection, ServerAddress};
use remote::Remote;

const GROUP: &str = "apiregistration.k8s.io";
/// Delay after a failed write.
const RETRY: Duration = Duration::from_secs(1);
/// Upstream's names of the start hooks that this module implements.
pub const HOOKS: [&str; 7] = [
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];
/// Capacity of the channel of discovery results. Further servers wait.
const RESULTS_CAPACITY: usize = 16;

/// The servers behind APIServices, for request forwarding.
pub(crate) struct RemoteServers {
    by_name: ArcSwap<HashMap<String, Arc<Remote>>>,
    informer: Informer<ApiServiceProjection>,
}

#[async_trait]
impl ServerResolver for RemoteServers {
    async fn resolve(&self, api_service: &str) -> Result<BackendAddress, ErrorResponse> {
        let unavailable = || ErrorResponse { code: 503, message: "service unavailable".to_owned() };
        let remote = self.by_name.load().get(api_service).cloned().ok_or_else(unavailable)?;
        if !self.informer.read(|registered| registered.is_available(api_service)) {
            return Err(unavailable());
        }
        let broken = |error: &client::Error| ErrorResponse { code: 500, message: error.to_string() };
        let network = Arc::clone(remote.network.as_ref().map_err(broken)?);
        let Address { host, port } = remote.address().map_err(|error| {
            tracing::error!(api_service, %error, "the Service of an APIService leads nowhere");
            unavailable()
        })?;
        Ok(BackendAddress { network, host, port })
    }
}

/// Serves the groups of extension API servers.
pub struct Aggregator {
    config: AggregationConfig,
    informer: Informer<ApiServiceProjection>,
    served: Arc<ServedApi>,
    addresses: ServiceAddresses,
    /// The egress proxy to the servers; `None` for direct connections.
    dialer: Option<Dialer>,
    status: Client,
    metrics: Arc<AvailabilityMetrics>,
    remotes: Arc<RemoteServers>,
    /// The last discovery result of each server, by APIService.
    last_results: HashMap<String, Arc<ProxiedApiService>>,
    /// Discovery tasks by APIService.
    discovery_tasks: HashMap<String, AbortHandle>,
    tasks: JoinSet<()>,
    results: (mpsc::Sender<DiscoveryUpdate>, mpsc::Receiver<DiscoveryUpdate>),
    /// The published versions in the catalog, by group.
    published: BTreeMap<String, Vec<ProxiedVersion>>,
    /// True once every APIService that existed at start is served and its server's discovery has succeeded or
    /// failed.
    synced: watch::Sender<bool>,
}

impl Aggregator {
    /// Creates the aggregator for the APIServices of a registry, and the task that watches them. `addresses`
    /// resolves Services and contains the egress proxy, if there is one.
    ///
    /// # Errors
    /// APIServices are not served, or the client credentials are unusable.
    pub fn new(
        config: &AggregationConfig,
        registry: &Registry,
        served: &Arc<ServedApi>,
        addresses: ServiceAddresses,
        dialer: Option<Dialer>,
        metrics: &MetricsRegistry,
    ) -> Result<(Self, InformerTask<ApiServiceProjection>), Error> {
        remote::check(config)?;
        let row = resources::find(GROUP, "v1", "apiservices", "").map(Handle::from);
        let (informer, following) = Informer::new(registry, "aggregation", row.into_iter().collect());
        let remotes = RemoteServers { by_name: ArcSwap::default(), informer: informer.clone() };
        let aggregator = Aggregator {
            config: config.clone(),
            served: Arc::clone(served),
            addresses,
            dialer,
            status: Client::find(registry, GROUP, "apiservices")?.with_subresource("status")?,
            metrics: Arc::new(AvailabilityMetrics::new(metrics)),
            remotes: Arc::new(remotes),
            last_results: HashMap::new(),
            discovery_tasks: HashMap::new(),
            tasks: JoinSet::new(),
            results: mpsc::channel(RESULTS_CAPACITY),
            published: BTreeMap::new(),
            synced: watch::Sender::new(false),
            informer,
        };
        Ok((aggregator, following))
    }

    /// Returns the servers for request forwarding.
    pub fn servers(&self) -> Arc<dyn ServerResolver> {
        Arc::clone(&self.remotes) as Arc<dyn ServerResolver>
    }

    /// Completes once every APIService that existed at start is served and its server's discovery has
    /// succeeded or failed.
    pub fn synced(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut settled = self.synced.subscribe();
        async move {
            // The sender is dropped when the server stops.
            _ = settled.wait_for(|settled| *settled).await;
        }
    }

    /// Completes when all APIServices with these names are available.
    pub fn available(&self, names: Vec<String>) -> impl Future<Output = ()> + Send + use<> {
        let informer = self.informer.clone();
        let all = move |view: &ApiServiceProjection| names.iter().all(|name| view.is_available(name));
        async move { informer.wait_for(all).await }
    }

    /// Serves APIServices until dropped.
    pub async fn run(mut self) {
        let mut last_change = None;
        let mut silent = HashSet::new();
        let mut failed = false;
        loop {
            tokio::select! {
                () = self.informer.wait_for(|view| Some(view.changes()) != last_change) => {}
                () = sleep(RETRY), if failed => {}
                // `self` holds a sender, so the channel stays open.
                Some(update) = self.results.1.recv() => {
                    silent.remove(&update.remote.service.name);
                    self.handle_result(update);
                    self.mark_synced(&silent);
                    continue;
                }
                Some(_) = self.tasks.join_next() => continue,
            }
            let (changes, services) = self.informer.read(|view| (view.changes(), view.all()));
            let is_first = last_change.is_none();
            last_change = Some(changes);
            self.update_servers(&services).await;
            self.publish(&services);
            if is_first {
                silent = self.discovery_tasks.keys().cloned().collect();
            }
            silent.retain(|name| self.discovery_tasks.contains_key(name));
            self.mark_synced(&silent);
            failed = !self.write_local_conditions(&services).await;
        }
    }

    fn mark_synced(&self, silent: &HashSet<String>) {
        self.synced.send_if_modified(|settled| {
            let is_new = silent.is_empty() && !*settled;
            *settled |= is_new;
            is_new
        });
    }

    /// Handles a discovery result.
    fn handle_result(&mut self, update: DiscoveryUpdate) {
        let name = &update.remote.service.name;
        let current =
            self.remotes.by_name.load().get(name).is_some_and(|remote| Arc::ptr_eq(remote, &update.remote));
        if current && self.last_results.get(name).is_none_or(|before| **before != update.proxied) {
            self.last_results.insert(name.clone(), Arc::new(update.proxied));
            let services = self.informer.read(ApiServiceProjection::all);
            self.publish(&services);
        }
    }

    /// Updates the servers to match these APIServices.
    async fn update_servers(&mut self, services: &[Arc<ApiService>]) {
        let before = self.remotes.by_name.load_full();
        let mut now = HashMap::new();
        for service in services {
            let Some(address) = &service.address else { continue };
            let existing = before.get(&service.name).filter(|existing| existing.is_of(service));
            let remote = match existing {
                Some(existing) => Arc::clone(existing),
                None => match self.begin(service, address).await {
                    Some(remote) => remote,
                    None => continue,
                },
            };
            now.insert(service.name.clone(), remote);
        }
        let names: HashSet<&str> = services.iter().map(|service| service.name.as_str()).collect();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.discovery_tasks.remove(name).into_iter().for_each(|task| task.abort());
            self.last_results.remove(name);
        }
        self.metrics.retain(&names);
        self.remotes.by_name.store(Arc::new(now));
    }

    /// Starts the tasks for the server of an APIService.
    async fn begin(&mut self, service: &Arc<ApiService>, address: &ServerAddress) -> Option<Arc<Remote>> {
        let service = Arc::clone(service);
        let address = address.clone();
        let addresses = self.addresses.clone();
        let dialer = self.dialer.clone();
        let config = self.config.clone();
        // Reads files.
        let making = move || Remote::new(service, address, addresses, dialer, &config);
        let remote = Arc::new(tokio::task::spawn_blocking(making).await.ok()?);
        let name = remote.service.name.clone();
        let recovered = Arc::new(Notify::new());
        let watcher = Watcher {
            remote: Arc::clone(&remote),
            status: self.status.clone(),
            metrics: Arc::clone(&self.metrics),
            recovered: Arc::clone(&recovered),
        };
        let describer = DiscoveryTask::new(Arc::clone(&remote), self.results.0.clone(), recovered);
        let addresses = self.addresses.clone();
        let task = self.tasks.spawn(async move {
            addresses.ready().await;
            tokio::join!(watcher.run(), describer.run());
        });
        self.last_results.remove(&name);
        self.discovery_tasks.insert(name, task).into_iter().for_each(|before| before.abort());
        Some(remote)
    }

    /// Publishes a new catalog generation if anything differs.
    fn publish(&mut self, services: &[Arc<ApiService>]) {
        let mut desired: BTreeMap<String, Vec<ProxiedVersion>> = BTreeMap::new();
        for service in services.iter().filter(|service| service.address.is_some()) {
            let result = self.last_results.get(&service.name).cloned();
            desired.entry(service.group.clone()).or_default().push(ProxiedVersion {
                name: service.version.clone(),
                group_priority: service.group_priority,
                priority: service.version_priority,
                proxied: result.unwrap_or_else(|| Arc::new(unknown(&service.name))),
            });
        }
        let groups: HashSet<&String> = desired.keys().chain(self.published.keys()).collect();
        let changed: Vec<&String> =
            groups.into_iter().filter(|group| desired.get(*group) != self.published.get(*group)).collect();
        if !changed.is_empty() {
            self.served.change(|catalog| {
                changed.iter().fold(catalog.clone(), |catalog, group| {
                    catalog.with_proxied(group, desired.get(*group).cloned().unwrap_or_default())
                })
            });
        }
        self.published = desired;
    }

    /// Writes the `Available` condition of local APIServices. Returns false if a write failed.
    async fn write_local_conditions(&self, services: &[Arc<ApiService>]) -> bool {
        let mut well = true;
        for service in services.iter().filter(|service| service.address.is_none()) {
            self.metrics.set_available(&service.name, true);
            if service.available && service.reason == "Local" {
                continue;
            }
            let verdict = Verdict::local();
            let now = self.status.now();
            let desired = |current: Option<&schema::object::Object>| {
                let current = current.filter(|current| meta::text(current, "uid") == service.uid)?;
                ApiService::of(current).address.is_none().then(|| verdict.apply_condition(current, now))?
            };
            if let Err(status) = self.status.reconcile("", &service.name, &desired).await
                && status.reason != Reason::NotFound
            {
                tracing::warn!(name = service.name, error = status.message, "an APIService's status");
                well = false;
            }
        }
        well
    }
}
