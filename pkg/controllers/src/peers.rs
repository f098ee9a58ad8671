//! The other API servers of the cluster: addresses, served resources and request proxying (upstream's
//! `util/peerproxy` and `reconcilers/peer_endpoint_lease.go`).
//!
//! A server is identified by its identity Lease, and publishes its address in a lease in the store. Its
//! discovery is fetched when its identity appears or changes its holder, which means a new process. Resources
//! defined by objects (custom resources, APIServices of other servers) are known to every server, so their
//! requests are never proxied.

mod address;
mod discovery;
mod projection;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::api::resources::{self, Handle};
use ::api::tree;
use apimachinery::foreign_text::ForeignText;
use apimachinery::user_info::UserInfo;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use client::{Address, Client, Dialer, Limits, Options, Source, Tls, Trust};
use component_base::metrics::MetricsRegistry;
use endpoints::aggregated::{BackendAddress, HeaderError, set_user};
use endpoints::peers::{
    PEER_PROXIED, PeerGroups, PeerMetrics, PeerProxy, PeerResolver, ResourceName, SyncErrorReason,
};
use endpoints::proxy::{Network, SingleClient};
use futures::future::{BoxFuture, join, ready};
use http::header::{ACCEPT, HeaderValue};
use http::{Method, Request};
use registry::Registry;
use registry::client::APISERVER_USER;
use registry::informer::{Informer, InformerTask};
use schema::object::Object;
use server::tls::CertificateFiles;
use storage::Storage;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::endpoint_leases::EndpointLeases;
use crate::error::Error;
use crate::hook::{self, PostStartHook, start_event};
use crate::identity_lease;
pub use address::PeerAddress;
use discovery::PeerDiscovery;
use projection::PeerProjection;

/// Directory of the leases with server addresses.
const DIRECTORY: &str = "peerserverleases";
/// The server name in the certificates of peers.
const SERVER_NAME: &str = "kubernetes.default.svc";
/// `Accept` header for the resources that a server serves itself.
const ACCEPT_DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Limits of a discovery request.
const DISCOVERY: Limits =
    Limits { total: Duration::from_secs(5), response_bytes_max: 16 << 20, redirects_max: 0 };
/// Back-off after a failed discovery: first and maximum delay.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// Time for which deleted definitions remain excluded from the resources of peers, because peers may see the
/// deletion later.
const GRACE: Duration = Duration::from_secs(300);

type GroupVersion = (String, String);

/// Known servers, for request proxying.
struct PeerDirectory {
    own_name: String,
    leases: EndpointLeases,
    network: Arc<dyn Network>,
    discovered: ArcSwap<PeerResources>,
}

/// Resources of all peers, without those defined by objects.
#[derive(Default)]
struct PeerResources {
    groups: Arc<PeerGroups>,
    resources: BTreeMap<String, HashSet<discovery::Name>>,
}

#[async_trait]
impl PeerResolver for PeerDirectory {
    fn own_name(&self) -> &str {
        &self.own_name
    }

    fn serves(&self, named: &ResourceName<'_>) -> bool {
        let name = discovery::Name::of(named);
        self.discovered.load().resources.values().any(|resources| resources.contains(&name))
    }

    async fn resolve(&self, resource: &ResourceName<'_>) -> Option<BackendAddress> {
        let discovered = self.discovered.load_full();
        let name = discovery::Name::of(resource);
        let mut able: Vec<&String> = discovered
            .resources
            .iter()
            .filter(|(_, all)| all.contains(&name))
            .map(|(server, _)| server)
            .collect();
        while !able.is_empty() {
            let server = able.swap_remove(rand::random_range(0..able.len()));
            if let Some(Address { host, port }) = self.address(server).await {
                return Some(BackendAddress { network: Arc::clone(&self.network), host, port });
            }
        }
        None
    }

    fn groups(&self) -> Arc<PeerGroups> {
        Arc::clone(&self.discovered.load().groups)
    }
}

impl PeerDirectory {
    /// Returns the published address of a server.
    async fn address(&self, server: &str) -> Option<Address> {
        let lease = self.leases.get(server).await.ok().flatten()?;
        address::of(&lease)
    }
}

/// Request proxying with its background task.
pub struct PeerProxyParts {
    pub proxy: Arc<PeerProxy>,
    pub run: BoxFuture<'static, ()>,
    pub hooks: Vec<PostStartHook>,
}

/// Options for connections to peers.
pub struct PeerProxyOptions {
    pub host_name: String,
    /// The prefix of all keys in the store.
    pub prefix: String,
    /// The certificate that peers trust.
    pub certificate: Option<CertificateFiles>,
    /// The CA bundle for certificates of peers.
    pub authority: Option<PathBuf>,
    pub dialer: Option<Dialer>,
}

