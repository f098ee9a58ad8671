//! Metrics of the API, besides those that its parts register themselves.

use std::sync::Arc;

use api::cel_times::CelMetrics;
use apiextensions::DefinitionMetrics;
use client::webhook::ClientMetrics;
use component_base::metrics::{Counter, Family, MetricsRegistry, Stability};
use endpoints::api::{DeprecatedRequests, WatchMetrics};
use endpoints::cpu_pool::CpuPool;
use endpoints::proxy::{LogMetrics, StreamMetrics};
use endpoints::routing::served::ServedApi;
use registry::Registry;
use tokio::time::Instant;

use crate::config::Config;
use crate::features;

const AGGREGATIONS: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "aggregator_discovery_aggregation_count_total",
    "Counter of number of times discovery was aggregated",
    [],
);

/// Metrics that the API records.
pub(crate) struct ApiMetrics {
    pub(crate) watches: Arc<WatchMetrics>,
    pub(crate) deprecated_requests: Arc<DeprecatedRequests>,
    pub(crate) cel_times: Arc<CelMetrics>,
    pub(crate) webhooks: Arc<ClientMetrics>,
    /// Log requests to kubelets.
    pub(crate) logs: Arc<LogMetrics>,
    /// Connections to kubelets.
    pub(crate) streams: Arc<StreamMetrics>,
    /// Documents changed by CRDs.
    pub(crate) definitions: Arc<DefinitionMetrics>,
}

impl ApiMetrics {
    /// Registers empty metrics, with shared ones for webhook calls.
    pub(crate) fn new(registry: &MetricsRegistry, webhooks: &Arc<ClientMetrics>) -> Self {
        let start = Instant::now();
        let watches = Arc::<WatchMetrics>::default();
        watches.register(registry);
        ApiMetrics {
            watches,
            deprecated_requests: Arc::new(DeprecatedRequests::new(registry)),
            webhooks: Arc::clone(webhooks),
            logs: Arc::new(LogMetrics::new(registry)),
            streams: Arc::new(StreamMetrics::new(registry)),
            definitions: Arc::new(DefinitionMetrics::new(registry)),
            cel_times: Arc::new(CelMetrics::new(registry, move || start.elapsed())),
        }
    }
}

/// Registers the metrics of components that are created without a metrics registry.
pub(crate) fn register(
    metrics: &MetricsRegistry,
    registry: &Registry,
    served: &Arc<ServedApi>,
    config: &Config,
    cpu_pool: &CpuPool,
) {
    registry.register_metrics(metrics);
    let served = Arc::clone(served);
    metrics.collect(&[&AGGREGATIONS], move |page| {
        page.family(&AGGREGATIONS).add([], served.aggregations());
    });
    cpu_pool.register_metrics(metrics);
    features::register(config.gates, metrics);
    config.egress.register(metrics);
}
