//! API servers that answer for groups of their own, beside this one (upstream's `kube-aggregator`).
//!
//! One task follows the APIServices. An APIService that names a Service is served from the next request on: its version
//! goes into the catalog, over what this server itself may have of that name, and requests for it are forwarded
//! (`endpoints::aggregated`). For each there are two more tasks: one finds out whether the server answers, and writes
//! the condition that decides about forwarding; one asks it what it serves, for discovery and OpenAPI. Every replica
//! does the same, and writes what is not there already.

mod availability;
mod described;
mod discovery;
mod figures;
mod registered;
mod remote;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ::api::catalog::{Proxied, ProxiedVersion};
use ::api::resources::{self, Handle};
use apimachinery::status::Reason;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use client::{Address, Dialer};
use endpoints::aggregated::{BackendAddress, ErrorResponse, Servers};
use endpoints::routing::served::Served;
use registry::client::Client;
use registry::informer::{Informer, InformerTask};
use registry::{Registry, meta};
use server::metrics::Collector;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::config::AggregationConfig;
use crate::service_addresses::ServiceAddresses;
use availability::{Verdict, Watcher};
use described::{Describer, Told, unknown};
use figures::Figures;
use registered::{ApiService, Place, Registered};
use remote::Remote;

const GROUP: &str = "apiregistration.k8s.io";
/// The pause after a write that failed.
const RETRY: Duration = Duration::from_secs(1);
/// Upstream's names for the beginning of what is done here.
pub const HOOKS: [&str; 8] = [
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];
/// How many servers may have said something that nobody has heard yet. Further ones wait.
const TOLD_MAX: usize = 16;

/// The servers behind APIServices, for those who forward requests.
pub(crate) struct Remotes {
    by_name: ArcSwap<HashMap<String, Arc<Remote>>>,
    follower: Informer<Registered>,
}

#[async_trait]
impl Servers for Remotes {
    async fn way(&self, api_service: &str) -> Result<BackendAddress, ErrorResponse> {
        let unavailable = || ErrorResponse { code: 503, message: "service unavailable".to_owned() };
        let remote = self.by_name.load().get(api_service).cloned().ok_or_else(unavailable)?;
        if !self.follower.read(|registered| registered.is_available(api_service)) {
            return Err(unavailable());
        }
        let broken = |error: &String| ErrorResponse { code: 500, message: error.clone() };
        let network = Arc::clone(remote.network.as_ref().map_err(broken)?);
        let Address { host, port } = remote.address().map_err(|error| {
            tracing::error!(api_service, error, "the Service of an APIService leads nowhere");
            unavailable()
        })?;
        Ok(BackendAddress { network, host, port })
    }
}

/// Serves what others answer for.
pub struct Aggregator {
    config: AggregationConfig,
    follower: Informer<Registered>,
    served: Arc<Served>,
    addresses: ServiceAddresses,
    /// The way to the servers, if not through this machine's own network.
    dialer: Option<Dialer>,
    status: Client,
    figures: Arc<Figures>,
    remotes: Arc<Remotes>,
    /// What each server said last, by APIService.
    said: HashMap<String, Arc<Proxied>>,
    /// Those who ask servers, by APIService.
    asking: HashMap<String, AbortHandle>,
    tasks: JoinSet<()>,
    told: (mpsc::Sender<Told>, mpsc::Receiver<Told>),
    /// What is in the catalog, by group.
    published: BTreeMap<String, Vec<ProxiedVersion>>,
    /// Whether all APIServices that there were at start are served, and their servers have said what they serve or
    /// failed to.
    settled: watch::Sender<bool>,
}

