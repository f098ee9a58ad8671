//! Builds the API behind the handler chain, with its start hooks and background tasks.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aggregator::api_services::ApiServices;
use aggregator::{Aggregator, ServiceAddresses, api_services};
use api::catalog::{Catalog, ServedSelection};
use apiextensions::{ConversionDeps, ConversionMetrics, CustomKinds, CustomResources, Kinds, Meanwhile};
use authentication::Authenticator;
use authentication::service_account::{Issuer, OpenIdDocuments, OpenIdMetadata, VerificationKeys};
use authorization::Authorizer;
use cacher::{Delegator, Driver, Limits, Options};
use client::Address;
use client::kubeconfig::{Credentials, WebhookCredentials};
use client::services::Routing;
use client::webhook::Dialers;
use component_base::features::Gate;
use component_base::metrics::MetricsRegistry;
use egress::Network;
use endpoints::aggregated::Aggregation;
use endpoints::api::{Backends, CompressedLists, Documents, TokenRequests};
use endpoints::routing::dispatch::BoxError;

use endpoints::discovery::VersionInfo;
use endpoints::negotiation::Formats;
use endpoints::openid::OpenId;
use endpoints::proxy::LogMetrics;
use endpoints::routing::dispatch::Dispatch;
use endpoints::routing::served::{Description, ResourceRequests, Served};
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use kinds::validation::kinds::Settings;
use registry::Registry;
use registry::informer::InformerTask;
use registry::services::Ranges;
use server::Fairness;
use storage::Storage;
use tokio::sync::oneshot;

use crate::admission::plugins::Plugins;
use crate::authenticators::authenticators;
use crate::authorizers::Authorizers;
use crate::config::{Config, EtcdOverride};
use crate::console::ConsoleSources;
use crate::duties::{self, Duties};
use crate::error::RunError;
use crate::flow_control::FlowControl;
use crate::memory::Budgets;
use crate::metrics::{self, ApiMetrics};
use crate::network::SystemNetwork;
use crate::object_counts::ObjectCounts;
use crate::process::Process;
use crate::replicas::Replicas;
use crate::run::service_account_keys::{self, ServiceAccountKeys};
use crate::start_hooks::StartEvents;
use crate::system::{SystemClock, SystemEntropy};
use crate::template::Forkable;
use controllers::hook::{Awaited, PostStartHook, awaited, hook};
use controllers::itself::LoopbackClient;
use controllers::services::{self, RepairTask};
use controllers::tasks::Tasks;

type Store = Arc<dyn Storage>;

/// Cache budgets in bytes without a memory limit.
const BUDGETS: Budgets =
    Budgets { forms: 64 << 20, frames: 16 << 20, compressed: 32 << 20, superseded: 64 << 20 };

/// A complete API, ready to be put behind a handler chain.
pub struct Api {
    pub dispatch: Arc<dyn Dispatch>,
    /// The paths to list at `/`.
    pub paths: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Start hooks. They run once the store responds, and the server is ready when all are done.
    pub hooks: Vec<PostStartHook>,
    /// Authenticator of requests and token reviews.
    pub authenticator: Authenticator,
    /// Task that keeps the watch cache up to date. It must run as long as requests are served.
    pub cache_driver: Driver,
    /// Background tasks. They run as long as requests are served.
    pub background: Vec<BoxFuture<'static, ()>>,
    /// Work at shutdown, while the server still serves.
    pub before_stop: BoxFuture<'static, ()>,
    /// Authorizer of the chain, of access reviews and of admission.
    pub authorizer: Arc<dyn Authorizer>,
    /// Priority and fairness; `None` for plain in-flight limits.
    pub fairness: Option<Arc<Fairness>>,
    /// Data sources of the console.
    pub looks: ConsoleSources,
    /// State that forks of the server start from.
    pub(crate) forkable: Forkable,
    /// Completes when the watch cache and everything compiled from it is loaded.
    pub cache_filled: BoxFuture<'static, ()>,
}

