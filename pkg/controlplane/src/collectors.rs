//! Collectors of metrics that do not belong to the request chain.

use std::sync::Arc;

use api::cel_times::CelMetrics;
use apiextensions::DefinitionFigures;
use cacher::Delegator;
use client::webhook::Figures;
use component_base::metrics::{Family, Stability};
use egress::Egress;
use endpoints::api::{DeprecatedRequests, WatchMetrics};
use endpoints::cpu_pool::CpuPool;
use endpoints::proxy::LogFigures;
use endpoints::routing::served::Served;
use server::metrics::Collector;
use tokio::time::Instant;

use crate::config::Config;
use crate::features::FeatureMetrics;
use crate::system;
use controllers::tasks::Tasks;

/// Metrics that the API records.
pub(crate) struct Counted {
    pub(crate) watches: Arc<WatchMetrics>,
    pub(crate) deprecated_requests: Arc<DeprecatedRequests>,
    pub(crate) cel_times: Arc<CelMetrics>,
    pub(crate) webhooks: Arc<Figures>,
    /// Log requests to kubelets.
    pub(crate) logs: Arc<LogFigures>,
    /// Documents changed by CRDs.
    pub(crate) definitions: Arc<DefinitionFigures>,
}

impl Counted {
    /// Creates empty metrics, with shared ones for webhook calls.
    pub(crate) fn beside(webhooks: &Arc<Figures>) -> Self {
        let began = Instant::now();
        Counted {
            watches: Arc::default(),
            deprecated_requests: Arc::default(),
            webhooks: Arc::clone(webhooks),
            logs: Arc::default(),
            definitions: Arc::default(),
            cel_times: Arc::new(CelMetrics::new(move || began.elapsed())),
        }
    }

    /// Returns all collectors, including those of other components.
    pub(crate) fn collectors(
        &self,
        delegator: &Delegator,
        served: &Arc<Served>,
        config: &Config,
        heavy: CpuPool,
        tasks: &Tasks,
    ) -> Vec<Arc<dyn Collector>> {
        vec![
            Arc::new(Caches(delegator.clone())),
            Arc::new(Watches(Arc::clone(&self.watches))),
            Arc::new(Deprecated(Arc::clone(&self.deprecated_requests))),
            Arc::new(Expressions(Arc::clone(&self.cel_times))),
            Arc::new(Webhooks(Arc::clone(&self.webhooks))),
            Arc::new(Logs(Arc::clone(&self.logs))),
            Arc::clone(&self.definitions) as Arc<dyn Collector>,
            Arc::new(Documents(Arc::clone(served))),
            Arc::new(Heavy(heavy)),
            Arc::new(FeatureMetrics(config.gates)),
            Arc::new(OfEgress(config.egress.clone())),
            tasks.figures(),
        ]
    }
}

struct Caches(Delegator);

impl Collector for Caches {
    fn collect(&self, out: &mut String) {
        self.0.write_metrics(out);
    }
}

struct Watches(Arc<WatchMetrics>);

impl Collector for Watches {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Deprecated(Arc<DeprecatedRequests>);

impl Collector for Deprecated {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Expressions(Arc<CelMetrics>);

impl Collector for Expressions {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Webhooks(Arc<Figures>);

impl Collector for Webhooks {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
        self.0.programs().write(system::clock().now(), out);
    }
}

struct Logs(Arc<LogFigures>);

impl Collector for Logs {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

const AGGREGATIONS: Family = Family::counter(
    Stability::Alpha,
    "aggregator_discovery_aggregation_count_total",
    "How often the aggregated discovery documents were made.",
);

struct Documents(Arc<Served>);

impl Collector for Documents {
    fn collect(&self, out: &mut String) {
        AGGREGATIONS.write(out).add(&[], self.0.aggregations());
    }
}

struct Heavy(CpuPool);

impl Collector for Heavy {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// Metrics of egress proxies.
struct OfEgress(Egress);

impl Collector for OfEgress {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}