impl Aggregator {
    /// What serves the APIServices of a registry, and what follows them while it runs. `addresses` know where Services
    /// are; with them is the way there, if it is not through this machine's own network.
    ///
    /// # Errors
    /// APIServices are not served, or what is shown to servers cannot be used.
    pub fn new(
        config: &AggregationConfig,
        registry: &Registry,
        served: &Arc<Served>,
        (addresses, dialer): (ServiceAddresses, Option<Dialer>),
    ) -> Result<(Self, InformerTask<Registered>), String> {
        remote::check(config)?;
        let row = resources::find(GROUP, "v1", "apiservices", "").map(Handle::from);
        let (follower, following) = Informer::new(registry, "aggregation", row.into_iter().collect());
        let remotes = Remotes { by_name: ArcSwap::default(), follower: follower.clone() };
        let aggregator = Aggregator {
            config: config.clone(),
            served: Arc::clone(served),
            addresses,
            dialer,
            status: Client::find(registry, GROUP, "apiservices")?.through("status")?,
            figures: Arc::default(),
            remotes: Arc::new(remotes),
            said: HashMap::new(),
            asking: HashMap::new(),
            tasks: JoinSet::new(),
            told: mpsc::channel(TOLD_MAX),
            published: BTreeMap::new(),
            settled: watch::Sender::new(false),
            follower,
        };
        Ok((aggregator, following))
    }

    /// The way to the servers.
    pub fn servers(&self) -> Arc<dyn Servers> {
        Arc::clone(&self.remotes) as Arc<dyn Servers>
    }