/// Builds the API over a store.
///
/// # Errors
/// An error that prevents the server's start.
pub(crate) async fn build(config: &Config, storage: Store, process: Process) -> Result<Api, RunError> {
    let (store, budgets) = (Arc::clone(&storage), Budgets::under(process.memory_limit, BUDGETS));
    let Objects { delegator, cache_driver, address, served, asked, registry } =
        stored(config, &storage, &process)?;
    let (registry, repairs, following_ranges) = with_pools(config, registry, &delegator, &process.metrics)?;
    let counted = ApiMetrics::new(&process.metrics, &process.webhooks);
    let keys = service_account_keys::load(config, &process.metrics).await?;
    let senders =
        authenticators(config, &keys, &registry, &process.loopback, &counted.webhooks, &process.metrics)?;
    let (openid, signer) = (openid(config, &address, &keys), keys.verifying.clone());
    let judges = Authorizers::new(config, &registry, &served, &process, &counted.webhooks)?;
    let (paths, itself) = (paths(&served, openid.is_some()), process.loopback.credentials());
    let replicas = replicas(config, &registry, &storage, &served, &itself, &process)?;
    let others = others(config, &registry, &served, itself.clone(), &process)?;
    let meanwhile = config.compiles_lazily().then(|| (asked, process.tasks.later()));
    let custom = custom_resources(&registry, &served, &counted, others.webhooks, &process, meanwhile)?;
    let plugins = Plugins::new(
        config,
        &registry,
        &served,
        &judges.authorizer,
        others.ways,
        itself,
        &counted.webhooks,
        &process.metrics,
    )?;
    let dispatch = endpoints::api::Api {
        registry: registry.clone(),
        admission: plugins.chain,
        authorizer: Arc::clone(&judges.authorizer),
        roles: judges.roles.shared(),
        authenticator: senders.authenticator.clone(),
        token_requests: token_requests(config, keys)?,
        served: Arc::clone(&served),
        documents: openid.into_iter().map(|openid| Box::new(openid) as Box<dyn Documents>).collect(),
        formats: formats(config),
        watch_timeout_min: config.watch_min,
        jitter: Arc::new(|| rand::random_range(0.0..1.0)),
        compressed_lists: CompressedLists::new(budgets.compressed),
        watch_metrics: Arc::clone(&counted.watches),
        deprecated_requests: Arc::clone(&counted.deprecated_requests),
        backends: backends(config, &counted.logs)?,
        aggregation: others.aggregation,
        peers: replicas.peers,
        write_barrier: replicas.write_barrier,
        heavy: process.heavy.clone(),
        storage_health: Arc::new(move || health_of(Arc::clone(&store))),
        watch_drain: process.watch_drain,
        shutdown: process.shutdown,
    };
    let together = (replicas.hooks, replicas.before_stop);
    let Duties { mut hooks, before_stop } =
        duties(config, &registry, storage, process.client_authorities, &process.tasks, together)?;
    hooks.extend(others.hooks.into_iter().chain([repairs.hook()]));
    metrics::register(&process.metrics, &delegator, &served, config, &process.heavy);
    let counting = object_counts(config.object_count_period, &delegator, &mut hooks, &process.metrics);
    let flow = flow_control(config, &registry, &mut hooks, &process.metrics)?;
    let awaits = awaits(&delegator, judges.ready, plugins.ready, &custom, others.available, &flow);
    let cache_filled = awaits.added_to(&mut hooks);
    let views = [following_ranges.run().boxed(), plugins.followed, senders.followed, judges.followed];
    let repairing = async move { repairs.keep_repairing().await };
    let own = [counting, custom.run, others.run, flow.run, keep_fresh(signer).boxed(), repairing.boxed()];
    Ok(Api {
        looks: ConsoleSources::new(delegator.clone(), &counted.webhooks, &dispatch.compressed_lists),
        dispatch: Arc::new(dispatch),
        paths,
        hooks,
        authenticator: senders.authenticator,
        cache_driver,
        background: views.into_iter().chain(own).chain(replicas.run).collect(),
        before_stop,
        forkable: Forkable::new(delegator, custom.kinds, &served),
        cache_filled,
        authorizer: judges.authorizer,
        fairness: flow.fairness,
    })
}

