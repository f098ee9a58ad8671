//! Metrics of the controller's own lease (component-base `metrics/prometheus/clientgo/leaderelection`).

use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Stability};

use super::NAME;

const MASTER_STATUS: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "leader_election_master_status",
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
);
const SLOW_PATHS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "leader_election_slowpath_total",
    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
);

pub(super) struct LeaderElectionMetrics {
    master_status: Gauge,
    slow_paths: Counter,
}

impl LeaderElectionMetrics {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        LeaderElectionMetrics {
            master_status: registry.register_vec(&MASTER_STATUS).with([NAME]),
            slow_paths: registry.register_vec(&SLOW_PATHS).with([NAME]),
        }
    }

    /// Sets the current leadership of this server.
    pub(super) fn set_leader(&self, leads: bool) {
        self.master_status.set(leads.into());
    }

    /// Records that a renewal had to read the lease first.
    pub(super) fn record_slow_path(&self) {
        self.slow_paths.increment();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_upstreams_names() {
        let registry = MetricsRegistry::default();
        let metrics = LeaderElectionMetrics::new(&registry);
        metrics.set_leader(true);
        metrics.record_slow_path();
        let page = registry.to_string();
        for line in [
            "leader_election_master_status{name=\"leader-election-controller\"} 1\n",
            "leader_election_slowpath_total{name=\"leader-election-controller\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
