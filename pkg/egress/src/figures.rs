//! Metrics of connections through proxies, with upstream's names (`server/egressselector/metrics`).

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use component_base::metrics::Histogram;

/// Histogram bounds of the dial latency, as texts and in microseconds.
const BOUNDS: [(&str, u64); 6] = [
    ("0.005", 5_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.5", 500_000),
    ("2.5", 2_500_000),
    ("12.5", 12_500_000),
];

/// Protocol and transport of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    HttpConnectTcp,
    HttpConnectUds,
    GrpcUds,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::GrpcUds, Kind::HttpConnectTcp, Kind::HttpConnectUds];

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

/// Counters of one kind of proxy.
#[derive(Debug, Default)]
struct Counts {
    starts: AtomicU64,
    failures_connect: AtomicU64,
    failures_proxy: AtomicU64,
    took: Histogram<6>,
}

/// Metrics of all proxies of a server.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    http_connect_tcp: Counts,
    http_connect_uds: Counts,
    grpc_uds: Counts,
}

impl Figures {
    fn of(&self, kind: Kind) -> &Counts {
        match kind {
            Kind::HttpConnectTcp => &self.http_connect_tcp,
            Kind::HttpConnectUds => &self.http_connect_uds,
            Kind::GrpcUds => &self.grpc_uds,
        }
    }

    pub(crate) fn started(&self, kind: Kind) {
        self.of(kind).starts.fetch_add(1, Relaxed);
    }

    /// Records a successful dial and its latency.
    pub(crate) fn connected(&self, kind: Kind, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.of(kind).took.observe(&BOUNDS, micros, micros);
    }

    pub(crate) fn failed(&self, kind: Kind, stage: Stage) {
        let counts = self.of(kind);
        let count = match stage {
            Stage::Connect => &counts.failures_connect,
            Stage::Proxy => &counts.failures_proxy,
        };
        count.fetch_add(1, Relaxed);
    }

    /// Writes the metric families, only for the kinds that were used.
    pub(crate) fn write(&self, out: &mut String) {
        let used: Vec<Kind> =
            Kind::ALL.into_iter().filter(|kind| self.of(*kind).starts.load(Relaxed) > 0).collect();
        if used.is_empty() {
            return;
        }
        let labels =
            |kind: Kind| format!("protocol=\"{}\",transport=\"{}\"", kind.protocol(), kind.transport());
        let name = "apiserver_egress_dialer_dial_duration_seconds";
        let help = "Dial latency histogram in seconds, labeled by the protocol (http-connect or grpc), transport (tcp or uds)";
        head(out, name, "histogram", help);
        for &kind in used.iter().filter(|kind| !self.of(**kind).took.is_empty()) {
            self.of(kind).took.write(out, name, &labels(kind), 0, &BOUNDS, 1e6);
        }
        let name = "apiserver_egress_dialer_dial_failure_count";
        let help = "Dial failure count, labeled by the protocol (http-connect or grpc), transport (tcp or uds), and stage (connect or proxy). The stage indicates at which stage the dial failed";
        head(out, name, "counter", help);
        for &kind in &used {
            let counts = self.of(kind);
            let (protocol, transport) = (kind.protocol(), kind.transport());
            for (stage, count) in [("connect", &counts.failures_connect), ("proxy", &counts.failures_proxy)] {
                let count = count.load(Relaxed);
                if count > 0 {
                    let labels = format!("protocol={protocol:?},stage={stage:?},transport={transport:?}");
                    let _ = writeln!(out, "{name}{{{labels}}} {count}");
                }
            }
        }
        let name = "apiserver_egress_dialer_dial_start_total";
        let help = "Dial starts, labeled by the protocol (http-connect or grpc) and transport (tcp or uds).";
        head(out, name, "counter", help);
        for &kind in &used {
            let _ = writeln!(out, "{name}{{{}}} {}", labels(kind), self.of(kind).starts.load(Relaxed));
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} {kind}");
}