/// A registry with the pools of Service addresses and node ports.
fn with_pools(
    config: &Config,
    registry: Registry,
    delegator: &Delegator,
    metrics: &MetricsRegistry,
) -> Result<(Registry, Arc<RepairTask>, InformerTask<Ranges>), RunError> {
    let options = registry::services::Options {
        families: services::families(&config.services.cidrs),
        node_ports: config.services.node_ports.clone(),
        storage: Arc::clone(delegator.storage()),
        prefix: config.storage.prefix().to_owned(),
        entropy: Arc::new(SystemEntropy),
    };
    Ok(services::with_pools(options, registry, delegator, metrics)?)
}

/// Builds the startup and shutdown tasks: the server's own, and those `together` with other servers.
fn duties(
    config: &Config,
    registry: &Registry,
    storage: Store,
    authorities: Vec<PathBuf>,
    tasks: &Tasks,
    together: (Vec<PostStartHook>, Vec<BoxFuture<'static, ()>>),
) -> Result<Duties, RunError> {
    let duties = duties::duties(config, registry, storage, authorities, tasks)?;
    let Duties { mut hooks, before_stop } = duties;
    hooks.extend(together.0);
    let before_stop = future::join(before_stop, future::join_all(together.1));
    Ok(Duties { hooks, before_stop: Box::pin(async move { drop(before_stop.await) }) })
}

/// Builds the coordination with other servers of the cluster.
fn replicas(
    config: &Config,
    registry: &Registry,
    storage: &Store,
    served: &Arc<Served>,
    itself: &Credentials,
    process: &Process,
) -> Result<Replicas, RunError> {
    let itself = LoopbackClient::new(itself.clone(), loopback(config))?;
    let catalog = &served.now().catalog;
    Replicas::new(config, registry, Arc::clone(storage), catalog, itself, &process.tasks, &process.metrics)
}

/// Builds the futures that start hooks wait for.
fn awaits(
    delegator: &Delegator,
    authorizers: BoxFuture<'static, ()>,
    admission: BoxFuture<'static, ()>,
    custom: &CustomResourceParts,
    available: Awaited,
    flow: &Flow,
) -> StartEvents {
    let delegator = delegator.clone();
    StartEvents {
        cache: awaited(async move { delegator.ready().await }),
        authorizers: awaited(authorizers),
        admission: awaited(admission),
        definitions: custom.known.clone(),
        defined: custom.served.clone(),
        registered: custom.registered.clone(),
        available,
        flow: flow.ready.clone(),
    }
}

/// The stored objects with everything to read, serve and write them.
struct Objects {
    delegator: Delegator,
    cache_driver: Driver,
    /// Address of this server for members of the cluster.
    address: String,
    served: Arc<Served>,
    /// Requests for kinds that are not served yet.
    asked: ResourceRequests,
    registry: Registry,
}

fn stored(config: &Config, storage: &Arc<dyn Storage>, process: &Process) -> Result<Objects, RunError> {
    let catalog = match &process.template {
        Some(template) => template.builtin.clone(),
        None => catalog(config)?,
    };
    let budgets = Budgets::under(process.memory_limit, BUDGETS);
    let (delegator, mut cache_driver) = cached(config, &catalog, Arc::clone(storage), budgets);
    if let Some(seed) = process.template.as_ref().and_then(|template| template.seed.clone()) {
        cache_driver = cache_driver.seeded(seed);
    }
    let address = format!("{}:{}", config.advertise_address, config.serving.bind.address.port());
    let (served, asked) = Served::incomplete(catalog, about(config, address.clone()));
    let served = Arc::new(served);
    let registry = registry(config, &delegator, &served);
    Ok(Objects { delegator, cache_driver, address, served, asked, registry })
}

/// Flow control, its task, and its readiness.
struct Flow {
    fairness: Option<Arc<Fairness>>,
    run: BoxFuture<'static, ()>,
    ready: Option<Awaited>,
}

/// Builds the flow control of requests.
fn flow_control(
    config: &Config,
    registry: &Registry,
    hooks: &mut Vec<PostStartHook>,
    metrics: &MetricsRegistry,
) -> Result<Flow, RunError> {
    if !config.priority_and_fairness {
        // The limits are static, so there is nothing to wait for.
        hooks.push(hook("max-in-flight-filter", awaited(future::ready(()))));
        return Ok(Flow { fairness: None, run: Box::pin(future::ready(())), ready: None });
    }
    let (flow, following) = FlowControl::new(registry, config.chain.inflight)?;
    let fairness = flow.fairness();
    let ready = Some(awaited(flow.ready()));
    fairness.register(metrics);
    let run = Box::pin(async move {
        tokio::join!(following.run(), flow.run());
    });
    Ok(Flow { fairness: Some(fairness), run, ready })
}

/// Connections to other servers: extension API servers and webhooks.
struct RemoteServers {
    aggregation: Aggregation,
    /// Shared dependencies of conversion webhooks.
    webhooks: ConversionDeps,
    /// Transports to webhooks.
    ways: Dialers,
    run: BoxFuture<'static, ()>,
    hooks: Vec<PostStartHook>,
    /// Completes when the APIServices of built-in versions are available.
    available: Awaited,
}

fn others(
    config: &Config,
    registry: &Registry,
    served: &Arc<Served>,
    itself: Credentials,
    process: &Process,
) -> Result<RemoteServers, RunError> {
    let (services, following_services) = ServiceAddresses::new(registry, routing(config), loopback(config));
    let to_services = config.egress.dialer(Network::Cluster);
    let to_urls = config.egress.dialer(Network::ControlPlane);
    let addresses = services.clone();
    let dialer = to_services.clone();
    let (aggregator, following) =
        Aggregator::new(&config.aggregation, registry, served, addresses, dialer, &process.metrics)?;
    let aggregation = Aggregation {
        servers: aggregator.servers(),
        send_uid: config.gates.enabled(Gate::RemoteRequestHeaderUID),
        forward_redirects: config.aggregation.forward_redirects,
    };
    let credentials = WebhookCredentials::default().with_own_credentials(itself);
    let webhooks = ConversionDeps {
        ways: Dialers { services: services.of_webhooks(), to_services, to_urls },
        credentials,
        metrics: Arc::new(ConversionMetrics::new(&process.metrics)),
        calls: Arc::clone(&process.webhooks),
        entropy: Arc::new(SystemEntropy),
    };
    let hooks = aggregator::HOOKS.map(|name| hook(name, awaited(aggregator.settled()))).into();
    let available = awaited(aggregator.available(api_services::names(&served.now().catalog)));
    let run = Box::pin(async move {
        tokio::join!(following_services.run(), following.run(), aggregator.run());
    });
    let ways = webhooks.ways.clone();
    Ok(RemoteServers { aggregation, webhooks, ways, run, hooks, available })
}

/// Returns the routing mode of connections to Services.
fn routing(config: &Config) -> Routing {
    if config.aggregation.endpoint_routing { Routing::Endpoints } else { Routing::ClusterIp }
}

/// Returns the loopback address of this server.
fn loopback(config: &Config) -> Address {
    let bind = config.serving.bind.address;
    let host = if bind.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bind.ip() };
    Address { host: host.to_string(), port: bind.port() }
}

