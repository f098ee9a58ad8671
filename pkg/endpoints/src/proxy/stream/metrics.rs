//! Metrics of connections to kubelets, under upstream's names (`apiserver/pkg/util/proxy/metrics`).

use component_base::metrics::{Counter, Family, MetricVec, MetricsRegistry, Stability};

const TRANSLATED: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_stream_translator_requests_total",
    "Total number of requests that were handled by the StreamTranslatorProxy, which processes streaming RemoteCommand/V5",
    ["code"],
);
const TUNNELLED: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_stream_tunnel_requests_total",
    "Total number of requests that were handled by the StreamTunnelProxy, which processes streaming PortForward/V2",
    ["code"],
);
const ROUTED: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_websocket_streaming_requests_total",
    "Total number of WebSocket streaming requests (exec/attach/portforward) routed by the API server, labeled by \
     subresource and proxy_type. proxy_type is proxied_to_kubelet when the kubelet handles the request directly; \
     otherwise translated_at_apiserver.",
    ["subresource", "proxy_type"],
);

/// Server that handles the WebSocket of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamRoute {
    /// The kubelet.
    Kubelet,
    /// This server, which calls the kubelet by SPDY. Upstream counts requests by SPDY here too.
    ApiServer,
}

/// Metrics of `exec`, `attach` and `portforward`.
#[derive(Debug)]
pub struct StreamMetrics {
    translated: MetricVec<Counter, 1>,
    tunnelled: MetricVec<Counter, 1>,
    routed: MetricVec<Counter, 2>,
}

impl StreamMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        StreamMetrics {
            translated: registry.register_vec(&TRANSLATED),
            tunnelled: registry.register_vec(&TUNNELLED),
            routed: registry.register_vec(&ROUTED),
        }
    }

    /// Counts a translated command with the code of its status.
    pub(super) fn record_translated(&self, code: u16) {
        self.translated.with([&code.to_string()]).increment();
    }

    /// Counts a tunnel with the code of its response.
    pub(super) fn record_tunnelled(&self, code: u16) {
        self.tunnelled.with([&code.to_string()]).increment();
    }

    /// Counts a request to a subresource.
    pub(crate) fn record_route(&self, subresource: &str, route: StreamRoute) {
        let route = match route {
            StreamRoute::Kubelet => "proxied_to_kubelet",
            StreamRoute::ApiServer => "translated_at_apiserver",
        };
        self.routed.with([subresource, route]).increment();
    }
}
