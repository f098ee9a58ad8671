//! Metrics of authorizers, with upstream's names, labels and buckets (apiserver `authorization/metrics`,
//! `authorization/cel`, `plugin/pkg/authorizer/webhook/metrics`).
//!
//! Labels are types and names from the configuration, so clients cannot create new series. Counting takes no
//! lock.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::{
    Counter, CounterVec, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};
use component_base::weakened::{WeakenedDecisions, WeakenedKind};

use crate::{AuthorizerError, Decision};

const DECISIONS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_authorization_decisions_total",
    "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
    ["decision", "name", "type"],
);
const CONDITION_ERRORS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
    ["name", "type"],
);
const CONDITION_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_authorization_match_condition_evaluation_seconds",
    "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
    ["name", "type"],
    &buckets::MATCH_CONDITION_SECONDS,
);
const EXCLUSIONS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_authorization_match_condition_exclusions_total",
    "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    ["name", "type"],
);
const CALL_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_authorization_webhook_duration_seconds",
    "Request latency in seconds.",
    ["name", "result"],
    &buckets::DEFAULT_SECONDS,
);
const FAIL_OPEN: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "NoOpinion results due to webhook timeout or error.",
    ["name", "result"],
);
const CALLS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_authorization_webhook_evaluations_total",
    "Round-trips to authorization webhooks.",
    ["name", "result"],
);

/// Result of a webhook call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallResult {
    /// The caller was dropped.
    Canceled,
    /// No response, or an invalid one.
    Error,
    /// A valid response.
    Success,
    /// No response before the timeout.
    Timeout,
}

impl CallResult {
    const ALL: [&str; 4] = ["canceled", "error", "success", "timeout"];

    fn of<T>(self, all: &[T; 4]) -> &T {
        let [canceled, error, success, timeout] = all;
        match self {
            CallResult::Canceled => canceled,
            CallResult::Error => error,
            CallResult::Success => success,
            CallResult::Timeout => timeout,
        }
    }
}

/// Metrics of one authorizer.
#[derive(Debug)]
pub struct Series {
    allowed: Counter,
    denied: Counter,
    condition_errors: Counter,
    exclusions: Counter,
    condition_seconds: Histogram,
    calls: [Histogram; 4],
    fail_open: [Counter; 4],
    name: String,
    weakened: WeakenedDecisions,
}

impl Series {
    /// Counts a decision, if it is final.
    pub(crate) fn decided(&self, decision: &Decision) {
        match decision {
            Decision::Allow(_) => self.allowed.increment(),
            Decision::Deny(_) | Decision::Failed(AuthorizerError { denied: true, .. }) => {
                self.denied.increment()
            }
            Decision::NoOpinion(_) | Decision::Failed(_) => {}
        }
    }

    /// Records the duration of match conditions.
    pub(crate) fn record_match_conditions(&self, duration: Duration) {
        self.condition_seconds.observe_duration(duration);
    }

    /// Counts a failed evaluation of match conditions.
    pub(crate) fn conditions_failed(&self) {
        self.condition_errors.increment();
    }

    /// Counts a request that match conditions excluded.
    pub(crate) fn excluded(&self) {
        self.exclusions.increment();
    }

    /// Records a webhook call.
    pub(crate) fn called(&self, ended: CallResult, duration: Duration) {
        ended.of(&self.calls).observe_duration(duration);
    }

    /// Records a request that the next authorizer decides because of an error.
    pub(crate) fn weakened(&self, kind: WeakenedKind, cause: &dyn Display) {
        self.weakened.record(kind, &self.name, cause);
    }

    /// Counts a request that was passed on because a webhook failed.
    pub(crate) fn failed_open(&self, ended: CallResult) {
        ended.of(&self.fail_open).increment();
    }
}