/// Serves CRDs and registers the served versions.
struct CustomResourceParts {
    run: BoxFuture<'static, ()>,
    /// Completes when all CRDs are loaded.
    known: Awaited,
    /// Completes when all CRDs that existed at start are served.
    served: Awaited,
    /// Completes when the APIServices of built-in versions exist.
    registered: Awaited,
    kinds: Kinds,
}

/// Serves CRDs. With `meanwhile`, they are read only on demand or later, so that the start does not depend on
/// their number. A request for a kind waits until it is served.
fn custom_resources(
    registry: &Registry,
    served: &Arc<Served>,
    counted: &ApiMetrics,
    webhooks: ConversionDeps,
    process: &Process,
    meanwhile: Option<(ResourceRequests, impl Future<Output = ()> + Send + 'static)>,
) -> Result<CustomResourceParts, RunError> {
    let watches = Arc::clone(&counted.watches);
    let cel_times = Arc::clone(&counted.cel_times);
    let kinds = CustomKinds::new(registry.clone(), Arc::clone(served), watches, cel_times);
    let known = process.template.as_ref().map(|template| template.kinds.clone()).unwrap_or_default();
    let (custom, following) =
        CustomResources::new(registry, kinds, webhooks, known, Arc::clone(&counted.definitions))?;
    let (first, all_defined) = oneshot::channel();
    let (services, following_services) =
        ApiServices::new(registry, &served.now().catalog, custom.versions())?;
    let mut known = awaited(custom.known());
    let registered = awaited(services.registered());
    let kinds = custom.kinds();
    // The channel is closed at shutdown.
    let mut all_served = awaited(async move { _ = all_defined.await });
    let mut begin = future::ready(()).boxed();
    let mut asked = None;
    if let Some((requests, later)) = meanwhile {
        let (everything, needed) = oneshot::channel();
        begin = future::select(needed, later.boxed()).map(drop).boxed();
        asked = Some(Meanwhile { asked: requests, everything: Some(everything) });
        (known, all_served) = (awaited(future::ready(())), awaited(future::ready(())));
    }
    let run = Box::pin(async move {
        let following = begin.then(|()| following.run());
        tokio::join!(following, custom.run(first, asked), following_services.run(), services.run());
    });
    Ok(CustomResourceParts { run, known, served: all_served, registered, kinds })
}

/// Builds the registry over `delegator`.
fn registry(config: &Config, delegator: &Delegator, served: &Arc<Served>) -> Registry {
    let clock = Arc::new(SystemClock);
    let entropy = Arc::new(SystemEntropy);
    let prefix = config.storage.prefix();
    let settings = Settings { allow_privileged: config.pods.allow_privileged, gates: config.gates };
    let served = Arc::clone(served);
    Registry::new(delegator.clone(), prefix, clock, entropy, config.event_ttl)
        .with_settings(settings)
        .with_served(Arc::new(move |row| served.now().catalog.serves(row)))
}

/// Returns the serialization formats of objects.
fn formats(config: &Config) -> Formats {
    Formats { cbor: config.gates.enabled(Gate::CBORServingAndStorage), ..Formats::default() }
}

/// Returns the server's data for discovery and OpenAPI documents.
fn about(config: &Config, server_address: String) -> Description {
    let version = VersionInfo::behaving_as(config.gates.effective());
    let formats = formats(config);
    Description { server_address, version, formats, clock: Arc::new(SystemClock) }
}

/// Builds the watch cache for a store, as configured. Resources without a served version are not cached.
fn cached(
    config: &Config,
    catalog: &Catalog,
    storage: Arc<dyn Storage>,
    budgets: Budgets,
) -> (Delegator, Driver) {
    let prefix = config.storage.prefix();
    let cache = &config.watch_cache;
    let rows = catalog.endpoints().map(|endpoint| endpoint.row.row());
    let served: HashSet<&str> = rows.filter_map(|row| Some(row.storage?.prefix)).collect();
    // A single watch with its revisions feeds all caches, so resources in other etcd clusters are excluded.
    let elsewhere: Vec<_> = config.storage.overrides().iter().filter_map(EtcdOverride::directory).collect();
    let here = |prefix: &str| served.contains(prefix) && !elsewhere.contains(&prefix);
    let resources = registry::ingest::resources(prefix, config.gates, |row| {
        cache.caches(row.group, row.plural, row.watch_cache)
            && row.storage.is_some_and(|storage| here(storage.prefix))
    });
    let options = Options {
        enabled: cache.enabled,
        forms_bytes_max: budgets.forms,
        frames_bytes_max: budgets.frames,
        limits: Limits { bytes_max: budgets.superseded, ..Limits::default() },
        when_asked: config.fills_caches_lazily(),
        ..Options::default()
    };
    Delegator::new(storage, prefix, resources, options)
}

/// Builds the clients of kubelets and other backends.
fn backends(config: &Config, logs: &Arc<LogMetrics>) -> Result<Backends, RunError> {
    let kubelets = &config.kubelets;
    let dialer = config.egress.dialer(Network::Cluster);
    Ok(Backends {
        network: Arc::new(SystemNetwork::new(kubelets, dialer.as_ref())?),
        kubelet_port: kubelets.port,
        address_types: kubelets.address_types.clone(),
        logs: Arc::clone(logs),
    })
}

fn health_of(storage: Arc<dyn Storage>) -> BoxFuture<'static, Result<(), BoxError>> {
    Box::pin(async move { Ok(storage.healthy().await?) })
}

