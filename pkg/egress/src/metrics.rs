//! Metrics of connections through proxies, with upstream's names (`server/egressselector/metrics`).

use std::time::Duration;

use component_base::metrics::{
    Counter, CounterVec, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_egress_dialer_dial_duration_seconds",
    "Dial latency histogram in seconds, labeled by the protocol (http-connect or grpc), transport (tcp or uds)",
    ["protocol", "transport"],
    &buckets::DIAL_SECONDS,
);
const FAILURES: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_egress_dialer_dial_failure_count",
    "Dial failure count, labeled by the protocol (http-connect or grpc), transport (tcp or uds), and stage (connect or proxy). The stage indicates at which stage the dial failed",
    ["protocol", "stage", "transport"],
);
const STARTS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_egress_dialer_dial_start_total",
    "Dial starts, labeled by the protocol (http-connect or grpc) and transport (tcp or uds).",
    ["protocol", "transport"],
);

/// Protocol and transport of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    HttpConnectTcp,
    HttpConnectUds,
    GrpcUds,
}

impl Kind {
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Kind::HttpConnectTcp | Kind::HttpConnectUds => "http_connect",
            Kind::GrpcUds => "grpc",
        }
    }

    pub(crate) fn transport(self) -> &'static str {
        match self {
            Kind::HttpConnectTcp => "tcp",
            Kind::HttpConnectUds | Kind::GrpcUds => "uds",
        }
    }
}

/// The stage at which a dial failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Connecting to the proxy.
    Connect,
    /// Connecting from the proxy to the target.
    Proxy,
}

/// Metrics of all proxies of a configuration, which is read before there is a server.
#[derive(Debug)]
pub(crate) struct DialMetrics {
    starts: CounterVec<2>,
    failures: CounterVec<3>,
    seconds: HistogramVec<2>,
}

impl Default for DialMetrics {
    fn default() -> Self {
        DialMetrics {
            starts: CounterVec::new(&STARTS),
            failures: CounterVec::new(&FAILURES),
            seconds: HistogramVec::new(&SECONDS),
        }
    }
}

impl DialMetrics {
    pub(crate) fn register(&self, registry: &MetricsRegistry) {
        registry.register_existing(&self.starts);
        registry.register_existing(&self.failures);
        registry.register_existing(&self.seconds);
    }

    pub(crate) fn started(&self, kind: Kind) {
        self.starts.with([kind.protocol(), kind.transport()]).increment();
    }

    /// Records a successful dial and its latency.
    pub(crate) fn connected(&self, kind: Kind, duration: Duration) {
        self.seconds.with([kind.protocol(), kind.transport()]).observe_duration(duration);
    }

    pub(crate) fn failed(&self, kind: Kind, stage: Stage) {
        let stage = match stage {
            Stage::Connect => "connect",
            Stage::Proxy => "proxy",
        };
        self.failures.with([kind.protocol(), stage, kind.transport()]).increment();
    }
}