impl PeerProxyParts {
    /// Creates the proxy with the configured CA and client certificate.
    ///
    /// # Errors
    /// The client certificate is missing or unusable.
    pub fn new(
        options: PeerProxyOptions,
        registry: &Registry,
        storage: Arc<dyn Storage>,
        metrics: &MetricsRegistry,
    ) -> Result<Self, Error> {
        let host_name = options.host_name.clone();
        let prefix = options.prefix.clone();
        let client = client(options)?;
        let metrics = PeerMetrics::new(metrics);
        let directory = Arc::new(PeerDirectory {
            own_name: identity_lease::name(&host_name),
            leases: EndpointLeases::new(storage, &prefix, DIRECTORY)?,
            network: Arc::new(SingleClient(client.clone())),
            discovered: ArcSwap::default(),
        });
        let row = |group, plural| resources::find(group, "v1", plural, "").map(Handle::from);
        let rows = [
            row("coordination.k8s.io", "leases"),
            row("apiextensions.k8s.io", "customresourcedefinitions"),
            row("apiregistration.k8s.io", "apiservices"),
        ];
        let rows = rows.into_iter().flatten().collect();
        let (informer, following) = Informer::new(registry, "peers", rows);
        let (attempted, all_met) = watch::channel(false);
        let asker = DiscoveryClient {
            directory: Arc::clone(&directory),
            informer: informer.clone(),
            client,
            metrics: metrics.clone(),
            attempted,
            peers: BTreeMap::new(),
            defined: HashMap::new(),
            number: 0,
        };
        let informer_ready = start_event(async move { informer.ready().await });
        let attempted =
            start_event(async move { _ = all_met.clone().wait_for(|attempted| *attempted).await });
        // The local catalog describes this server's own resources.
        let local_ready = start_event(ready(()));
        let hooks = vec![
            hook::hook("mixed-version-proxy-handler", informer_ready),
            hook::hook("local-discovery-cache-sync", local_ready),
            hook::hook("peer-discovery-workers", attempted),
        ];
        Ok(PeerProxyParts {
            proxy: Arc::new(PeerProxy::new(directory, metrics)),
            run: Box::pin(asker.run(following)),
            hooks,
        })
    }
}

fn client(options: PeerProxyOptions) -> Result<Client, Error> {
    let files = options
        .certificate
        .ok_or(Error::Missing("error building peer proxy handler, proxy-cert-file not specified"))?;
    let authority = options.authority.ok_or(Error::Missing("nobody vouches for peers"))?;
    let tls = Tls {
        trust: Trust::Bundle(Source::File(authority)),
        certificate: Some((Source::File(files.certificate), Source::File(files.key))),
        server_name: Some(SERVER_NAME.to_owned()),
        ..Tls::default()
    };
    let dialer = options.dialer;
    Ok(Client::new(Options { tls, dialer, ..Options::default() })?)
}

/// Discovery client for the other servers.
struct DiscoveryClient {
    directory: Arc<PeerDirectory>,
    informer: Informer<PeerProjection>,
    client: Client,
    metrics: PeerMetrics,
    /// True once discovery of all initial servers was attempted.
    attempted: watch::Sender<bool>,
    /// Discovery results by server, with the holders of their identities.
    peers: BTreeMap<String, Peer>,
    /// Versions defined by objects, and the time of their deletion.
    defined: HashMap<GroupVersion, Option<Instant>>,
    number: u64,
}

