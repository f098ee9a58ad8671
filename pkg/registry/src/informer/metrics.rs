//! Metrics of informers by resource, with upstream's names (component-base `metrics/prometheus/clientgo/fifo`).

use std::sync::Arc;
use std::time::Duration;

use api::resources::Resource;
use component_base::metrics::{
    Family, Gauge, GaugeVec, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};
use storage::Revision;

const QUEUED: Family<Gauge, 4> = Family::gauge(
    Stability::Alpha,
    "informer_queued_items",
    "Number of items currently queued in the FIFO.",
    ["group", "name", "resource", "version"],
);
const PROCESSING_SECONDS: Family<Histogram, 4> = Family::histogram(
    Stability::Alpha,
    "informer_processing_latency_seconds",
    "Time taken to process events after popping from the queue.",
    ["group", "name", "resource", "version"],
    &buckets::INFORMER_SECONDS,
);
const STORE_REVISION: Family<Gauge, 4> = Family::gauge(
    Stability::Alpha,
    "informer_store_resource_version",
    "The 15 least significant digits of the resource version of the store.",
    ["group", "name", "resource", "version"],
);
/// Label value of all informers of this server.
const NAME: &str = "kube-apiserver";
/// Revisions are exported modulo this number, so that they are exact as floating-point numbers.
const REVISION_MODULUS: Revision = 1_000_000_000_000_000;

/// Metrics of all informers. Informers of one resource share their series.
#[derive(Debug, Clone)]
pub struct InformerMetrics {
    queued: GaugeVec<4>,
    processing_seconds: HistogramVec<4>,
    store_revision: GaugeVec<4>,
}

impl Default for InformerMetrics {
    fn default() -> Self {
        InformerMetrics {
            queued: GaugeVec::new(&QUEUED),
            processing_seconds: HistogramVec::new(&PROCESSING_SECONDS),
            store_revision: GaugeVec::new(&STORE_REVISION),
        }
    }
}

impl InformerMetrics {
    /// Adds the metrics to the page.
    pub fn register(&self, registry: &MetricsRegistry) {
        registry.register_existing(&self.queued);
        registry.register_existing(&self.processing_seconds);
        registry.register_existing(&self.store_revision);
    }

    /// Returns the metrics of a resource.
    pub(super) fn of(&self, row: &Resource<'_>) -> Arc<ResourceMetrics> {
        let labels = [row.group, NAME, row.plural, row.version];
        Arc::new(ResourceMetrics {
            queued: self.queued.with(labels),
            processing_seconds: self.processing_seconds.with(labels),
            store_revision: self.store_revision.with(labels),
        })
    }
}

/// Metrics of the informers of one resource.
#[derive(Debug)]
pub(super) struct ResourceMetrics {
    queued: Gauge,
    processing_seconds: Histogram,
    store_revision: Gauge,
}

impl ResourceMetrics {
    /// Records that a view contains everything up to a revision.
    pub(super) fn record_revision(&self, revision: Revision) {
        self.store_revision.set(revision % REVISION_MODULUS);
    }

    /// Records the time to apply a change to a view.
    pub(super) fn record_processing(&self, duration: Duration) {
        self.processing_seconds.observe_duration(duration);
    }
}

/// A change between its arrival and the end of its processing. It is counted while this value exists.
#[derive(Debug)]
pub(super) struct QueuedItem(Arc<ResourceMetrics>);

impl QueuedItem {
    pub(super) fn new(metrics: &Arc<ResourceMetrics>) -> Self {
        metrics.queued.add(1);
        QueuedItem(Arc::clone(metrics))
    }

    pub(super) fn metrics(&self) -> &ResourceMetrics {
        &self.0
    }
}

impl Drop for QueuedItem {
    fn drop(&mut self) {
        self.0.queued.add(-1);
    }
}
