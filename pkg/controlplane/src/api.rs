//! What is behind the chain: the API, what it has to do at start, and what it brings along.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::catalog::{Catalog, Serving};
use api::validation::kinds::Settings;
use apimachinery::features::{Gate, Gates};
use authentication::Authenticator;
use authentication::service_account::{Issuer, OpenIdDocuments, OpenIdMetadata, VerificationKeys};
use authorization::Authorizer;
use cacher::{Delegator, Driver, Options};
use client::Address;
use client::services::Routing;
use endpoints::aggregated::Aggregation;
use endpoints::api::{Backends, CompressedLists, Documents, TokenRequests, WatchMetrics};
use endpoints::discovery::VersionInfo;
use endpoints::dispatch::Dispatch;
use endpoints::heavy::HeavyPool;
use endpoints::negotiate::Formats;
use endpoints::openid::OpenId;
use endpoints::served::{Description, Served};
use futures::future::{self, BoxFuture};
use registry::Registry;
use server::metrics::Collector;
use storage::Storage;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::admission::plugins::Plugins;
use crate::aggregation::Aggregator;
use crate::api_services::ApiServices;
use crate::authenticators::authenticators;
use crate::authorizers::Authorizers;
use crate::bootstrap::{self, Duties};
use crate::config::{Config, KubeletConfig};
use crate::custom_kinds::CustomKinds;
use crate::custom_resources::{Common, ConversionFigures, CustomResources};
use crate::features::FeatureMetrics;
use crate::network::SystemNetwork;
use crate::object_counts::ObjectCounts;
use crate::run::RunError;
use crate::run::service_account_keys::{self, ServiceAccountKeys};
use crate::service_addresses::ServiceAddresses;
use crate::services;
use crate::system::{SystemClock, SystemEntropy};
use crate::tasks::Tasks;

/// What compressed lists may take that are remembered, in bytes.
const COMPRESSED_LISTS_BYTES_MAX: usize = 32 << 20;

/// An API that is ready to be put behind a chain.
pub struct Api {
    /// Answers requests.
    pub dispatch: Arc<dyn Dispatch>,
    /// The paths to list at `/`.
    pub paths: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Work to be done once the store answers; the server is ready when all of it is done.
    pub hooks: Vec<PostStartHook>,
    /// Who sends a request; token reviews ask it too.
    pub authenticator: Authenticator,
    /// Further metrics.
    pub collectors: Vec<Arc<dyn Collector>>,
    /// Keeps the watch cache up to date while it runs, which it should as long as requests are served.
    pub cache_driver: Driver,
    /// What else goes on as long as requests are served.
    pub background: BoxFuture<'static, ()>,
    /// What is done when the server was told to stop, while it still serves.
    pub before_stop: BoxFuture<'static, ()>,
    /// Who decides what users may do: the chain, reviews and admission ask the same.
    pub authorizer: Arc<dyn Authorizer>,
    /// Done when the watch cache is filled, and what is compiled from it.
    pub cache_filled: BoxFuture<'static, ()>,
}

/// Work to be done at start, listed in health as `poststarthook/NAME`.
pub struct PostStartHook {
    /// Upstream's name of what it does.
    pub name: &'static str,
    /// Does it. An error ends the process.
    pub work: BoxFuture<'static, Result<(), String>>,
}

/// What an API needs to know of the process that it is in.
pub(crate) struct Process {
    /// Streams end with it.
    pub(crate) shutdown: CancellationToken,
    /// The files with the authorities by whose certificates clients log in.
    pub(crate) client_authorities: Vec<PathBuf>,
    /// What goes on beside requests.
    pub(crate) tasks: Tasks,
    /// Who decides what users may do, if not the modes of the configuration.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The threads of heavy requests.
    pub(crate) heavy: HeavyPool,
}

