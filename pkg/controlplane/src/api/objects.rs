//! Stored objects: the watch cache over the store, the served resources, and the verbs.

use std::collections::HashSet;
use std::sync::Arc;

use api::catalog::{Catalog, ServedSelection};
use cacher::{Delegator, Driver, Limits, Options};
use component_base::features::Gate;
use component_base::metrics::MetricsRegistry;
use endpoints::discovery::VersionInfo;
use endpoints::routing::served::{Description, ResourceRequests, ServedApi};
use kinds::validation::kinds::Settings;
use registry::Registry;
use registry::informer::InformerTask;
use registry::services::Ranges;
use storage::RoutedStorage;

use super::formats;
use super::tasks::ApiTasks;
use crate::config::Config;
use crate::error::RunError;
use crate::memory::Budgets;
use crate::process::ProcessContext;
use crate::system::{SystemClock, SystemEntropy};
use controllers::services::{self, RepairTask};

/// Cache budgets in bytes without a memory limit.
const BUDGETS: Budgets =
    Budgets { forms: 64 << 20, frames: 16 << 20, compressed: 32 << 20, superseded: 64 << 20 };

/// The stored objects with everything to read, serve and write them.
pub(super) struct Objects {
    pub(super) delegator: Delegator,
    pub(super) cache_driver: Driver,
    /// Address of this server for members of the cluster.
    pub(super) address: String,
    pub(super) served: Arc<ServedApi>,
    /// Requests for kinds that are not served yet.
    pub(super) resource_requests: ResourceRequests,
    /// Verbs, with the pools of Service addresses and node ports.
    pub(super) registry: Registry,
}

/// Returns the cache budgets of a process.
pub(super) fn budgets(process: &ProcessContext) -> Budgets {
    Budgets::for_limit(process.memory_limit, BUDGETS)
}

/// Opens the stored objects: the watch cache over the store, the served resources and the verbs.
pub(super) fn open(
    config: &Config,
    storage: RoutedStorage,
    process: &ProcessContext,
    tasks: &mut ApiTasks,
) -> Result<Objects, RunError> {
    let catalog = match &process.template {
        Some(template) => template.builtin.clone(),
        None => catalog(config)?,
    };
    let (delegator, mut cache_driver) = cached(config, &catalog, storage, process);
    if let Some(seed) = process.template.as_ref().and_then(|template| template.seed.clone()) {
        cache_driver = cache_driver.seeded(seed);
    }
    let address = format!("{}:{}", config.advertise_address, config.serving.bind.address.port());
    let (served, resource_requests) = ServedApi::incomplete(catalog, description(config, address.clone()));
    let served = Arc::new(served);
    let registry = registry(config, &delegator, &served).with_weakened(process.weakened.clone());
    let (registry, repairs, ranges) = with_pools(config, registry, &delegator, &process.metrics)?;
    tasks.hooks.push(repairs.hook());
    tasks.add_background(ranges.run());
    tasks.add_background(async move { repairs.keep_repairing().await });
    Ok(Objects { delegator, cache_driver, address, served, resource_requests, registry })
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
        bitmap_ranges: bitmap_ranges(config),
        storage: Arc::clone(delegator.storage()),
        prefix: config.storage.prefix().to_owned(),
        entropy: Arc::new(SystemEntropy),
    };
    Ok(services::with_pools(options, registry, delegator, metrics)?)
}

/// Returns the ranges whose allocations are also written to bitmaps.
fn bitmap_ranges(config: &Config) -> Vec<String> {
    let cidrs =
        config.services.cidrs.iter().filter(|_| !config.gates.enabled(Gate::DisableAllocatorDualWrite));
    cidrs.map(ToString::to_string).collect()
}

/// Builds the registry over `delegator`.
fn registry(config: &Config, delegator: &Delegator, served: &Arc<ServedApi>) -> Registry {
    let clock = Arc::new(SystemClock);
    let entropy = Arc::new(SystemEntropy);
    let prefix = config.storage.prefix();
    let settings = Settings { allow_privileged: config.pods.allow_privileged, gates: config.gates };
    let served = Arc::clone(served);
    Registry::new(delegator.clone(), prefix, clock, entropy, config.event_ttl)
        .with_settings(settings)
        .with_served(Arc::new(move |row| served.now().catalog.serves(row)))
}

/// Returns the server's data for discovery and OpenAPI documents.
fn description(config: &Config, server_address: String) -> Description {
    let effective = config.gates.effective();
    Description {
        server_address,
        version: VersionInfo::with_emulation(effective),
        hashes_for: config.gates.enabled(Gate::StorageVersionHash).then_some(effective),
        formats: formats(config),
        beta_discovery: !config.gates.enabled(Gate::AggregatedDiscoveryRemoveBetaType),
        clock: Arc::new(SystemClock),
    }
}

/// Builds the watch cache for a store, as configured. Resources without a served version are not cached.
fn cached(
    config: &Config,
    catalog: &Catalog,
    storage: RoutedStorage,
    process: &ProcessContext,
) -> (Delegator, Driver) {
    let budgets = budgets(process);
    let prefix = config.storage.prefix();
    let cache = &config.watch_cache;
    let rows = catalog.endpoints().map(|endpoint| endpoint.row.row());
    let served: HashSet<&str> = rows.filter_map(|row| Some(row.storage?.prefix)).collect();
    let resources = registry::ingest::resources(prefix, config.gates, |row| {
        cache.caches(row.group, row.plural, row.watch_cache)
            && row.storage.is_some_and(|storage| served.contains(storage.prefix))
    });
    let options = Options {
        enabled: cache.enabled,
        forms_bytes_max: budgets.forms,
        frames_bytes_max: budgets.frames,
        limits: Limits { bytes_max: budgets.superseded, ..Limits::default() },
        fill_on_demand: config.fills_caches_lazily(),
        skip_stale_fallback: config.gates.enabled(Gate::ConsistentListFromCacheSkipTimeoutFallback),
        weakened: process.weakened.clone(),
        ..Options::default()
    };
    Delegator::over(storage, prefix, resources, options)
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
    let gates = serving.gates;
    Ok(Catalog::builtin_with_gates(serving.rows()?, &gates).of_release(release))
}
