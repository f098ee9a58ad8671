//! `/metrics` in the Prometheus text format, with upstream's names.
//!
//! Counting a request is a few relaxed additions into fixed tables: no locks, no allocation, and no
//! label that a client can invent.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use apimachinery::request_info::RequestInfo;
use endpoints::discovery::VersionInfo;

use crate::process;

/// Something else that has metrics.
pub trait Collector: Send + Sync + 'static {
    /// Appends whole families in the Prometheus text format.
    fn collect(&self, out: &mut String);
}

/// Verbs as upstream labels them; the last one is for everything else.
const VERBS: [&str; 10] =
    ["GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION", "CONNECT", "other"];

/// Codes that are told apart; others count under the first one of their hundred.
const CODES: [u16; 26] = [
    100, 101, 200, 201, 202, 204, 300, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422,
    429, 500, 501, 503, 504,
];

/// Upper bounds of the latency buckets, in milliseconds.
const BUCKETS: [u64; 23] = [
    5, 25, 50, 100, 200, 400, 600, 800, 1000, 1250, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000,
    20_000, 30_000, 45_000, 60_000,
];

/// What one verb has seen.
#[derive(Default)]
struct Verb {
    codes: [AtomicU64; CODES.len()],
    /// One more than the bounds: everything slower.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

/// The counters of a server.
pub struct Metrics {
    build: VersionInfo,
    start_time_seconds: i64,
    verbs: [Verb; VERBS.len()],
    long_running: AtomicI64,
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
            verbs: Default::default(),
            long_running: AtomicI64::new(0),
            panics: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            tls_handshake_errors: AtomicU64::new(0),
            connections: AtomicI64::new(0),
            collectors,
        }
    }

    /// Counts an answered request. `took` is `None` for a long-running one, whose duration says
    /// nothing about the server.
    pub(crate) fn observe(&self, info: &RequestInfo, code: u16, took: Option<Duration>) {
        let Some(verb) = self.verbs.get(verb_index(info)) else { return };
        if let Some(count) = verb.codes.get(code_index(code)) {
            count.fetch_add(1, Relaxed);
        }
        if let Some(took) = took {
            let bucket = BUCKETS.partition_point(|&bound| Duration::from_millis(bound) < took);
            if let Some(count) = verb.buckets.get(bucket) {
                count.fetch_add(1, Relaxed);
            }
            verb.nanoseconds.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    /// Counts a long-running request until the guard is dropped.
    pub(crate) fn long_running(self: &Arc<Self>) -> LongRunning {
        self.long_running.fetch_add(1, Relaxed);
        LongRunning(Arc::clone(self))
    }

    /// The whole page. `inflight` is how many reading and mutating requests hold a seat.
    pub(crate) fn render(&self, inflight: (usize, usize)) -> String {
        let mut out = String::with_capacity(8 * 1024);
        self.write_build_info(&mut out);
        self.write_requests(&mut out);
        let _ = write!(
            out,
            "# HELP apiserver_current_inflight_requests [STABLE] Requests that hold a seat, by kind.\n\
             # TYPE apiserver_current_inflight_requests gauge\n\
             apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n\
             apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n",
            inflight.1, inflight.0
        );
        let simple: [(&str, &str, &str, i128); 6] = [
            (
                "apiserver_longrunning_requests",
                "gauge",
                "[STABLE] Open watches and streams.",
                self.long_running.load(Relaxed).into(),
            ),
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

    fn write_requests(&self, out: &mut String) {
        out.push_str("# HELP apiserver_request_duration_seconds [STABLE] How long requests took that are not long-running, by verb.\n# TYPE apiserver_request_duration_seconds histogram\n");
        let name = "apiserver_request_duration_seconds";
        for (label, verb) in VERBS.iter().zip(&self.verbs) {
            let counts: Vec<u64> = verb.buckets.iter().map(|count| count.load(Relaxed)).collect();
            let total: u64 = counts.iter().sum();
            if total == 0 {
                continue;
            }
            let mut below = 0;
            for (bound, count) in BUCKETS.iter().zip(&counts) {
                below += count;
                let bound = *bound as f64 / 1000.0;
                let _ = writeln!(out, "{name}_bucket{{verb=\"{label}\",le=\"{bound}\"}} {below}");
            }
            let seconds = Duration::from_nanos(verb.nanoseconds.load(Relaxed)).as_secs_f64();
            let _ = writeln!(
                out,
                "{name}_bucket{{verb=\"{label}\",le=\"+Inf\"}} {total}\n{name}_sum{{verb=\"{label}\"}} {seconds}\n{name}_count{{verb=\"{label}\"}} {total}"
            );
        }
        out.push_str("# HELP apiserver_request_total [STABLE] Answered requests, by verb and code.\n# TYPE apiserver_request_total counter\n");
        for (label, verb) in VERBS.iter().zip(&self.verbs) {
            for (code, count) in CODES.iter().zip(&verb.codes) {
                let count = count.load(Relaxed);
                if count > 0 {
                    let _ =
                        writeln!(out, "apiserver_request_total{{code=\"{code}\",verb=\"{label}\"}} {count}");
                }
            }
        }
    }
}

/// Counts as one long-running request while it lives.
pub(crate) struct LongRunning(Arc<Metrics>);

impl Drop for LongRunning {
    fn drop(&mut self) {
        self.0.long_running.fetch_sub(1, Relaxed);
    }
}

fn verb_index(info: &RequestInfo) -> usize {
    let connects = matches!(info.subresource.as_str(), "exec" | "attach" | "portforward" | "proxy");
    let label = match info.verb.as_str() {
        _ if info.is_resource && connects => "CONNECT",
        "get" | "head" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        _ => "other",
    };
    VERBS.iter().position(|&verb| verb == label).unwrap_or(VERBS.len() - 1)
}

fn code_index(code: u16) -> usize {
    let hundred = code / 100 * 100;
    CODES.iter().position(|&c| c == code).or_else(|| CODES.iter().position(|&c| c == hundred)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(verb: &str, subresource: &str) -> RequestInfo {
        let (verb, subresource) = (verb.to_owned(), subresource.to_owned());
        RequestInfo { verb, subresource, is_resource: true, ..RequestInfo::default() }
    }

    #[test]
    fn requests_are_counted_by_verb_and_code() {
        let metrics = Metrics::new(VersionInfo::of_this_build(), 1, Vec::new());
        metrics.observe(&info("list", ""), 200, Some(Duration::from_millis(25)));
        metrics.observe(&info("list", ""), 200, Some(Duration::from_millis(26)));
        metrics.observe(&info("list", ""), 418, Some(Duration::from_secs(100)));
        metrics.observe(&info("get", "exec"), 101, None);
        metrics.observe(&info("brew", ""), 599, None);
        let page = metrics.render((3, 2));
        for line in [
            "apiserver_request_total{code=\"200\",verb=\"LIST\"} 2\n",
            "apiserver_request_total{code=\"400\",verb=\"LIST\"} 1\n",
            "apiserver_request_total{code=\"101\",verb=\"CONNECT\"} 1\n",
            "apiserver_request_total{code=\"500\",verb=\"other\"} 1\n",
            "apiserver_request_duration_seconds_bucket{verb=\"LIST\",le=\"0.025\"} 1\n",
            "apiserver_request_duration_seconds_bucket{verb=\"LIST\",le=\"60\"} 2\n",
            "apiserver_request_duration_seconds_bucket{verb=\"LIST\",le=\"+Inf\"} 3\n",
            "apiserver_request_duration_seconds_sum{verb=\"LIST\"} 100.051\n",
            "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 3\n",
        ] {
            assert!(page.contains(line), "no {line:?} in\n{page}");
        }
    }

    #[test]
    fn open_streams_are_counted_while_they_last() {
        let metrics = Arc::new(Metrics::new(VersionInfo::of_this_build(), 1, Vec::new()));
        let (one, two) = (metrics.long_running(), metrics.long_running());
        drop(one);
        assert!(metrics.render((0, 0)).contains("\napiserver_longrunning_requests 1\n"));
        drop(two);
        assert!(metrics.render((0, 0)).contains("\napiserver_longrunning_requests 0\n"));
    }

    #[test]
    fn every_line_of_the_page_is_well_formed() {
        let metrics =
            Metrics::new(VersionInfo { git_version: "v1\"x", ..VersionInfo::of_this_build() }, 1, Vec::new());
        metrics.observe(&info("get", ""), 200, Some(Duration::from_millis(1)));
        for line in metrics.render((0, 0)).lines() {
            let sample = line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok());
            assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample, "{line}");
        }
    }
}