/// Error of the discovery of a peer.
#[derive(Debug, thiserror::Error)]
enum PeerError {
    #[error("the lease has no peer address")]
    NoAddress,
    /// The address is invalid.
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Headers(#[from] HeaderError),
    /// The request failed. The text is that of Go's client.
    #[error("{message}")]
    Request { message: String, source: client::Error },
    /// The peer responded with another code than 200.
    #[error("status {0}")]
    Code(u16),
    /// The document is invalid.
    #[error("{}", ForeignText::displayed(.0))]
    Json(#[from] schema::json::Error),
}

/// State of a peer.
struct Peer {
    holder: String,
    discovery: PeerDiscovery,
    /// Time of the next attempt and its back-off; `None` after a success.
    retry: Option<(Instant, Duration)>,
}

impl DiscoveryClient {
    async fn run(mut self, task: InformerTask<PeerProjection>) {
        let discovering = async {
            let mut last_change = None;
            loop {
                let due = self.due();
                tokio::select! {
                    () = self.informer.wait_for(|peers| Some(peers.changes()) != last_change) => {}
                    () = sleep_until(due) => {}
                }
                let peers = self.informer.snapshot();
                last_change = Some(peers.changes());
                self.update_servers(&peers);
                self.run_due().await;
                self.publish();
                self.attempted.send_replace(true);
            }
        };
        join(task.run(), discovering).await;
    }

    /// Returns the time of the next scheduled work.
    fn due(&self) -> Instant {
        let retries = self.peers.values().filter_map(|peer| Some(peer.retry?.0));
        let expiries = self.defined.values().filter_map(|since| Some((*since)? + GRACE));
        retries.chain(expiries).min().unwrap_or_else(|| Instant::now() + GRACE)
    }

    /// Updates the list of servers and of versions defined by objects.
    fn update_servers(&mut self, projection: &PeerProjection) {
        let now = Instant::now();
        let holders: BTreeMap<&str, &str> =
            projection.servers().filter(|(name, _)| *name != self.directory.own_name).collect();
        self.peers.retain(|name, _| holders.contains_key(name.as_str()));
        for (name, holder) in holders {
            if self.peers.get(name).is_none_or(|peer| peer.holder != holder) {
                let holder = holder.to_owned();
                let discovery = PeerDiscovery::default();
                self.peers.insert(name.to_owned(), Peer { holder, discovery, retry: Some((now, PAUSES.0)) });
            }
        }
        let defined: HashSet<&GroupVersion> = projection.defined().collect();
        for (version, since) in &mut self.defined {
            *since = (!defined.contains(version)).then(|| since.unwrap_or(now));
        }
        self.defined.retain(|_, since| since.is_none_or(|since| now < since + GRACE));
        self.defined.extend(defined.into_iter().map(|version| (version.clone(), None)));
    }

    /// Runs all due discoveries concurrently.
    async fn run_due(&mut self) {
        let now = Instant::now();
        let turns = self.peers.iter().filter(|(_, peer)| peer.retry.is_some_and(|(at, _)| at <= now));
        let names: Vec<String> = turns.map(|(name, _)| name.clone()).collect();
        let calls = names.iter().map(|name| self.discover(name));
        let results = futures::future::join_all(calls).await;
        for (name, result) in names.into_iter().zip(results) {
            let Some(peer) = self.peers.get_mut(&name) else { continue };
            match result {
                Ok(discovery) => {
                    (peer.discovery, peer.retry) = (discovery, None);
                    tracing::info!(server = name, "knows what another server serves");
                }
                Err(error) => {
                    let pause = peer.retry.map_or(PAUSES.0, |(_, pause)| pause);
                    peer.retry = Some((Instant::now() + pause, (pause * 2).min(PAUSES.1)));
                    tracing::debug!(server = name, %error, "cannot discover a peer");
                }
            }
        }
    }

    async fn discover(&self, server: &str) -> Result<PeerDiscovery, PeerError> {
        let Some(address) = self.directory.address(server).await else {
            self.metrics.record_sync_error(SyncErrorReason::Endpoint);
            return Err(PeerError::NoAddress);
        };
        let mut discovery = PeerDiscovery::default();
        for path in ["/api", "/apis"] {
            let response = self.fetch(&address, path).await;
            let read = response.and_then(|document| Ok(discovery.add_document(&document)?));
            read.inspect_err(|_| self.metrics.record_sync_error(SyncErrorReason::Fetch))?;
        }
        Ok(discovery)
    }

    async fn fetch(&self, address: &Address, path: &str) -> Result<Bytes, PeerError> {
        let uri = address.uri(path)?;
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = uri.clone();
        let asker = UserInfo {
            name: APISERVER_USER.to_owned(),
            uid: APISERVER_USER.to_owned(),
            groups: vec!["system:authenticated".to_owned()],
            ..UserInfo::default()
        };
        set_user(request.headers_mut(), &asker)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(ACCEPT_DISCOVERY));
        request.headers_mut().insert(PEER_PROXIED, HeaderValue::from_static("true"));
        let response = self.client.call(request, &DISCOVERY).await;
        let response = response.map_err(|source| {
            let message = source.of_request(&Method::GET, &uri);
            PeerError::Request { message, source }
        })?;
        let code = response.status().as_u16();
        self.metrics.record_proxied(code, &ResourceName { group: "", version: "", resource: "" });
        if code == 200 { Ok(response.into_body()) } else { Err(PeerError::Code(code)) }
    }

    /// Publishes the resources for request proxying, if they changed.
    fn publish(&mut self) {
        let left_out =
            |group: &str, version: &str| self.defined.contains_key(&(group.to_owned(), version.to_owned()));
        let mut by_server = BTreeMap::new();
        let mut resources = BTreeMap::new();
        for (name, peer) in &self.peers {
            let discovery = peer.discovery.without_versions(left_out);
            by_server.insert(name.clone(), discovery.groups);
            resources.insert(name.clone(), discovery.resources);
        }
        let before = self.directory.discovered.load();
        if before.groups.by_server == by_server && before.resources == resources {
            return;
        }
        self.number += 1;
        let groups = Arc::new(PeerGroups { number: self.number, by_server });
        self.directory.discovered.store(Arc::new(PeerResources { groups, resources }));
    }
}

/// Returns a text field of a child object; empty if it is missing.
fn text_at<'o>(object: &'o Object, parent: &str, name: &str) -> &'o str {
    tree::child(object, parent).map_or("", |parent| tree::text(parent, name))
}