/// Builds the catalog of kinds that are served at start.
///
/// # Errors
/// An enabled API that the emulated release lacks.
fn catalog(config: &Config) -> Result<Catalog, RunError> {
    let serving = ServedSelection {
        gates: config.gates,
        runtime_config: config.runtime_config.clone(),
        forward_compatible: config.emulation.forward_compatible,
        runtime_config_forward_compatible: config.emulation.runtime_config_forward_compatible,
    };
    let release = serving.gates.effective().emulation;
    Ok(Catalog::builtin(serving.rows().map_err(|error| RunError::Bootstrap(error.to_string()))?)
        .of_release(release))
}

/// Builds the OpenID discovery documents. `None`, with the reason in the log, if the issuer is not a valid
/// URL, because it may be any text.
fn openid(config: &Config, address: &str, keys: &ServiceAccountKeys) -> Option<OpenId> {
    let accounts = &config.service_accounts;
    let issuer = accounts.issuers.first().cloned().unwrap_or_default();
    let keys = keys.verifying.clone();
    let address = address.to_owned();
    match OpenIdMetadata::new(issuer, accounts.jwks_uri.clone(), address, keys) {
        Ok(metadata) => Some(OpenId::new(metadata)),
        Err(error) => {
            tracing::error!(%error, "the OpenID discovery documents are not served");
            None
        }
    }
}

