//! Metrics of requests that are proxied to peers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::ResourceName;

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

/// The counters. Clones share them.
#[derive(Clone, Default)]
pub struct PeerFigures(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// By labels of the resource and response code. Their number is bounded, because only resources of peers
    /// are counted.
    passed_on: Mutex<BTreeMap<(String, u16), u64>>,
    not_passed_on: Mutex<BTreeMap<String, u64>>,
    sync_failed: Mutex<BTreeMap<SyncFailure, u64>>,
    hits: AtomicU64,
    misses: AtomicU64,
    alone: AtomicU64,
}

/// Labels of a resource, sorted by name. Includes `kind` if it is not empty.
fn labels(named: &ResourceName<'_>, kind: &str) -> String {
    let ResourceName { group, version, resource } = named;
    let kind = if kind.is_empty() { String::new() } else { format!("type=\"{kind}\",") };
    format!("group=\"{group}\",resource=\"{resource}\",{kind}version=\"{version}\"")
}

fn add<K: Ord>(counts: &Mutex<BTreeMap<K, u64>>, key: K) {
    *counts.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
}

fn all<K: Ord + Clone>(counts: &Mutex<BTreeMap<K, u64>>) -> BTreeMap<K, u64> {
    counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl PeerFigures {
    /// Counts a proxied request by response code. A discovery request has no resource.
    pub fn passed_on(&self, code: u16, named: &ResourceName<'_>) {
        add(&self.0.passed_on, (labels(named, ""), code));
    }

    pub(super) fn not_passed_on(&self, named: &ResourceName<'_>, failure: ProxyFailure) {
        add(&self.0.not_passed_on, labels(named, failure.name()));
    }

    /// Counts a failed discovery request to a peer.
    pub fn sync_failed(&self, failure: SyncFailure) {
        add(&self.0.sync_failed, failure);
    }

    pub(super) fn merged(&self, known: bool) {
        let count = if known { &self.0.hits } else { &self.0.misses };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn alone(&self) {
        self.0.alone.fetch_add(1, Relaxed);
    }

    /// Appends the metrics under upstream's names.
    pub fn write(&self, out: &mut String) {
        head(
            out,
            "apiserver_rerouted_request_total",
            "Requests that another server of the cluster answered.",
        );
        for ((labels, code), count) in all(&self.0.passed_on) {
            let _ = writeln!(out, "apiserver_rerouted_request_total{{code=\"{code}\",{labels}}} {count}");
        }
        head(
            out,
            "apiserver_peer_proxy_errors_total",
            "Requests that could not be passed on to another server.",
        );
        for (labels, count) in all(&self.0.not_passed_on) {
            let _ = writeln!(out, "apiserver_peer_proxy_errors_total{{{labels}}} {count}");
        }
        head(
            out,
            "apiserver_peer_discovery_sync_errors_total",
            "Failures to learn what another server serves.",
        );
        for (failure, count) in all(&self.0.sync_failed) {
            let kind = match failure {
                SyncFailure::Endpoint => "hostport_resolution",
                SyncFailure::Fetch => "fetch_discovery",
            };
            let _ = writeln!(out, "apiserver_peer_discovery_sync_errors_total{{type=\"{kind}\"}} {count}");
        }
        for (name, help, count) in [
            ("nopeer_requests_total", "Requests for what this server alone serves.", &self.0.alone),
            ("peer_aggregated_cache_hits_total", "Answers of what all servers serve.", &self.0.hits),
            ("peer_aggregated_cache_misses_total", "How often what all serve was merged.", &self.0.misses),
        ] {
            let name = format!("aggregator_discovery_{name}");
            head(out, &name, help);
            let _ = writeln!(out, "{name} {}", count.load(Relaxed));
        }
    }
}

fn head(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_upstreams_labels() {
        let (figures, mut page) = (PeerFigures::default(), String::new());
        let jobs = ResourceName { group: "batch", version: "v1", resource: "jobs" };
        figures.passed_on(200, &jobs);
        figures.not_passed_on(&jobs, ProxyFailure::Endpoint);
        figures.not_passed_on(&jobs, ProxyFailure::Transport);
        figures.sync_failed(SyncFailure::Fetch);
        figures.merged(false);
        figures.write(&mut page);
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
