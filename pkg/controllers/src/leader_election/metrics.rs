//! Metrics of the controller's own lease (component-base `metrics/prometheus/clientgo/leaderelection`).

use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Stability};

use super::NAME;

const LEADS: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "leader_election_master_status",
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
);
const READ_AGAIN: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "leader_election_slowpath_total",
    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
);

pub(super) struct LeaderElectionMetrics {
    leads: Gauge,
    read_again: Counter,
}

impl LeaderElectionMetrics {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        LeaderElectionMetrics {
            leads: registry.register_vec(&LEADS).with([NAME]),
            read_again: registry.register_vec(&READ_AGAIN).with([NAME]),
        }
    }

    /// Sets the current leadership of this server.
    pub(super) fn leads(&self, leads: bool) {
        self.leads.set(leads.into());
    }

    /// Records that a renewal had to read the lease first.
    pub(super) fn read_again(&self) {
        self.read_again.increment();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_upstreams_names() {
        let registry = MetricsRegistry::default();
        let metrics = LeaderElectionMetrics::new(&registry);
        metrics.leads(true);
        metrics.read_again();
        let page = registry.to_string();
        for line in [
            "leader_election_master_status{name=\"leader-election-controller\"} 1\n",
            "leader_election_slowpath_total{name=\"leader-election-controller\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