/// Builds the API over a store.
///
/// # Errors
/// What keeps the server from starting.
pub(crate) async fn build(
    config: &Config,
    storage: Arc<dyn Storage>,
    process: Process,
) -> Result<Api, RunError> {
    let (store, catalog) = (Arc::clone(&storage), catalog(config)?);
    let (delegator, cache_driver) = cached(config, &catalog, Arc::clone(&storage));
    let address = format!("{}:{}", config.advertise_address, config.serving.bind.address.port());
    let served = Arc::new(Served::new(catalog, about(config, address.clone())));
    let registry = registry(config, &delegator, &served);
    let (registry, repairs, following_ranges) = services::with_pools(config, registry, delegator.storage())?;
    let watch_metrics = Arc::new(WatchMetrics::default());
    let keys = service_account_keys::load(config).await?;
    let senders = authenticators(config, &keys, &registry)?;
    let (openid, signer) = (openid(config, &address, &keys), keys.verifying.clone());
    let Authorizers { authorizer, roles, collectors: of_authorizers, ready: authorizers_ready, followed } =
        Authorizers::new(config, &registry, &served.now().catalog, process.authorizer)?;
    let paths = paths(&served, openid.is_some());
    let others = others(config, &registry, &served)?;
    let (custom_resources, defined) = custom_resources(&registry, &served, &watch_metrics, others.webhooks)?;
    let plugins = Plugins::new(config, &registry, &served, &authorizer, others.services)?;
    let dispatch = endpoints::api::Api {
        registry: registry.clone(),
        admission: plugins.chain,
        authorizer: Arc::clone(&authorizer),
        roles: roles.shared(),
        authenticator: senders.authenticator.clone(),
        token_requests: token_requests(config, keys)?,
        served,
        documents: openid.into_iter().map(|openid| Box::new(openid) as Box<dyn Documents>).collect(),
        formats: formats(config),
        watch_timeout_min: config.watch_min,
        jitter: Arc::new(|| rand::random_range(0.0..1.0)),
        compressed_lists: CompressedLists::new(COMPRESSED_LISTS_BYTES_MAX),
        watch_metrics: Arc::clone(&watch_metrics),
        backends: backends(&config.kubelets)?,
        aggregation: others.aggregation,
        heavy: process.heavy.clone(),
        storage_health: Arc::new(move || health_of(Arc::clone(&store))),
        shutdown: process.shutdown,
    };
    let Duties { mut hooks, before_stop } =
        bootstrap::duties(config, &registry, storage, process.client_authorities, &process.tasks)
            .map_err(RunError::Bootstrap)?;
    hooks.extend(others.hooks.into_iter().chain([repairs.hook()]));
    let mut collectors = collectors(&delegator, config.gates, watch_metrics, process.heavy);
    collectors.extend(others.figures.into_iter().chain(plugins.collectors).chain(of_authorizers));
    collectors.extend(senders.collectors);
    let background = object_counts(config.object_count_period, &delegator, &mut hooks, &mut collectors);
    Ok(Api {
        dispatch: Arc::new(dispatch),
        paths,
        hooks,
        authenticator: senders.authenticator,
        collectors,
        cache_driver,
        background: Box::pin(async move {
            let views = future::join3(following_ranges.run(), plugins.followed, others.run);
            let followers = future::join4(followed, views, custom_resources, keep_fresh(signer));
            tokio::join!(background, repairs.keep_repairing(), followers, senders.followed);
        }),
        before_stop,
        // The channel closes when the server is told to stop.
        cache_filled: Box::pin(async move {
            _ = tokio::join!(delegator.ready(), authorizers_ready, defined, plugins.ready);
        }),
        authorizer,
    })
}

/// What has to do with those that this server calls: API servers that answer for groups of their own, webhooks.
struct Others {
    aggregation: Aggregation,
    /// What webhooks that convert share.
    webhooks: Common,
    /// Where Services with webhooks are.
    services: client::webhook::Services,
    figures: [Arc<dyn Collector>; 2],
    run: BoxFuture<'static, ()>,
    hooks: Vec<PostStartHook>,
}

fn others(config: &Config, registry: &Registry, served: &Arc<Served>) -> Result<Others, RunError> {
    let (services, following_services) = ServiceAddresses::new(registry, routing(config), loopback(config));
    let (aggregator, following) = Aggregator::new(&config.aggregation, registry, served, services.clone())
        .map_err(RunError::Bootstrap)?;
    let aggregation = Aggregation {
        servers: aggregator.servers(),
        send_uid: config.gates.enabled(Gate::RemoteRequestHeaderUID),
        forward_redirects: config.aggregation.forward_redirects,
    };
    let conversions = Arc::new(ConversionFigures::default());
    let webhooks = Common { services: services.of_webhooks(), figures: Arc::clone(&conversions) };
    let (figures, hooks) = ([conversions, aggregator.collector()], aggregator.hooks().collect());
    let run = Box::pin(async move {
        tokio::join!(following_services.run(), following.run(), aggregator.run());
    });
    let services = Arc::clone(&webhooks.services);
    Ok(Others { aggregation, webhooks, services, figures, run, hooks })
}

