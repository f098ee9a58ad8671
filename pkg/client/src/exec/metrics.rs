//! Metrics of credential plugins, with upstream's names (component-base `metrics/prometheus/restclient`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use component_base::metrics::{
    Counter, CounterVec, Family, Gauge, Histogram, MetricsRegistry, Number, Stability, buckets,
};
use slab::Slab;

use super::PluginCredentials;

const CALLS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "rest_client_exec_plugin_call_total",
    "Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit code will be set to 0 if and only if the plugin call was successful.",
    ["call_status", "code"],
);
const TTL: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "rest_client_exec_plugin_ttl_seconds",
    "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage no TLS certificates, the value will be +INF.",
    [],
);
const AGE: Family<Histogram, 0> = Family::histogram(
    Stability::Alpha,
    "rest_client_exec_plugin_certificate_rotation_age",
    "Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. If auth exec plugin client certificates are unused, histogram will contain no data.",
    [],
    &buckets::CERTIFICATE_AGES,
);

/// Result of a plugin run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunResult {
    /// Exit code of the program; −1 if a signal ended it.
    Exited(i32),
    /// The program could not be started.
    NotFound,
    /// Another failure.
    Failed,
}

impl RunResult {
    /// Returns the labels: exit code and result.
    fn labels(self) -> (i32, &'static str) {
        match self {
            RunResult::Exited(0) => (0, "no_error"),
            RunResult::Exited(code) => (code, "plugin_execution_error"),
            RunResult::NotFound => (1, "plugin_not_found_error"),
            RunResult::Failed => (1, "client_internal_error"),
        }
    }
}

/// Expiry of each plugin's current certificate, in seconds since 1970.
type Ends = Arc<Mutex<Slab<Option<i64>>>>;

/// Metrics of credential plugins.
#[derive(Debug)]
pub struct ExecMetrics {
    calls: CounterVec<2>,
    ages: Histogram,
    ends: Ends,
}

impl ExecMetrics {
    /// Creates empty metrics. `clock` determines the remaining validity of certificates.
    pub fn new(registry: &MetricsRegistry, clock: &Arc<dyn Clock>) -> Self {
        let ends = Ends::default();
        let read = Arc::clone(&ends);
        let clock = Arc::clone(clock);
        registry.collect(&[&TTL], move |page| {
            let first = locked(&read).iter().filter_map(|(_, end)| *end).min();
            let ttl = first.map(|end| end.saturating_sub(clock.now().seconds));
            page.family(&TTL).add([], ttl.map_or(Number::Float(f64::INFINITY), Number::from));
        });
        ExecMetrics { calls: registry.register_vec(&CALLS), ages: registry.register(&AGE), ends }
    }

    fn ends(&self) -> MutexGuard<'_, Slab<Option<i64>>> {
        locked(&self.ends)
    }
}

fn locked(ends: &Mutex<Slab<Option<i64>>>) -> MutexGuard<'_, Slab<Option<i64>>> {
    ends.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registration of a plugin in the metrics, until dropped.
#[derive(Debug)]
pub(super) struct PluginRegistration {
    metrics: Arc<ExecMetrics>,
    index: usize,
}

impl PluginRegistration {
    /// Registers a plugin without credentials.
    pub(super) fn new(metrics: &Arc<ExecMetrics>) -> Self {
        let index = metrics.ends().insert(None);
        PluginRegistration { metrics: Arc::clone(metrics), index }
    }

    /// Counts a run.
    pub(super) fn record_run(&self, run: RunResult) {
        let (code, status) = run.labels();
        self.metrics.calls.with([status, &code.to_string()]).increment();
    }

    /// Records new credentials, and the age of replaced ones.
    pub(super) fn record_credentials(
        &self,
        new: &PluginCredentials,
        old: Option<&PluginCredentials>,
        now: UnixTime,
    ) {
        if let Some(validity) =
            old.filter(|old| old.certificate != new.certificate).and_then(|old| old.validity)
        {
            let age = u64::try_from(now.seconds.saturating_sub(validity.begin)).unwrap_or(0);
            self.metrics.ages.observe(age);
        }
        if let Some(end) = self.metrics.ends().get_mut(self.index) {
            *end = new.validity.map(|validity| validity.end);
        }
    }
}

impl Drop for PluginRegistration {
    fn drop(&mut self) {
        self.metrics.ends().try_remove(self.index);
    }
}

#[cfg(test)]
mod tests {
    use component_base::clock::TestClock;

    use super::*;
    use crate::tls::Validity;

    /// Metrics with their registry and clock.
    fn world() -> (Arc<ExecMetrics>, MetricsRegistry, Arc<TestClock>) {
        let registry = MetricsRegistry::default();
        let clock = Arc::<TestClock>::default();
        let time: Arc<dyn Clock> = Arc::clone(&clock) as _;
        (Arc::new(ExecMetrics::new(&registry, &time)), registry, clock)
    }

    /// Returns credentials with a certificate that is valid from `begin` to `end`.
    fn issued(begin: i64, end: i64) -> PluginCredentials {
        let certificate = Some((begin.to_string().into_bytes(), Vec::new()));
        PluginCredentials { token: None, certificate, validity: Some(Validity { begin, end }), until: None }
    }

    #[test]
    fn earliest_expiry_of_live_plugins_is_reported() {
        let (metrics, registry, clock) = world();
        let one = PluginRegistration::new(&metrics);
        let other = PluginRegistration::new(&metrics);
        let ttl = |now, ttl: &str| {
            let line = format!("\nrest_client_exec_plugin_ttl_seconds {ttl}\n");
            clock.set(UnixTime::from_seconds(now));
            assert!(registry.to_string().contains(&line), "{registry}");
        };
        ttl(0, "+Inf");
        one.record_credentials(&issued(0, 500), None, UnixTime::from_seconds(10));
        other.record_credentials(&issued(0, 300), None, UnixTime::from_seconds(10));
        ttl(100, "200");
        ttl(301, "-1");
        drop(other);
        ttl(100, "400");
        let token =
            PluginCredentials { token: Some("t".to_owned()), certificate: None, validity: None, until: None };
        one.record_credentials(&token, Some(&issued(0, 500)), UnixTime::from_seconds(20));
        ttl(100, "+Inf");
    }

    #[test]
    fn replaced_certificate_age_is_recorded() {
        let (metrics, registry, _) = world();
        let registration = PluginRegistration::new(&metrics);
        registration.record_credentials(&issued(100, 500), None, UnixTime::from_seconds(100));
        registration.record_credentials(
            &issued(100, 500),
            Some(&issued(100, 500)),
            UnixTime::from_seconds(200),
        );
        registration.record_credentials(
            &issued(900, 999),
            Some(&issued(100, 500)),
            UnixTime::from_seconds(1000),
        );
        let page = registry.to_string();
        let of = |suffix: &str| format!("rest_client_exec_plugin_certificate_rotation_age_{suffix}\n");
        for line in ["bucket{le=\"600\"} 0", "bucket{le=\"1800\"} 1", "sum 900", "count 1"] {
            assert!(page.contains(&of(line)), "{line}: {page}");
        }
    }
}