    /// Done when all APIServices that there were at start are served, and their servers have said what they serve or
    /// failed to.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut settled = self.settled.subscribe();
        async move {
            // The other end goes when the server stops.
            _ = settled.wait_for(|settled| *settled).await;
        }
    }

    /// Done when all APIServices of these names are said to be available.
    pub fn available(&self, names: Vec<String>) -> impl Future<Output = ()> + Send + use<> {
        let follower = self.follower.clone();
        let all = move |view: &Registered| names.iter().all(|name| view.is_available(name));
        async move { follower.wait_for(all).await }
    }

    /// What is counted.
    pub fn collector(&self) -> Arc<dyn Collector> {
        Arc::clone(&self.figures) as Arc<dyn Collector>
    }

    /// Serves APIServices until this is dropped.
    pub async fn run(mut self) {
        let (mut seen, mut silent) = (None, HashSet::new());
        let mut failed = false;
        loop {
            tokio::select! {
                () = self.follower.wait_for(|view| Some(view.changes()) != seen) => {}
                () = sleep(RETRY), if failed => {}
                // One end is here, so that it stays open.
                Some(told) = self.told.1.recv() => {
                    silent.remove(&told.remote.service.name);
                    self.hear(told);
                    self.settle(&silent);
                    continue;
                }
                Some(_) = self.tasks.join_next() => continue,
            }
            let (changes, services) = self.follower.read(|view| (view.changes(), view.all()));
            let is_first = seen.is_none();
            seen = Some(changes);
            self.take(&services).await;
            self.publish(&services);
            if is_first {
                silent = self.asking.keys().cloned().collect();
            }
            silent.retain(|name| self.asking.contains_key(name));
            self.settle(&silent);
            failed = !self.tell_local(&services).await;
        }
    }

    fn settle(&self, silent: &HashSet<String>) {
        self.settled.send_if_modified(|settled| {
            let is_new = silent.is_empty() && !*settled;
            *settled |= is_new;
            is_new
        });
    }

    /// Takes in what a server said.
    fn hear(&mut self, told: Told) {
        let name = &told.remote.service.name;
        let current =
            self.remotes.by_name.load().get(name).is_some_and(|known| Arc::ptr_eq(known, &told.remote));
        if current && self.said.get(name).is_none_or(|before| **before != told.proxied) {
            self.said.insert(name.clone(), Arc::new(told.proxied));
            let services = self.follower.read(Registered::all);
            self.publish(&services);
        }
    }

    /// Makes the servers those of these APIServices.
    async fn take(&mut self, services: &[Arc<ApiService>]) {
        let before = self.remotes.by_name.load_full();
        let mut now = HashMap::new();
        for service in services {
            let Some(place) = &service.place else { continue };
            let known = before.get(&service.name).filter(|known| known.is_of(service));
            let remote = match known {
                Some(known) => Arc::clone(known),
                None => match self.begin(service, place).await {
                    Some(remote) => remote,
                    None => continue,
                },
            };
            now.insert(service.name.clone(), remote);
        }
        let names: HashSet<&str> = services.iter().map(|service| service.name.as_str()).collect();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.asking.remove(name).into_iter().for_each(|task| task.abort());
            self.said.remove(name);
        }
        self.figures.keep(&names);
        self.remotes.by_name.store(Arc::new(now));
    }

    /// Begins to ask the server of an APIService.
    async fn begin(&mut self, service: &Arc<ApiService>, place: &Place) -> Option<Arc<Remote>> {
        let (service, place) = (Arc::clone(service), place.clone());
        let (places, config) = ((self.addresses.clone(), self.dialer.clone()), self.config.clone());
        // It reads files.
        let making = move || Remote::new(service, place, places, &config);
        let remote = Arc::new(tokio::task::spawn_blocking(making).await.ok()?);
        let name = remote.service.name.clone();
        let back = Arc::new(Notify::new());
        let watcher = Watcher {
            remote: Arc::clone(&remote),
            status: self.status.clone(),
            figures: Arc::clone(&self.figures),
            back: Arc::clone(&back),
        };
        let describer = Describer::new(Arc::clone(&remote), self.told.0.clone(), back);
        let addresses = self.addresses.clone();
        let task = self.tasks.spawn(async move {
            addresses.ready().await;
            tokio::join!(watcher.run(), describer.run());
        });
        self.said.remove(&name);
        self.asking.insert(name, task).into_iter().for_each(|before| before.abort());
        Some(remote)
    }

    /// Makes the catalog's next generation, if anything differs.
    fn publish(&mut self, services: &[Arc<ApiService>]) {
        let mut wanted: BTreeMap<String, Vec<ProxiedVersion>> = BTreeMap::new();
        for service in services.iter().filter(|service| service.place.is_some()) {
            let said = self.said.get(&service.name).cloned();
            wanted.entry(service.group.clone()).or_default().push(ProxiedVersion {
                name: service.version.clone(),
                group_priority: service.group_priority,
                priority: service.version_priority,
                proxied: said.unwrap_or_else(|| Arc::new(unknown(&service.name))),
            });
        }
        let groups: HashSet<&String> = wanted.keys().chain(self.published.keys()).collect();
        let changed: Vec<&String> =
            groups.into_iter().filter(|group| wanted.get(*group) != self.published.get(*group)).collect();
        if !changed.is_empty() {
            self.served.change(|catalog| {
                changed.iter().fold(catalog.clone(), |catalog, group| {
                    catalog.with_proxied(group, wanted.get(*group).cloned().unwrap_or_default())
                })
            });
        }
        self.published = wanted;
    }

    /// Says of what this server answers for itself that it does; says whether all writes went well.
    async fn tell_local(&self, services: &[Arc<ApiService>]) -> bool {
        let mut well = true;
        for service in services.iter().filter(|service| service.place.is_none()) {
            self.figures.found(&service.name, true);
            if service.available && service.reason == "Local" {
                continue;
            }
            let (verdict, now) = (Verdict::local(), self.status.now());
            let wanted = |current: Option<&schema::object::Object>| {
                let current = current.filter(|current| meta::text(current, "uid") == service.uid)?;
                ApiService::of(current).place.is_none().then(|| verdict.told(current, now))?
            };
            if let Err(status) = self.status.reconcile("", &service.name, &wanted).await
                && status.reason != Reason::NotFound
            {
                tracing::warn!(name = service.name, error = status.message, "an APIService's status");
                well = false;
            }
        }
        well
    }
}
