//! Metrics of the controller's own lease (component-base `metrics/prometheus/clientgo/leaderelection`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use component_base::metrics::{Family, Stability};
use server::metrics::Collector;

use super::NAME;

const LEADS: Family = Family::gauge(
    Stability::Alpha,
    "leader_election_master_status",
    "1 for a server that leads by the lease of this name, 0 for one that would if that did not.",
);
const READ_AGAIN: Family = Family::counter(
    Stability::Alpha,
    "leader_election_slowpath_total",
    "How often a server renewed the lease of this name only after it had read it again.",
);

#[derive(Default)]
pub(super) struct Figures {
    leads: AtomicBool,
    read_again: AtomicU64,
}

impl Figures {
    /// Sets the current leadership of this server.
    pub(super) fn leads(&self, leads: bool) {
        self.leads.store(leads, Relaxed);
    }

    /// Records that a renewal had to read the lease first.
    pub(super) fn read_again(&self) {
        self.read_again.fetch_add(1, Relaxed);
    }
}

impl Collector for Figures {
    fn collect(&self, out: &mut String) {
        let labels = [("name", NAME)];
        LEADS.write(out).add(&labels, u8::from(self.leads.load(Relaxed)));
        READ_AGAIN.write(out).counted(&labels, &self.read_again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_upstreams_names() {
        let (figures, mut page) = (Figures::default(), String::new());
        figures.leads(true);
        figures.read_again();
        figures.collect(&mut page);
        for line in [
            "leader_election_master_status{name=\"leader-election-controller\"} 1\n",
            "leader_election_slowpath_total{name=\"leader-election-controller\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
