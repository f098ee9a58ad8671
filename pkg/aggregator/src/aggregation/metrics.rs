//! Upstream's metrics of the aggregator about APIServices.

use std::collections::HashSet;

use component_base::metrics::{Counter, CounterVec, Family, Gauge, GaugeVec, MetricsRegistry, Stability};

const UNAVAILABLE: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "aggregator_unavailable_apiservice",
    "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    ["name"],
);
const LOSSES: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "aggregator_unavailable_apiservice_total",
    "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    ["name", "reason"],
);

/// Unavailable APIServices, and their transitions to unavailable.
pub(super) struct AvailabilityMetrics {
    unavailable: GaugeVec<1>,
    losses: CounterVec<2>,
}

impl AvailabilityMetrics {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        AvailabilityMetrics {
            unavailable: registry.register_vec(&UNAVAILABLE),
            losses: registry.register_vec(&LOSSES),
        }
    }

    pub(super) fn set_available(&self, name: &str, available: bool) {
        self.unavailable.with([name]).set((!available).into());
    }

    /// Records a transition to unavailable.
    pub(super) fn record_unavailable(&self, name: &str, reason: &'static str) {
        self.losses.with([name, reason]).increment();
    }

    /// Removes the series of all other APIServices.
    pub(super) fn retain(&self, names: &HashSet<&str>) {
        self.unavailable.retain(|[name]| names.contains(name));
        self.losses.retain(|[name, _]| names.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_api_services_are_not_counted() {
        let registry = MetricsRegistry::default();
        let metrics = AvailabilityMetrics::new(&registry);
        metrics.set_available("v1.", true);
        metrics.set_available("v1.example.com", false);
        metrics.record_unavailable("v1.example.com", "MissingEndpoints");
        let page = registry.to_string();
        assert!(page.contains("aggregator_unavailable_apiservice{name=\"v1.\"} 0\n"), "{page}");
        assert!(page.contains("aggregator_unavailable_apiservice{name=\"v1.example.com\"} 1\n"), "{page}");
        assert!(page.contains("_total{name=\"v1.example.com\",reason=\"MissingEndpoints\"} 1\n"), "{page}");
        metrics.retain(&HashSet::from(["v1."]));
        let page = registry.to_string();
        assert!(!page.contains("example.com"), "{page}");
    }
}
