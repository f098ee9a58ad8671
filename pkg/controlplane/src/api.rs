//! Builds the API behind the handler chain, with its start hooks and background tasks.

mod access;
mod builtin_controllers;
mod custom_resources;
mod objects;
mod remote_servers;
mod tasks;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use authentication::Authenticator;
use authentication::service_account::OpenIdDocuments;
use authorization::Authorizer;
use cacher::{Delegator, Driver};
use component_base::features::Gate;
use component_base::metrics::MetricsRegistry;
use controllers::hook::{PostStartHook, StartEvent, hook, start_event};
use controllers::loopback_client::LoopbackClient;
use egress::Network;
use endpoints::api::{Backends, CompressedLists, Documents};
use endpoints::negotiation::Formats;
use endpoints::routing::dispatch::{BoxError, Dispatch};
use endpoints::routing::served::ServedApi;
use futures::future::{self, BoxFuture};
use registry::Registry;
use server::Fairness;
use storage::{RoutedStorage, Storage};

use crate::admission::plugins::{PluginChain, WebhookClients};
use crate::config::Config;
use crate::console::ConsoleSources;
use crate::error::RunError;
use crate::flow_control::FlowControl;
use crate::metrics::{self, ApiMetrics};
use crate::network::SystemNetwork;
use crate::object_counts::ObjectCounts;
use crate::process::ProcessContext;
use crate::replicas::Replicas;
use crate::start_hooks::StartEvents;
use crate::startup_tasks::startup_tasks;
use crate::template::ForkState;

use access::Access;
use builtin_controllers::builtin_controllers;
use custom_resources::{CustomResourceParts, OnDemand, custom_resources};
use objects::Objects;
use remote_servers::{loopback, remote_servers};
use tasks::ApiTasks;

type Store = Arc<dyn Storage>;

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
    pub console: ConsoleSources,
    /// State that forks of the server start from.
    pub(crate) forkable: ForkState,
    /// Completes when the watch cache and everything compiled from it is loaded.
    pub cache_filled: BoxFuture<'static, ()>,
}

/// Builds the API over a store.
///
/// # Errors
/// An error that prevents the server's start.
pub(crate) async fn build(
    config: &Config,
    storage: RoutedStorage,
    process: ProcessContext,
) -> Result<Api, RunError> {
    let mut tasks = ApiTasks::default();
    let objects = objects::open(config, storage, &process, &mut tasks)?;
    let Objects { delegator, cache_driver, address, served, resource_requests, registry } = objects;
    let metrics = ApiMetrics::new(&process.metrics, &process.webhooks);
    let access = Access::build(config, &registry, &served, &address, &metrics, &process, &mut tasks).await?;
    let credentials = process.loopback.credentials();
    let storage = Arc::clone(delegator.storage());
    let replicas = replicas(config, &registry, &storage, &served, &process, &mut tasks)?;
    let remote = remote_servers(config, &registry, &served, credentials.clone(), &process, &mut tasks)?;
    let lazy = config.compiles_lazily().then(|| OnDemand::new(resource_requests, &process.tasks));
    let custom = custom_resources(&registry, &served, &metrics, remote.webhooks, &process, lazy, &mut tasks)?;
    let clients = WebhookClients { dialers: remote.dialers, loopback: credentials, calls: &metrics.webhooks };
    let authorizer = &access.authorizer;
    let plugins = PluginChain::new(config, &registry, &served, authorizer, clients, process.monitoring())?;
    tasks.add_background(plugins.background);
    tasks.background.extend(builtin_controllers(config, &registry, &served, &process)?);
    let paths = paths(&served, access.openid.is_some());
    metrics::register(&process.metrics, &registry, &served, config, &process.cpu_pool);
    object_counts(config.object_count_period, &delegator, &process.metrics, &mut tasks);
    let flow = flow_control(config, &registry, &process.metrics, &mut tasks)?;
    let startup =
        startup_tasks(config, &registry, storage, process.client_authorities.clone(), &process.tasks)?;
    tasks.hooks.extend(startup.hooks);
    tasks.add_before_stop(startup.before_stop);
    let events = start_events(&delegator, access.ready, plugins.ready, &custom, remote.available, &flow);
    let cache_filled = events.add_to(&mut tasks.hooks);
    let dispatch = endpoints::api::Api {
        registry: registry.clone(),
        admission: plugins.chain,
        authorizer: Arc::clone(authorizer),
        roles: access.roles.shared(),
        authenticator: access.authenticator.clone(),
        token_requests: access.token_requests,
        served: Arc::clone(&served),
        documents: access.openid.into_iter().map(|openid| Box::new(openid) as Box<dyn Documents>).collect(),
        formats: formats(config),
        watch_timeout_min: config.watch_min,
        jitter: Arc::new(|| rand::random_range(0.0..1.0)),
        compressed_lists: CompressedLists::new(objects::budgets(&process).compressed),
        watch_metrics: Arc::clone(&metrics.watches),
        deprecated_requests: Arc::clone(&metrics.deprecated_requests),
        backends: backends(config, &metrics)?,
        aggregation: remote.aggregation,
        peers: replicas.peers,
        write_barrier: replicas.write_barrier,
        cpu_pool: process.cpu_pool.clone(),
        storage_health: health_check(delegator.storage()),
        watch_drain: process.watch_drain,
        shutdown: process.shutdown,
    };
    Ok(Api {
        console: ConsoleSources::new(delegator.clone(), &metrics.webhooks, &dispatch.compressed_lists),
        dispatch: Arc::new(dispatch),
        paths,
        authenticator: access.authenticator,
        cache_driver,
        before_stop: tasks.take_before_stop(),
        hooks: tasks.hooks,
        background: tasks.background,
        forkable: ForkState::new(delegator, custom.kinds, &served),
        cache_filled,
        authorizer: access.authorizer,
        fairness: flow.fairness,
    })
}

