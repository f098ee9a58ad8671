//! `/metrics` in the Prometheus text format, with upstream's names.
//!
//! [`requests`] has the metric families of requests; the others are single numbers.

mod authentications;
mod authorizations;
mod filters;
mod impersonations;
mod request_metrics;
mod requests;
mod selection;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use endpoints::discovery::VersionInfo;
use flowcontrol::{ByKind, Watermarks};

use crate::process;

use authentications::Authentications;
use authorizations::Authorizations;
pub(crate) use filters::{Filter, Filters};
pub(crate) use impersonations::Impersonations;
pub(crate) use request_metrics::{Answered, SLOW};
pub use requests::ResourceLabels;
use requests::{Requests, Validated};
pub use selection::Selection;

/// Another source of metrics.
pub trait Collector: Send + Sync + 'static {
    /// Appends whole families in the Prometheus text format.
    fn collect(&self, out: &mut String);
}

/// The counters of a server.
pub struct Metrics {
    build: VersionInfo,
    start_time_seconds: i64,
    requests: Requests,
    validated: Validated,
    pub(crate) filters: Filters,
    pub(crate) authentications: Authentications,
    pub(crate) authorizations: Authorizations,
    pub(crate) impersonations: Impersonations,
    /// Number of requests whose handler panicked.
    pub panics: AtomicU64,
    /// Number of requests rejected by the concurrency limits.
    pub dropped: AtomicU64,
    /// Number of requests that timed out.
    pub timeouts: AtomicU64,
    /// Number of failed TLS handshakes.
    pub tls_handshake_errors: AtomicU64,
    /// Number of open connections.
    pub connections: AtomicI64,
    collectors: Vec<Arc<dyn Collector>>,
}

impl Metrics {
    pub fn new(build: VersionInfo, start_time_seconds: i64, collectors: Vec<Arc<dyn Collector>>) -> Self {
        Metrics {
            build,
            start_time_seconds,
            requests: Requests::new([]),
            validated: Validated::default(),
            filters: Filters::default(),
            authentications: Authentications::default(),
            authorizations: Authorizations::default(),
            impersonations: Impersonations::default(),
            panics: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            tls_handshake_errors: AtomicU64::new(0),
            connections: AtomicI64::new(0),
            collectors,
        }
    }

    /// Start time in seconds since 1970, with the build version.
    pub(crate) fn started(&self) -> (i64, &VersionInfo) {
        (self.start_time_seconds, &self.build)
    }

    /// Counts requests for each of these resources separately. All others share empty labels.
    #[must_use]
    pub fn with_resources(self, resources: impl IntoIterator<Item = ResourceLabels<'static>>) -> Self {
        Metrics { requests: Requests::new(resources), ..self }
    }

    /// Renders the whole page. `requests` contains the recent maxima of waiting and executing requests.
    pub(crate) fn render(&self, requests: Watermarks) -> String {
        let mut out = String::with_capacity(8 * 1024);
        self.write_build_info(&mut out);
        self.requests.write(&mut out);
        self.validated.write(&mut out);
        self.filters.write(&mut out);
        self.authentications.write(&mut out);
        self.authorizations.write(&mut out);
        self.impersonations.write(&mut out);
        let families = [
            (
                "apiserver_current_inflight_requests",
                "[STABLE] The most requests that held a seat within the last second, by kind.",
                requests.executing,
            ),
            (
                "apiserver_current_inqueue_requests",
                "[ALPHA] The most requests that waited for a seat within the last second, by kind.",
                requests.waiting,
            ),
        ];
        for (name, help, ByKind { reading, mutating }) in families {
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} gauge\n\
                 {name}{{request_kind=\"mutating\"}} {mutating}\n\
                 {name}{{request_kind=\"readOnly\"}} {reading}"
            );
        }
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
        write_registered(&mut out);
        out
    }

    /// Writes the start time, the only metric of `/metrics/slis` besides the health checks.
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

/// Writes the number of families on the page by stability, and upstream's related metrics. No family is
/// hidden here. [`Selection`] counts the disabled and disallowed ones.
fn write_registered(out: &mut String) {
    let count = |level: &str| out.lines().filter(|line| is_help(line, level)).count();
    let [alpha, beta, stable] = ["ALPHA", "BETA", "STABLE"].map(count);
    // The families below.
    let below = |level: &str| UNUSED_COUNTERS.iter().filter(|(of, ..)| *of == level).count();
    let (alpha, beta) = (alpha + below("ALPHA"), beta + below("BETA") + 1);
    let name = "registered_metrics_total";
    let _ = write!(
        out,
        "# HELP {name} [BETA] The count of registered metrics broken by stability level and deprecation version.\n\
         # TYPE {name} counter\n\
         {name}{{deprecated_version=\"\",stability_level=\"ALPHA\"}} {alpha}\n\
         {name}{{deprecated_version=\"\",stability_level=\"BETA\"}} {beta}\n\
         {name}{{deprecated_version=\"\",stability_level=\"STABLE\"}} {stable}\n"
    );
    for (level, name, help) in UNUSED_COUNTERS {
        let _ = writeln!(out, "# HELP {name} [{level}] {help}\n# TYPE {name} counter\n{name} 0");
    }
}

fn is_help(line: &str, level: &str) -> bool {
    let text = line.strip_prefix("# HELP ").and_then(|line| line.split_once(" ["));
    text.is_some_and(|(_, rest)| rest.strip_prefix(level).is_some_and(|rest| rest.starts_with(']')))
}

/// Upstream counters for events that cannot happen here, or not before a page is rendered. They are present
/// so that alerts on them see zero. Columns: stability, name, help.
const UNUSED_COUNTERS: [(&str, &str, &str); 5] = [
    (
        "BETA",
        "apiserver_validation_declarative_validation_mismatch_total",
        "Number of times declarative validation results differed from handwritten validation results for core types.",
    ),
    (
        "BETA",
        "apiserver_validation_declarative_validation_panic_total",
        "Number of times declarative validation has panicked during validation.",
    ),
    (
        "ALPHA",
        "cardinality_enforcement_unexpected_categorizations_total",
        "The count of unexpected categorizations during cardinality enforcement.",
    ),
    ("BETA", "disabled_metrics_total", "The count of disabled metrics."),
    ("BETA", "hidden_metrics_total", "The count of hidden metrics."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_page_is_well_formed() {
        let metrics =
            Metrics::new(VersionInfo { git_version: "v1\"x", ..VersionInfo::of_this_build() }, 1, Vec::new());
        let executing = ByKind { reading: 3, mutating: 2 };
        let page = metrics.render(Watermarks { executing, ..Watermarks::default() });
        for line in page.lines() {
            let sample = line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok());
            assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample, "{line}");
        }
        let stable = page.lines().filter(|line| is_help(line, "STABLE")).count();
        let beta = page.lines().filter(|line| is_help(line, "BETA")).count();
        let alpha = page.lines().filter(|line| is_help(line, "ALPHA")).count();
        for (level, count) in [("STABLE", stable), ("BETA", beta), ("ALPHA", alpha)] {
            let line = format!("{{deprecated_version=\"\",stability_level=\"{level}\"}} {count}\n");
            assert!(page.contains(&line), "{line} in {page}");
        }
        assert!(
            page.contains("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 3\n"),
            "{page}"
        );
    }
}
