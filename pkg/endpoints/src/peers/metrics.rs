//! Metrics of requests that are proxied to peers.

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};

use super::ResourceName;

const PASSED_ON: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_rerouted_request_total",
    "Total number of requests that were proxied to a peer kube-apiserver because the local apiserver was not capable of serving it, broken down by 'group', 'version', and 'resource' indicating the GVR of the request. If all three are empty (\"\"), the request is a discovery request.",
    ["code", "group", "resource", "version"],
);
const NOT_PASSED_ON: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_peer_proxy_errors_total",
    "Total number of errors encountered while proxying requests to a peer kube apiserver",
    ["group", "resource", "type", "version"],
);
const SYNC_FAILED: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_peer_discovery_sync_errors_total",
    "Total number of errors encountered while syncing discovery information from a peer kube-apiserver",
    ["type"],
);
const ALONE: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "aggregator_discovery_nopeer_requests_total",
    "Counter of number of times no-peer (non peer-aggregated) discovery was requested",
    [],
);
const HITS: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "aggregator_discovery_peer_aggregated_cache_hits_total",
    "Counter of number of times discovery was served from peer-aggregated cache",
    [],
);
const MISSES: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "aggregator_discovery_peer_aggregated_cache_misses_total",
    "Counter of number of times discovery was aggregated across all API servers",
    [],
);

/// Failure to get the discovery document of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncFailure {
    /// The peer has not published its address.
    Endpoint,
    /// The peer does not respond, or its response is invalid.
    Fetch,
}

/// Failure to proxy a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProxyFailure {
    /// No suitable peer has published its address.
    Endpoint,
    /// Headers cannot represent the user.
    Transport,
}

impl ProxyFailure {
    fn name(self) -> &'static str {
        match self {
            ProxyFailure::Endpoint => "endpoint_resolution",
            ProxyFailure::Transport => "proxy_transport",
        }
    }
}

/// The counters. Clones share them. Their number is bounded, because only resources of peers are counted.
#[derive(Clone)]
pub struct PeerMetrics {
    passed_on: CounterVec<4>,
    not_passed_on: CounterVec<4>,
    sync_failed: CounterVec<1>,
    hits: Counter,
    misses: Counter,
    alone: Counter,
}

impl PeerMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        PeerMetrics {
            passed_on: registry.register_vec(&PASSED_ON),
            not_passed_on: registry.register_vec(&NOT_PASSED_ON),
            sync_failed: registry.register_vec(&SYNC_FAILED),
            hits: registry.register(&HITS),
            misses: registry.register(&MISSES),
            alone: registry.register(&ALONE),
        }
    }

    /// Counts a proxied request by response code. A discovery request has no resource.
    pub fn passed_on(&self, code: u16, named: &ResourceName<'_>) {
        let ResourceName { group, version, resource } = named;
        self.passed_on.with([&code.to_string(), group, resource, version]).increment();
    }

    pub(super) fn not_passed_on(&self, named: &ResourceName<'_>, failure: ProxyFailure) {
        let ResourceName { group, version, resource } = named;
        self.not_passed_on.with([group, resource, failure.name(), version]).increment();
    }

    /// Counts a failed discovery request to a peer.
    pub fn sync_failed(&self, failure: SyncFailure) {
        let kind = match failure {
            SyncFailure::Endpoint => "hostport_resolution",
            SyncFailure::Fetch => "fetch_discovery",
        };
        self.sync_failed.with([kind]).increment();
    }

    pub(super) fn merged(&self, known: bool) {
        let count = if known { &self.hits } else { &self.misses };
        count.increment();
    }

    pub(super) fn alone(&self) {
        self.alone.increment();
    }
}

/// Metrics that are counted but not exported.
impl Default for PeerMetrics {
    fn default() -> Self {
        PeerMetrics::new(&MetricsRegistry::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_upstreams_labels() {
        let registry = MetricsRegistry::default();
        let metrics = PeerMetrics::new(&registry);
        let jobs = ResourceName { group: "batch", version: "v1", resource: "jobs" };
        metrics.passed_on(200, &jobs);
        metrics.not_passed_on(&jobs, ProxyFailure::Endpoint);
        metrics.not_passed_on(&jobs, ProxyFailure::Transport);
        metrics.sync_failed(SyncFailure::Fetch);
        metrics.merged(false);
        let page = registry.to_string();
        for line in [
            "apiserver_rerouted_request_total{code=\"200\",group=\"batch\",resource=\"jobs\",version=\"v1\"} 1\n",
            "apiserver_peer_proxy_errors_total{group=\"batch\",resource=\"jobs\",type=\"endpoint_resolution\",version=\"v1\"} 1\n",
            "apiserver_peer_proxy_errors_total{group=\"batch\",resource=\"jobs\",type=\"proxy_transport\",version=\"v1\"} 1\n",
            "apiserver_peer_discovery_sync_errors_total{type=\"fetch_discovery\"} 1\n",
            "aggregator_discovery_peer_aggregated_cache_misses_total 1\n",
            "aggregator_discovery_nopeer_requests_total 0\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