/// What connections to Services go to.
fn routing(config: &Config) -> Routing {
    if config.aggregation.endpoint_routing { Routing::Endpoints } else { Routing::ClusterIp }
}

/// Where this server itself is.
fn loopback(config: &Config) -> Address {
    let bind = config.serving.bind.address;
    let host = if bind.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bind.ip() };
    Address { host: host.to_string(), port: bind.port() }
}

/// What serves definitions and registers what is served while it runs, and what is told when all that was defined at start is served.
fn custom_resources(
    registry: &Registry,
    served: &Arc<Served>,
    watches: &Arc<WatchMetrics>,
    webhooks: Common,
) -> Result<(BoxFuture<'static, ()>, oneshot::Receiver<()>), RunError> {
    let kinds = CustomKinds::new(registry.clone(), Arc::clone(served), Arc::clone(watches));
    let (custom, following) = CustomResources::new(registry, kinds, webhooks).map_err(RunError::Bootstrap)?;
    let (first, all_defined) = oneshot::channel();
    let (services, following_services) =
        ApiServices::new(registry, &served.now().catalog, custom.versions()).map_err(RunError::Bootstrap)?;
    let run = async move {
        tokio::join!(following.run(), custom.run(first), following_services.run(), services.run());
    };
    Ok((Box::pin(run), all_defined))
}

/// The verbs over what `delegator` reads and writes.
fn registry(config: &Config, delegator: &Delegator, served: &Arc<Served>) -> Registry {
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let prefix = config.storage.prefix();
    let settings = Settings { allow_privileged: config.pods.allow_privileged, gates: config.gates };
    let served = Arc::clone(served);
    Registry::new(delegator.clone(), prefix, clock, entropy, config.event_ttl)
        .with_settings(settings)
        .with_served(Arc::new(move |row| served.now().catalog.serves(row)))
}

/// Which formats objects have.
fn formats(config: &Config) -> Formats {
    Formats { cbor: config.gates.enabled(Gate::CBORServingAndStorage), ..Formats::default() }
}

/// What documents about the API say of this server.
fn about(config: &Config, server_address: String) -> Description {
    let (version, formats) = (VersionInfo::behaving_as(config.gates.effective()), formats(config));
    Description { server_address, version, formats, clock: Arc::new(SystemClock) }
}

/// Reads of a store through the watch cache, as configured. What no version of is served is not kept in memory.
fn cached(config: &Config, catalog: &Catalog, storage: Arc<dyn Storage>) -> (Delegator, Driver) {
    let prefix = config.storage.prefix();
    let cache = &config.watch_cache;
    let rows = catalog.endpoints().map(|endpoint| endpoint.row.row());
    let served: HashSet<&str> = rows.filter_map(|row| Some(row.storage?.prefix)).collect();
    let resources = registry::ingest::resources(prefix, config.gates, |row| {
        cache.caches(row.group, row.plural, row.watch_cache)
            && row.storage.is_some_and(|storage| served.contains(storage.prefix))
    });
    Delegator::new(storage, prefix, resources, Options { enabled: cache.enabled, ..Options::default() })
}

/// The way to kubelets and others.
fn backends(kubelets: &KubeletConfig) -> Result<Backends, RunError> {
    Ok(Backends {
        network: Arc::new(SystemNetwork::new(kubelets)?),
        kubelet_port: kubelets.port,
        address_types: kubelets.address_types.clone(),
    })
}

fn health_of(storage: Arc<dyn Storage>) -> BoxFuture<'static, Result<(), String>> {
    Box::pin(async move { storage.healthy().await.map_err(|error| error.to_string()) })
}

/// What is served at start.
///
/// # Errors
/// What is wanted that the emulated release does not have.
fn catalog(config: &Config) -> Result<Catalog, RunError> {
    let serving = Serving {
        gates: config.gates,
        runtime_config: config.runtime_config.clone(),
        forward_compatible: config.emulation.forward_compatible,
        runtime_config_forward_compatible: config.emulation.runtime_config_forward_compatible,
    };
    Ok(Catalog::builtin(serving.rows().map_err(RunError::Bootstrap)?))
}

