//! Metrics of the request chain, with upstream's names.

mod authentications;
mod authorizations;
mod filters;
mod impersonations;
mod manifest;
mod request_metrics;
mod requests;

use std::sync::Arc;

use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Stability};
use endpoints::discovery::VersionInfo;
use flowcontrol::{ReadWriteCounts, Watermarks};

use crate::process;

use authentications::Authentications;
use authorizations::Authorizations;
pub(crate) use filters::{Filter, Filters};
pub(crate) use impersonations::Impersonations;
pub use manifest::{ManifestError, read_manifest};
pub(crate) use request_metrics::{ResponseRecord, SLOW};
pub use requests::ResourceLabels;
use requests::{FieldValidationHistograms, Requests};

const BUILD_INFO: Family<Gauge, 9> = Family::gauge(
    Stability::Beta,
    "kubernetes_build_info",
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    [
        "build_date",
        "compiler",
        "git_commit",
        "git_tree_state",
        "git_version",
        "go_version",
        "major",
        "minor",
        "platform",
    ],
);
const INFLIGHT: Family<Gauge, 1> = Family::gauge(
    Stability::Stable,
    "apiserver_current_inflight_requests",
    "Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
    ["request_kind"],
);
const INQUEUE: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "apiserver_current_inqueue_requests",
    "Maximal number of queued requests in this apiserver per request kind in last second.",
    ["request_kind"],
);
const TLS_HANDSHAKE_ERRORS: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_tls_handshake_errors_total",
    "Number of requests dropped with 'TLS handshake error from' error",
    [],
);
const CONNECTIONS: Family<Gauge, 0> =
    Family::gauge(Stability::Internal, "mainstay_connections", "Open connections.", []);
const DROPPED: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "mainstay_dropped_requests_total",
    "Requests refused because too many were under way.",
    [],
);
const PANICS: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "mainstay_request_panics_total",
    "Requests that ended in a panic.",
    [],
);
const TIMEOUTS: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "mainstay_request_timeouts_total",
    "Requests that ran out of time.",
    [],
);
/// Upstream counters of events that cannot happen here. They are present so that alerts on them see zero.
const UNUSED: [Family<Counter, 0>; 2] = [
    Family::counter(
        Stability::Beta,
        "apiserver_validation_declarative_validation_mismatch_total",
        "Number of times declarative validation results differed from handwritten validation results for core types.",
        [],
    ),
    Family::counter(
        Stability::Beta,
        "apiserver_validation_declarative_validation_panic_total",
        "Number of times declarative validation has panicked during validation.",
        [],
    ),
];

/// The counters of a server.
pub struct Metrics {
    build: VersionInfo,
    start_time_seconds: i64,
    requests: Arc<Requests>,
    validated: FieldValidationHistograms,
    pub(crate) filters: Filters,
    pub(crate) authentications: Authentications,
    pub(crate) authorizations: Authorizations,
    pub(crate) impersonations: Impersonations,
    /// Number of requests whose handler panicked.
    pub panics: Counter,
    /// Number of requests rejected by the concurrency limits.
    pub dropped: Counter,
    /// Number of requests that timed out.
    pub timeouts: Counter,
    /// Number of failed TLS handshakes.
    pub tls_handshake_errors: Counter,
    /// Number of open connections.
    pub connections: Gauge,
}

impl Metrics {
    /// Registers the metrics of a server. Requests for each of `resources` are counted separately; all others
    /// share empty labels.
    pub fn new(
        registry: &MetricsRegistry,
        build: VersionInfo,
        start_time_seconds: i64,
        resources: impl IntoIterator<Item = ResourceLabels<'static>>,
    ) -> Self {
        let requests = Arc::new(Requests::new(resources));
        requests.register(registry);
        process::register(registry, start_time_seconds);
        register_build_info(registry, &build);
        let [mismatches, panics] = &UNUSED;
        let _: [Counter; 2] = [registry.register(mismatches), registry.register(panics)];
        Metrics {
            build,
            start_time_seconds,
            requests,
            validated: FieldValidationHistograms::new(registry),
            filters: Filters::new(registry),
            authentications: Authentications::new(registry),
            authorizations: Authorizations::new(registry),
            impersonations: Impersonations::new(registry),
            panics: registry.register(&PANICS),
            dropped: registry.register(&DROPPED),
            timeouts: registry.register(&TIMEOUTS),
            tls_handshake_errors: registry.register(&TLS_HANDSHAKE_ERRORS),
            connections: registry.register(&CONNECTIONS),
        }
    }

    /// Start time in seconds since 1970, with the build version.
    pub(crate) fn started(&self) -> (i64, &VersionInfo) {
        (self.start_time_seconds, &self.build)
    }
}

/// Registers the recent maxima of waiting and executing requests.
pub(crate) fn register_watermarks(
    registry: &MetricsRegistry,
    watermarks: impl Fn() -> Watermarks + Send + Sync + 'static,
) {
    registry.collect(&[&INFLIGHT, &INQUEUE], move |page| {
        let Watermarks { executing, waiting } = watermarks();
        for (family, ReadWriteCounts { reading, mutating }) in [(&INFLIGHT, executing), (&INQUEUE, waiting)] {
            let mut samples = page.family(family);
            samples.add(["mutating"], mutating);
            samples.add(["readOnly"], reading);
        }
    });
}

fn register_build_info(registry: &MetricsRegistry, build: &VersionInfo) {
    let info = registry.register_vec(&BUILD_INFO);
    info.with([
        build.build_date,
        build.compiler,
        build.git_commit,
        build.git_tree_state,
        &build.git_version,
        build.go_version,
        &build.major,
        &build.minor,
        &build.platform,
    ])
    .set(1);
}

#[cfg(test)]
mod tests {
    use component_base::metrics::Selection;

    use super::*;

    #[test]
    fn every_line_of_the_page_is_well_formed() {
        let registry = MetricsRegistry::default();
        let build = VersionInfo { git_version: "v1\"x".to_owned(), ..VersionInfo::of_this_build() };
        let _metrics = Metrics::new(&registry, build, 1, []);
        let executing = ReadWriteCounts { reading: 3, mutating: 2 };
        register_watermarks(&registry, move || Watermarks { executing, ..Watermarks::default() });
        let page = registry.render(&Selection::default());
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
