//! Metrics of the service allocators under upstream's names (`registry/core/service/ipallocator/metrics.go`
//! and its `portallocator`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::{Family, Histogram, Stability};

use super::range::AddressRange;

const TAKEN: Family = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocated_ips",
    "Addresses of a range that services have.",
);
const FREE: Family = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_available_ips",
    "Addresses of a range that services may have yet.",
);
const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
    "How long it took to take an address out of a range, in seconds.",
);
const ERRORS: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_errors_total",
    "Addresses that could not be taken out of a range.",
);
const TOTAL: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_total",
    "Addresses that were taken out of a range.",
);
const PORTS_TAKEN: Family = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocated_ports",
    "Node ports that services have.",
);
const PORT_ERRORS: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocation_errors_total",
    "Node ports that could not be taken.",
);
const PORT_TOTAL: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocation_total",
    "Node ports that were taken.",
);
const PORTS_FREE: Family = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_available_ports",
    "Node ports that services may have yet.",
);
const REPAIRS_FAILED: Family = Family::counter(
    Stability::Alpha,
    "apiserver_nodeport_repair_reconcile_errors_total",
    "Repairs of node ports that failed.",
);

/// Bucket bounds in microseconds.
const BOUNDS: [(&str, u64); 11] = [
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
];
/// Maximum number of counted ranges. There are only a few; ranges of deleted ServiceCIDRs remain.
const RANGES_MAX: usize = 1024;

/// Origin of an allocated value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Chosen by the allocator.
    Dynamic,
    /// Chosen by the user.
    Static,
}

const SCOPES: [&str; 2] = ["dynamic", "static"];

/// Successful and failed allocations of a pool, by scope.
#[derive(Debug, Default)]
struct Counts {
    taken: [AtomicU64; 2],
    errors: [AtomicU64; 2],
}

impl Counts {
    fn count(&self, scope: Scope, taken: bool) {
        let counts = if taken { &self.taken } else { &self.errors };
        counts.get(scope as usize).inspect(|count| _ = count.fetch_add(1, Relaxed));
    }
}

#[derive(Debug, Default)]
struct RangeMetrics {
    counts: Counts,
    seconds: Histogram<11>,
}

/// Metrics of the allocators.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// By the text of the range.
    ranges: Mutex<BTreeMap<String, Arc<RangeMetrics>>>,
    ports: Counts,
    /// Number of allocated ports at the last observation.
    ports_taken: AtomicU64,
    repairs_failed: AtomicU64,
}

impl Figures {
    /// Records the allocation of an address from a range: result and duration.
    pub(super) fn address(&self, range: &AddressRange, scope: Scope, taken: bool, took: Duration) {
        let of_range = {
            let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
            if ranges.len() >= RANGES_MAX && !ranges.contains_key(&range.text) {
                return;
            }
            Arc::clone(ranges.entry(range.text.clone()).or_default())
        };
        of_range.counts.count(scope, taken);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        of_range.seconds.observe(&BOUNDS, micros, micros);
    }

    /// Records the allocation of a node port.
    pub(super) fn port(&self, scope: Scope, taken: bool) {
        self.ports.count(scope, taken);
    }

    /// Sets the number of allocated node ports.
    pub(super) fn ports_taken(&self, count: usize) {
        self.ports_taken.store(count as u64, Relaxed);
    }

    /// Counts a failed repair of node ports.
    pub(super) fn repair_failed(&self) {
        self.repairs_failed.fetch_add(1, Relaxed);
    }

    /// Appends the metric families. `ranges` are the current ranges, `taken` the addresses of services,
    /// `ports` the number of node ports.
    pub(super) fn write(&self, out: &mut String, ranges: &[AddressRange], taken: &[IpAddr], ports: u32) {
        let in_range: Vec<(&AddressRange, u128)> = ranges
            .iter()
            .map(|range| (range, taken.iter().filter(|address| range.offers(**address)).count() as u128))
            .collect();
        let mut samples = TAKEN.write(out);
        in_range.iter().for_each(|(range, count)| samples.add(&[("cidr", &range.text)], count));
        let counted = self.ranges.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut samples = SECONDS.write(out);
        for (cidr, of_range) in &counted {
            samples.observed(&[("cidr", cidr)], &of_range.seconds, &BOUNDS, 1e6);
        }
        for (family, counts) in [
            (&ERRORS, (|counts| &counts.errors) as fn(&Counts) -> &[AtomicU64; 2]),
            (&TOTAL, |counts| &counts.taken),
        ] {
            let mut samples = family.write(out);
            for (cidr, of_range) in &counted {
                for (scope, count) in SCOPES.iter().zip(counts(&of_range.counts)) {
                    samples.counted(&[("cidr", cidr), ("scope", scope)], count);
                }
            }
        }
        let mut samples = FREE.write(out);
        in_range.iter().for_each(|(range, count)| {
            samples.add(&[("cidr", &range.text)], range.offered().saturating_sub(*count));
        });
        self.write_ports(out, ports);
    }

    fn write_ports(&self, out: &mut String, ports: u32) {
        let taken = self.ports_taken.load(Relaxed);
        PORTS_TAKEN.write(out).add(&[], taken);
        for (family, counts) in [(&PORT_ERRORS, &self.ports.errors), (&PORT_TOTAL, &self.ports.taken)] {
            let mut samples = family.write(out);
            for (scope, count) in SCOPES.iter().zip(counts) {
                samples.counted(&[("scope", scope)], count);
            }
        }
        PORTS_FREE.write(out).add(&[], u64::from(ports).saturating_sub(taken));
        REPAIRS_FAILED.write(out).add(&[], self.repairs_failed.load(Relaxed));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_counted_by_range() {
        let figures = Figures::default();
        let ranges = ["10.0.0.0/24", "fd00::/112"].map(|text| AddressRange::parse(text).unwrap());
        figures.address(&ranges[0], Scope::Static, true, Duration::from_millis(6));
        figures.address(&ranges[0], Scope::Dynamic, false, Duration::ZERO);
        figures.port(Scope::Dynamic, true);
        figures.ports_taken(3);
        figures.repair_failed();
        let taken = ["10.0.0.1", "10.0.0.7", "fd00::5", "192.0.2.1"].map(|text| text.parse().unwrap());
        let mut page = String::new();
        figures.write(&mut page, &ranges, &taken, 2768);
        for line in [
            "clusterip_allocator_allocated_ips{cidr=\"10.0.0.0/24\"} 2\n",
            "clusterip_allocator_available_ips{cidr=\"10.0.0.0/24\"} 252\n",
            "clusterip_allocator_allocated_ips{cidr=\"fd00::/112\"} 1\n",
            "clusterip_allocator_allocation_total{cidr=\"10.0.0.0/24\",scope=\"static\"} 1\n",
            "clusterip_allocator_allocation_errors_total{cidr=\"10.0.0.0/24\",scope=\"dynamic\"} 1\n",
            "clusterip_allocator_allocation_duration_seconds_count{cidr=\"10.0.0.0/24\"} 2\n",
            "nodeport_allocator_allocated_ports 3\n",
            "nodeport_allocator_available_ports 2765\n",
            "nodeport_allocator_allocation_total{scope=\"dynamic\"} 1\n",
            "nodeport_repair_reconcile_errors_total 1\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
    }
}
