//! Impersonation metrics under upstream's names and labels (apiserver
//! `endpoints/filters/impersonation/metrics`).

use std::time::Duration;

use component_base::metrics::{
    Counter, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

use crate::chain::impersonation::Mode;

const ATTEMPT_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_impersonation_attempts_duration_seconds",
    "Latency of impersonation attempts in seconds split by mode and decision.",
    ["decision", "mode"],
    &buckets::MILLISECOND_DOUBLED_15,
);
const ATTEMPTS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_impersonation_attempts_total",
    "Total number of impersonation attempts split by mode and decision.",
    ["decision", "mode"],
);
const CHECK_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_impersonation_authorization_attempts_duration_seconds",
    "Latency of authorization checks made by the impersonation handler in seconds split by mode and decision.",
    ["decision", "mode"],
    &buckets::MILLISECOND_DOUBLED_15,
);
const CHECKS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_impersonation_authorization_attempts_total",
    "Total number of authorization checks made by the impersonation handler split by mode and decision.",
    ["decision", "mode"],
);

const ALLOWED: &str = "allowed";
const DENIED: &str = "denied";

pub(crate) struct Impersonations {
    /// Denied attempts, which have no mode.
    denied: Histogram,
    /// Allowed attempts, by mode.
    allowed: [Histogram; 5],
    /// Authorization checks, by mode: allowed and denied.
    checks: [[Histogram; 2]; 5],
}

impl Impersonations {
    pub(crate) fn new(registry: &MetricsRegistry) -> Self {
        let attempts: HistogramVec<2> = registry.register_vec(&ATTEMPT_SECONDS);
        registry.register_counts(&ATTEMPTS, &attempts);
        let checks: HistogramVec<2> = registry.register_vec(&CHECK_SECONDS);
        registry.register_counts(&CHECKS, &checks);
        Impersonations {
            denied: attempts.with([DENIED, ""]),
            allowed: Mode::ALL.map(|mode| attempts.with([ALLOWED, mode.label()])),
            checks: Mode::ALL
                .map(|mode| [ALLOWED, DENIED].map(|decision| checks.with([decision, mode.label()]))),
        }
    }

    /// Counts an impersonation attempt, with the mode that allowed it.
    pub(crate) fn attempt(&self, mode: Option<Mode>, duration: Duration) {
        let durations = mode.map_or(&self.denied, |mode| mode.of(&self.allowed));
        durations.observe_duration(duration);
    }

    pub(crate) fn check(&self, mode: Mode, allowed: bool, duration: Duration) {
        let [of_allowed, of_denied] = mode.of(&self.checks);
        if allowed { of_allowed } else { of_denied }.observe_duration(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_have_mode_but_denied_attempts_do_not() {
        let registry = MetricsRegistry::default();
        let metrics = Impersonations::new(&registry);
        assert_eq!(registry.to_string(), "");
        metrics.check(Mode::UserInfo, false, Duration::from_millis(1));
        metrics.check(Mode::Legacy, true, Duration::ZERO);
        metrics.attempt(Some(Mode::Legacy), Duration::ZERO);
        metrics.attempt(None, Duration::from_secs(60));
        let page = registry.to_string();
        let totals: Vec<&str> = page.lines().filter(|line| line.contains("_total{")).collect();
        assert_eq!(
            totals,
            [
                "apiserver_impersonation_attempts_total{decision=\"allowed\",mode=\"legacy\"} 1",
                "apiserver_impersonation_attempts_total{decision=\"denied\",mode=\"\"} 1",
                "apiserver_impersonation_authorization_attempts_total{decision=\"allowed\",mode=\"legacy\"} 1",
                "apiserver_impersonation_authorization_attempts_total{decision=\"denied\",mode=\"user-info\"} 1",
            ]
        );
        let sum = "apiserver_impersonation_attempts_duration_seconds_sum{decision=\"denied\",mode=\"\"} 60";
        assert!(page.lines().any(|line| line == sum), "{page}");
    }
}