/// Refreshes the keys of an external signer.
async fn keep_fresh(keys: VerificationKeys) {
    if let VerificationKeys::External(keys) = keys {
        keys.keep_fresh().await;
    }
}

/// Builds the issuer for token requests, if configured.
fn token_requests(config: &Config, keys: ServiceAccountKeys) -> Result<Option<TokenRequests>, RunError> {
    let accounts = &config.service_accounts;
    let lifetime_max = keys.token_lifetime_max(accounts.token_expiration_max)?;
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let issuer = accounts.issuers.first().cloned();
    let signer = keys.signing;
    Ok(issuer.zip(signer).map(|(issuer, signer)| TokenRequests {
        issuer: Issuer::new(issuer, signer),
        api_audiences: accounts.api_audiences().to_vec(),
        lifetime_max: seconds(lifetime_max),
        extend: accounts.extend_expiration,
        extended_max: keys.lifetime_max.map_or(i64::MAX, seconds),
        entropy: Arc::new(SystemEntropy),
    }))
}

/// Counts objects for metrics, once before the server is ready and then every `period`. Returns the
/// background task. A zero period disables both.
fn object_counts(
    period: Duration,
    delegator: &Delegator,
    hooks: &mut Vec<PostStartHook>,
    metrics: &MetricsRegistry,
) -> BoxFuture<'static, ()> {
    if period.is_zero() {
        return Box::pin(std::future::ready(()));
    }
    let counts = Arc::new(ObjectCounts::new(delegator.clone()));
    counts.register(metrics);
    let first = Arc::clone(&counts);
    let work = Box::pin(async move {
        first.poll().await;
        Ok(())
    });
    hooks.push(PostStartHook { name: "storage-object-count-tracker-hook", work });
    Box::pin(async move { counts.keep_polling(period, || rand::random_range(0.0..1.0)).await })
}

/// Returns the current document paths, for the list at `/`.
fn paths(served: &Arc<Served>, openid: bool) -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
    let served = Arc::clone(served);
    let fixed = [OpenIdDocuments::CONFIGURATION_PATH, OpenIdDocuments::KEYS_PATH];
    Arc::new(move || {
        let mut paths = served.now().paths();
        paths.extend(fixed.iter().filter(|_| openid).map(|path| (*path).to_owned()));
        paths
    })
}
