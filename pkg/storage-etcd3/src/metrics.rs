//! Lease metrics, with upstream's names (apiserver `storage/etcd3/metrics`).

use component_base::metrics::{Family, Histogram, Metric, MetricsRegistry, Stability, buckets};

const OBJECTS: Family<Histogram, 0> = Family::histogram(
    Stability::Alpha,
    "etcd_lease_object_counts",
    "Number of objects attached to a single etcd lease.",
    [],
    &buckets::LEASE_OBJECTS,
);

/// Metrics of leases. The default is not exported.
#[derive(Debug, Clone)]
pub struct LeaseMetrics(Histogram);

impl Default for LeaseMetrics {
    fn default() -> Self {
        LeaseMetrics(Histogram::new(OBJECTS.buckets()))
    }
}

impl LeaseMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        LeaseMetrics(registry.register(&OBJECTS))
    }

    /// Records a lease that was used for this many keys and is not used for more.
    pub(crate) fn replaced(&self, uses: u32) {
        self.0.observe(uses.into());
    }
}