/// Collects the events that start hooks wait for.
fn start_events(
    delegator: &Delegator,
    authorizers: BoxFuture<'static, ()>,
    admission: BoxFuture<'static, ()>,
    custom: &CustomResourceParts,
    available: StartEvent,
    flow: &FlowControlParts,
) -> StartEvents {
    let cache = delegator.clone();
    StartEvents {
        cache: start_event(async move { cache.ready().await }),
        authorizers: start_event(authorizers),
        admission: start_event(admission),
        definitions: custom.loaded.clone(),
        defined: custom.served.clone(),
        registered: custom.registered.clone(),
        available,
        flow: flow.ready.clone(),
    }
}

/// Builds the coordination with other servers of the cluster.
fn replicas(
    config: &Config,
    registry: &Registry,
    storage: &Store,
    served: &Arc<ServedApi>,
    process: &ProcessContext,
    tasks: &mut ApiTasks,
) -> Result<Replicas, RunError> {
    let client = LoopbackClient::new(process.loopback.credentials(), loopback(config))?;
    let catalog = &served.now().catalog;
    let storage = Arc::clone(storage);
    let mut replicas =
        Replicas::new(config, registry, storage, catalog, client, &process.tasks, &process.metrics)?;
    tasks.hooks.append(&mut replicas.hooks);
    tasks.background.append(&mut replicas.run);
    mem::take(&mut replicas.before_stop).into_iter().for_each(|task| tasks.add_before_stop(task));
    Ok(replicas)
}

/// Returns the health check of a store.
fn health_check(storage: &Store) -> Arc<dyn Fn() -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync> {
    let storage = Arc::clone(storage);
    Arc::new(move || {
        let storage = Arc::clone(&storage);
        Box::pin(async move { Ok(storage.healthy().await?) })
    })
}

/// Flow control and its readiness.
struct FlowControlParts {
    fairness: Option<Arc<Fairness>>,
    ready: Option<StartEvent>,
}

/// Builds the flow control of requests.
fn flow_control(
    config: &Config,
    registry: &Registry,
    metrics: &MetricsRegistry,
    tasks: &mut ApiTasks,
) -> Result<FlowControlParts, RunError> {
    if !config.priority_and_fairness {
        // The limits are static, so there is nothing to wait for.
        tasks.hooks.push(hook("max-in-flight-filter", start_event(future::ready(()))));
        return Ok(FlowControlParts { fairness: None, ready: None });
    }
    let (flow, task) = FlowControl::new(registry, config.chain.inflight)?;
    let fairness = flow.fairness();
    let ready = Some(start_event(flow.ready()));
    fairness.register(metrics);
    tasks.add_background(async move {
        tokio::join!(task.run(), flow.run());
    });
    Ok(FlowControlParts { fairness: Some(fairness), ready })
}

/// Returns the serialization formats of objects.
fn formats(config: &Config) -> Formats {
    Formats { cbor: config.gates.enabled(Gate::CBORServingAndStorage), ..Formats::default() }
}

/// Builds the clients of kubelets and other backends.
fn backends(config: &Config, metrics: &ApiMetrics) -> Result<Backends, RunError> {
    let kubelets = &config.kubelets;
    let dialer = config.egress.dialer(Network::Cluster);
    Ok(Backends {
        network: Arc::new(SystemNetwork::new(kubelets, dialer.as_ref())?),
        kubelet_port: kubelets.port,
        address_types: kubelets.address_types.clone(),
        primary_family: controllers::services::families(&config.services.cidrs).primary.name(),
        logs: Arc::clone(&metrics.logs),
        streams: Arc::clone(&metrics.streams),
    })
}

/// Counts objects for metrics, once before the server is ready and then every `period`. A zero period disables
/// both.
fn object_counts(period: Duration, delegator: &Delegator, metrics: &MetricsRegistry, tasks: &mut ApiTasks) {
    if period.is_zero() {
        return;
    }
    let counts = Arc::new(ObjectCounts::new(delegator.clone()));
    counts.register(metrics);
    let first = Arc::clone(&counts);
    let count = Box::pin(async move {
        first.poll().await;
        Ok(())
    });
    tasks.hooks.push(PostStartHook { name: "storage-object-count-tracker-hook", work: count });
    tasks.add_background(async move { counts.keep_polling(period, || rand::random_range(0.0..1.0)).await });
}

/// Returns the current document paths, for the list at `/`.
fn paths(served: &Arc<ServedApi>, openid: bool) -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
    let served = Arc::clone(served);
    let fixed = [OpenIdDocuments::CONFIGURATION_PATH, OpenIdDocuments::KEYS_PATH];
    Arc::new(move || {
        let mut paths = served.now().paths();
        paths.extend(fixed.iter().filter(|_| openid).map(|path| (*path).to_owned()));
        paths
    })
}
