//! `/metrics` in the Prometheus text format, with upstream's names.
//!
//! [`requests`] has the families about requests; the others are single numbers.

mod answered;
mod authentications;
mod requests;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use endpoints::discovery::VersionInfo;

use crate::process;

pub(crate) use answered::Answered;
use authentications::Authentications;
use requests::Requests;
pub use requests::ResourceLabels;

/// Something else that has metrics.
pub trait Collector: Send + Sync + 'static {
    /// Appends whole families in the Prometheus text format.
    fn collect(&self, out: &mut String);
}

/// The counters of a server.
pub struct Metrics {
    build: VersionInfo,
    start_time_seconds: i64,
    requests: Requests,
    pub(crate) authentications: Authentications,
    /// Requests that ended in a panic of ours.
    pub panics: AtomicU64,
    /// Requests refused because too many were under way.
    pub dropped: AtomicU64,
    /// Requests that ran out of time.
    pub timeouts: AtomicU64,
    /// Connections that never got through the handshake.
    pub tls_handshake_errors: AtomicU64,
    /// Connections that are open.
    pub connections: AtomicI64,
    collectors: Vec<Arc<dyn Collector>>,
}

impl Metrics {
    /// Counters at zero.
    pub fn new(build: VersionInfo, start_time_seconds: i64, collectors: Vec<Arc<dyn Collector>>) -> Self {
        Metrics {
            build,
            start_time_seconds,
            requests: Requests::new([]),
            authentications: Authentications::default(),
            panics: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            tls_handshake_errors: AtomicU64::new(0),
            connections: AtomicI64::new(0),
            collectors,
        }
    }

    /// When the server started, in seconds since 1970, and what it is.
    pub(crate) fn started(&self) -> (i64, &VersionInfo) {
        (self.start_time_seconds, &self.build)
    }

    /// Counts requests for these resources each by themselves. Those for any other share empty labels.
    #[must_use]
    pub fn with_resources(self, resources: impl IntoIterator<Item = ResourceLabels<'static>>) -> Self {
        Metrics { requests: Requests::new(resources), ..self }
    }

    /// The whole page. `inflight` is how many reading and mutating requests hold a seat.
    pub(crate) fn render(&self, inflight: (usize, usize)) -> String {
        let mut out = String::with_capacity(8 * 1024);
        self.write_build_info(&mut out);
        self.requests.write(&mut out);
        self.authentications.write(&mut out);
        let _ = write!(
            out,
            "# HELP apiserver_current_inflight_requests [STABLE] Requests that hold a seat, by kind.\n\
             # TYPE apiserver_current_inflight_requests gauge\n\
             apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n\
             apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n",
            inflight.1, inflight.0
        );
        let simple: [(&str, &str, &str, i128); 5] = [
            (
                "apiserver_tls_handshake_errors_total",
                "counter",
                "[ALPHA] Connections that failed in the TLS handshake.",
                self.tls_handshake_errors.load(Relaxed).into(),
            ),
            ("mainstay_connections", "gauge", "Open connections.", self.connections.load(Relaxed).into()),
            (
                "mainstay_dropped_requests_total",
                "counter",
                "Requests refused because too many were under way.",
                self.dropped.load(Relaxed).into(),
            ),
            (
                "mainstay_request_panics_total",
                "counter",
                "Requests that ended in a panic.",
                self.panics.load(Relaxed).into(),
            ),
            (
                "mainstay_request_timeouts_total",
                "counter",
                "Requests that ran out of time.",
                self.timeouts.load(Relaxed).into(),
            ),
        ];
        for (name, kind, help, value) in simple {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        for collector in &self.collectors {
            collector.collect(&mut out);
        }
        process::write(&mut out, self.start_time_seconds);
        out
    }

    /// The one metric that `/metrics/slis` has besides the health checks.
    pub(crate) fn write_start_time(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "# HELP process_start_time_seconds When the process started, in seconds since 1970.\n\
             # TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {}",
            self.start_time_seconds
        );
    }

    fn write_build_info(&self, out: &mut String) {
        let VersionInfo {
            major,
            minor,
            git_version,
            git_commit,
            git_tree_state,
            build_date,
            go_version,
            compiler,
            platform,
            ..
        } = &self.build;
        let _ = writeln!(
            out,
            "# HELP kubernetes_build_info [BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.\n\
             # TYPE kubernetes_build_info gauge\n\
             kubernetes_build_info{{build_date={build_date:?},compiler={compiler:?},git_commit={git_commit:?},git_tree_state={git_tree_state:?},git_version={git_version:?},go_version={go_version:?},major={major:?},minor={minor:?},platform={platform:?}}} 1"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_page_is_well_formed() {
        let metrics =
            Metrics::new(VersionInfo { git_version: "v1\"x", ..VersionInfo::of_this_build() }, 1, Vec::new());
        let page = metrics.render((3, 2));
        for line in page.lines() {
            let sample = line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok());
            assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample, "{line}");
        }
        assert!(
            page.contains("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 3\n"),
            "{page}"
        );
    }
}