/// The documents by which others verify tokens. `None`, with the reason in the log, for an issuer that
/// nobody could find by its name: it may be any text.
fn openid(config: &Config, address: &str, keys: &ServiceAccountKeys) -> Option<OpenId> {
    let accounts = &config.service_accounts;
    let issuer = accounts.issuers.first().cloned().unwrap_or_default();
    let (keys, address) = (keys.verifying.clone(), address.to_owned());
    match OpenIdMetadata::new(issuer, accounts.jwks_uri.clone(), address, keys) {
        Ok(metadata) => Some(OpenId::new(metadata)),
        Err(error) => {
            tracing::error!(%error, "the documents by which others verify tokens are not served");
            None
        }
    }
}

/// Follows the keys of an external signer.
async fn keep_fresh(keys: VerificationKeys) {
    if let VerificationKeys::External(keys) = keys {
        keys.keep_fresh().await;
    }
}

/// How tokens are issued, if they are.
fn token_requests(config: &Config, keys: ServiceAccountKeys) -> Result<Option<TokenRequests>, RunError> {
    let accounts = &config.service_accounts;
    let lifetime_max = keys.token_lifetime_max(accounts.token_expiration_max)?;
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let (issuer, signer) = (accounts.issuers.first().cloned(), keys.signing);
    Ok(issuer.zip(signer).map(|(issuer, signer)| TokenRequests {
        issuer: Issuer::new(issuer, signer),
        api_audiences: accounts.api_audiences().to_vec(),
        lifetime_max: seconds(lifetime_max),
        extend: accounts.extend_expiration,
        extended_max: keys.lifetime_max.map_or(i64::MAX, seconds),
        entropy: Arc::new(SystemEntropy),
    }))
}

/// Counts objects, once before the server is ready and then every `period`, for the metrics. Returns what
/// goes on; nothing does without a period.
fn object_counts(
    period: Duration,
    delegator: &Delegator,
    hooks: &mut Vec<PostStartHook>,
    collectors: &mut Vec<Arc<dyn Collector>>,
) -> BoxFuture<'static, ()> {
    if period.is_zero() {
        return Box::pin(std::future::ready(()));
    }
    let counts = Arc::new(ObjectCounts::new(delegator.clone()));
    collectors.push(Arc::clone(&counts) as Arc<dyn Collector>);
    let first = Arc::clone(&counts);
    let work = Box::pin(async move {
        first.poll().await;
        Ok(())
    });
    hooks.push(PostStartHook { name: "storage-object-count-tracker-hook", work });
    Box::pin(async move { counts.keep_polling(period, || rand::random_range(0.0..1.0)).await })
}

/// The metrics of the watch cache, on the metrics page.
struct CacheMetrics(Delegator);

impl Collector for CacheMetrics {
    fn collect(&self, out: &mut String) {
        self.0.write_metrics(out);
    }
}

/// The metrics of watches, on the metrics page.
struct Watches(Arc<WatchMetrics>);

impl Collector for Watches {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// What is measured beside requests.
fn collectors(
    delegator: &Delegator,
    gates: Gates,
    watches: Arc<WatchMetrics>,
    heavy: HeavyPool,
) -> Vec<Arc<dyn Collector>> {
    let caches = CacheMetrics(delegator.clone());
    vec![
        Arc::new(caches),
        Arc::new(Watches(watches)),
        Arc::new(Heavy(heavy)),
        Arc::new(FeatureMetrics(gates)),
    ]
}

/// The figures of the heavy requests.
struct Heavy(HeavyPool);

impl Collector for Heavy {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// The paths of the documents as they are now, for the list at `/`.
fn paths(served: &Arc<Served>, openid: bool) -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
    let served = Arc::clone(served);
    let fixed = [OpenIdDocuments::CONFIGURATION_PATH, OpenIdDocuments::KEYS_PATH];
    Arc::new(move || {
        let mut paths = served.now().paths();
        paths.extend(fixed.iter().filter(|_| openid).map(|path| (*path).to_owned()));
        paths
    })
}
