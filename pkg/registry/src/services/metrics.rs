//! Metrics of the service allocators under upstream's names (`registry/core/service/ipallocator/metrics.go`
//! and its `portallocator`).

use std::net::IpAddr;
use std::time::Duration;

use component_base::metrics::{
    Counter, CounterVec, Family, Gauge, Histogram, HistogramVec, MetricsRegistry, Page, Stability, buckets,
};

use super::range::AddressRange;

const ALLOCATED: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocated_ips",
    "Gauge measuring the number of allocated IPs for Services",
    ["cidr"],
);
const AVAILABLE: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_available_ips",
    "Gauge measuring the number of available IPs for Services",
    ["cidr"],
);
const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
    "Duration in seconds to allocate a Cluster IP by ServiceCIDR",
    ["cidr"],
    &buckets::DEFAULT_SECONDS,
);
const ERRORS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_errors_total",
    "Number of errors trying to allocate Cluster IPs",
    ["cidr", "scope"],
);
const TOTAL: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_clusterip_allocator_allocation_total",
    "Number of Cluster IPs allocations",
    ["cidr", "scope"],
);
const PORTS_ALLOCATED: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocated_ports",
    "Gauge measuring the number of allocated NodePorts for Services",
    [],
);
const PORT_ERRORS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocation_errors_total",
    "Number of errors trying to allocate NodePort",
    ["scope"],
);
const PORT_TOTAL: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_allocation_total",
    "Number of NodePort allocations",
    ["scope"],
);
const PORTS_FREE: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "kube_apiserver_nodeport_allocator_available_ports",
    "Gauge measuring the number of available NodePorts for Services",
    [],
);
const REPAIRS_FAILED: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_nodeport_repair_reconcile_errors_total",
    "Number of reconciliation failures on the nodeport repair reconcile loop",
    [],
);

/// Origin of an allocated value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Chosen by the allocator.
    Dynamic,
    /// Chosen by the user.
    Static,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Scope::Dynamic => "dynamic",
            Scope::Static => "static",
        }
    }
}

/// Metrics of the allocators. Ranges of deleted ServiceCIDRs keep their series.
#[derive(Debug)]
pub(super) struct AllocatorMetrics {
    seconds: HistogramVec<1>,
    errors: CounterVec<2>,
    total: CounterVec<2>,
    port_errors: CounterVec<1>,
    port_total: CounterVec<1>,
    /// Number of allocated ports at the last observation.
    ports_allocated: Gauge,
    repairs_failed: Counter,
}

impl AllocatorMetrics {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        AllocatorMetrics {
            seconds: registry.register_vec(&SECONDS),
            errors: registry.register_vec(&ERRORS),
            total: registry.register_vec(&TOTAL),
            port_errors: registry.register_vec(&PORT_ERRORS),
            port_total: registry.register_vec(&PORT_TOTAL),
            ports_allocated: registry.register(&PORTS_ALLOCATED),
            repairs_failed: registry.register(&REPAIRS_FAILED),
        }
    }

    /// Registers the current addresses and ports. `addresses` returns the ranges and the addresses of
    /// services; `ports` is the number of node ports.
    pub(super) fn register_free(
        &self,
        registry: &MetricsRegistry,
        ports: u32,
        addresses: impl Fn() -> (Vec<AddressRange>, Vec<IpAddr>) + Send + Sync + 'static,
    ) {
        let allocated = self.ports_allocated.clone();
        registry.collect(&[&ALLOCATED, &AVAILABLE, &PORTS_FREE], move |page| {
            let (ranges, addresses) = addresses();
            write_addresses(page, &ranges, &addresses);
            page.family(&PORTS_FREE).add([], i64::from(ports).saturating_sub(allocated.get()).max(0));
        });
    }

    /// Records the allocation of an address from a range: result and duration.
    pub(super) fn address(&self, range: &AddressRange, scope: Scope, succeeded: bool, duration: Duration) {
        let counts = if succeeded { &self.total } else { &self.errors };
        counts.with([&range.text, scope.name()]).increment();
        self.seconds.with([&range.text]).observe_duration(duration);
    }

    /// Records the allocation of a node port.
    pub(super) fn port(&self, scope: Scope, succeeded: bool) {
        let counts = if succeeded { &self.port_total } else { &self.port_errors };
        counts.with([scope.name()]).increment();
    }

    /// Sets the number of allocated node ports.
    pub(super) fn set_ports_allocated(&self, count: usize) {
        self.ports_allocated.set_count(count);
    }

    /// Counts a failed repair of node ports.
    pub(super) fn repair_failed(&self) {
        self.repairs_failed.increment();
    }
}

fn write_addresses(page: &mut Page<'_>, ranges: &[AddressRange], addresses: &[IpAddr]) {
    let in_range: Vec<(&AddressRange, u128)> = ranges
        .iter()
        .map(|range| (range, addresses.iter().filter(|address| range.is_usable(**address)).count() as u128))
        .collect();
    let mut samples = page.family(&ALLOCATED);
    in_range.iter().for_each(|(range, count)| samples.add([&range.text], *count));
    drop(samples);
    let mut samples = page.family(&AVAILABLE);
    in_range
        .iter()
        .for_each(|(range, count)| samples.add([&range.text], range.usable_count().saturating_sub(*count)));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_counted_by_range() {
        let registry = MetricsRegistry::default();
        let metrics = AllocatorMetrics::new(&registry);
        let ranges = ["10.0.0.0/24", "fd00::/112"].map(|text| AddressRange::parse(text).unwrap());
        metrics.address(&ranges[0], Scope::Static, true, Duration::from_millis(6));
        metrics.address(&ranges[0], Scope::Dynamic, false, Duration::ZERO);
        metrics.port(Scope::Dynamic, true);
        metrics.set_ports_allocated(3);
        metrics.repair_failed();
        let allocated: [IpAddr; 4] =
            ["10.0.0.1", "10.0.0.7", "fd00::5", "192.0.2.1"].map(|text| text.parse().unwrap());
        metrics.register_free(&registry, 2768, move || (ranges.to_vec(), allocated.to_vec()));
        let page = registry.to_string();
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
