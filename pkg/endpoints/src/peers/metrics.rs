//! Metrics of requests that are proxied to peers.

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};

use super::ResourceName;

const PROXIED: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_rerouted_request_total",
    "Total number of requests that were proxied to a peer kube-apiserver because the local apiserver was not capable of serving it, broken down by 'group', 'version', and 'resource' indicating the GVR of the request. If all three are empty (\"\"), the request is a discovery request.",
    ["code", "group", "resource", "version"],
);
const PROXY_ERRORS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_peer_proxy_errors_total",
    "Total number of errors encountered while proxying requests to a peer kube apiserver",
    ["group", "resource", "type", "version"],
);
const SYNC_ERRORS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_peer_discovery_sync_errors_total",
    "Total number of errors encountered while syncing discovery information from a peer kube-apiserver",
    ["type"],
);
const NOPEER_REQUESTS: Family<Counter, 0> = Family::counter(
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

/// Reason for a failed fetch of a peer's discovery document, a label value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncErrorReason {
    /// The peer has not published its address.
    Endpoint,
    /// The peer does not respond, or its response is invalid.
    Fetch,
}

/// Reason for a failure to proxy a request, a label value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProxyErrorReason {
    /// No suitable peer has published its address.
    Endpoint,
    /// Headers cannot represent the user.
    Transport,
}

impl ProxyErrorReason {
    fn name(self) -> &'static str {
        match self {
            ProxyErrorReason::Endpoint => "endpoint_resolution",
            ProxyErrorReason::Transport => "proxy_transport",
        }
    }
}

/// The counters. Clones share them. Their number is bounded, because only resources of peers are counted.
#[derive(Clone)]
pub struct PeerMetrics {
    proxied: CounterVec<4>,
    proxy_errors: CounterVec<4>,
    sync_errors: CounterVec<1>,
    hits: Counter,
    misses: Counter,
    nopeer_requests: Counter,
}

impl PeerMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        PeerMetrics {
            proxied: registry.register_vec(&PROXIED),
            proxy_errors: registry.register_vec(&PROXY_ERRORS),
            sync_errors: registry.register_vec(&SYNC_ERRORS),
            hits: registry.register(&HITS),
            misses: registry.register(&MISSES),
            nopeer_requests: registry.register(&NOPEER_REQUESTS),
        }
    }

    /// Counts a proxied request by response code. A discovery request has no resource.
    pub fn record_proxied(&self, code: u16, named: &ResourceName<'_>) {
        let ResourceName { group, version, resource } = named;
        self.proxied.with([&code.to_string(), group, resource, version]).increment();
    }

    pub(super) fn record_proxy_error(&self, named: &ResourceName<'_>, reason: ProxyErrorReason) {
        let ResourceName { group, version, resource } = named;
        self.proxy_errors.with([group, resource, reason.name(), version]).increment();
    }

    /// Counts a failed discovery request to a peer.
    pub fn record_sync_error(&self, reason: SyncErrorReason) {
        let kind = match reason {
            SyncErrorReason::Endpoint => "hostport_resolution",
            SyncErrorReason::Fetch => "fetch_discovery",
        };
        self.sync_errors.with([kind]).increment();
    }

    pub(super) fn record_merged(&self, cached: bool) {
        let count = if cached { &self.hits } else { &self.misses };
        count.increment();
    }

    pub(super) fn record_nopeer(&self) {
        self.nopeer_requests.increment();
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
        metrics.record_proxied(200, &jobs);
        metrics.record_proxy_error(&jobs, ProxyErrorReason::Endpoint);
        metrics.record_proxy_error(&jobs, ProxyErrorReason::Transport);
        metrics.record_sync_error(SyncErrorReason::Fetch);
        metrics.record_merged(false);
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