type ByName = BTreeMap<(&'static str, String), Arc<Series>>;

/// Metrics of all authorizers.
#[derive(Debug)]
pub struct AuthorizerMetrics {
    all: Mutex<ByName>,
    decisions: CounterVec<3>,
    condition_errors: CounterVec<2>,
    condition_seconds: HistogramVec<2>,
    exclusions: CounterVec<2>,
    call_seconds: HistogramVec<2>,
    fail_open: CounterVec<2>,
    weakened: WeakenedDecisions,
}

impl AuthorizerMetrics {
    /// Registers the metrics. Webhooks that fail open are also recorded in `weakened`.
    pub fn new(registry: &MetricsRegistry, weakened: &WeakenedDecisions) -> Self {
        let call_seconds = registry.register_vec(&CALL_SECONDS);
        registry.register_counts(&CALLS, &call_seconds);
        AuthorizerMetrics {
            all: Mutex::default(),
            decisions: registry.register_vec(&DECISIONS),
            condition_errors: registry.register_vec(&CONDITION_ERRORS),
            condition_seconds: registry.register_vec(&CONDITION_SECONDS),
            exclusions: registry.register_vec(&EXCLUSIONS),
            call_seconds,
            fail_open: registry.register_vec(&FAIL_OPEN),
            weakened: weakened.clone(),
        }
    }

    /// Returns the series of an authorizer with a type and a name.
    pub(crate) fn series(&self, mode: &'static str, name: &str) -> Arc<Series> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry((mode, name.to_owned()));
        Arc::clone(entry.or_insert_with(|| Arc::new(self.create(mode, name))))
    }

    fn create(&self, mode: &str, name: &str) -> Series {
        Series {
            allowed: self.decisions.with(["allowed", name, mode]),
            denied: self.decisions.with(["denied", name, mode]),
            condition_errors: self.condition_errors.with([name, mode]),
            exclusions: self.exclusions.with([name, mode]),
            condition_seconds: self.condition_seconds.with([name, mode]),
            calls: CallResult::ALL.map(|result| self.call_seconds.with([name, result])),
            fail_open: CallResult::ALL.map(|result| self.fail_open.with([name, result])),
            name: name.to_owned(),
            weakened: self.weakened.clone(),
        }
    }
}

/// Metrics that are counted but not exported.
impl Default for AuthorizerMetrics {
    fn default() -> Self {
        AuthorizerMetrics::new(&MetricsRegistry::default(), &WeakenedDecisions::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nonzero_metrics_are_written() {
        let registry = MetricsRegistry::default();
        let metrics = AuthorizerMetrics::new(&registry, &WeakenedDecisions::default());
        let series = metrics.series("Webhook", "a.b");
        assert_eq!(registry.to_string(), "");
        series.decided(&Decision::Deny(String::new()));
        series.decided(&Decision::NoOpinion(String::new()));
        series.called(CallResult::Timeout, Duration::from_millis(30));
        series.failed_open(CallResult::Timeout);
        metrics.series("Webhook", "a.b").excluded();
        let page = registry.to_string();
        for line in [
            "apiserver_authorization_decisions_total{decision=\"denied\",name=\"a.b\",type=\"Webhook\"} 1",
            "apiserver_authorization_match_condition_exclusions_total{name=\"a.b\",type=\"Webhook\"} 1",
            "apiserver_authorization_webhook_duration_seconds_bucket{name=\"a.b\",result=\"timeout\",le=\"0.025\"} 0",
            "apiserver_authorization_webhook_duration_seconds_bucket{name=\"a.b\",result=\"timeout\",le=\"0.05\"} 1",
            "apiserver_authorization_webhook_evaluations_fail_open_total{name=\"a.b\",result=\"timeout\"} 1",
            "apiserver_authorization_webhook_evaluations_total{name=\"a.b\",result=\"timeout\"} 1",
        ] {
            assert!(page.lines().any(|actual| actual == line), "{line}\n{page}");
        }
        assert!(!page.contains("allowed") && !page.contains("success"), "{page}");
    }
}
