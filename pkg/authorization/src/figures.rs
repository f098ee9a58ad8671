//! Metrics of authorizers, with upstream's names, labels and buckets (apiserver `authorization/metrics`,
//! `authorization/cel`, `plugin/pkg/authorizer/webhook/metrics`).
//!
//! Labels are types and names from the configuration, so clients cannot create new series. Counting takes no
//! lock.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;

use crate::{AuthorizerError, Decision};

const DECISIONS: (&str, &str) = (
    "apiserver_authorization_decisions_total",
    "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
);
const CONDITION_ERRORS: (&str, &str) = (
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
);
const CONDITION_SECONDS: (&str, &str) = (
    "apiserver_authorization_match_condition_evaluation_seconds",
    "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
);
const EXCLUSIONS: (&str, &str) = (
    "apiserver_authorization_match_condition_exclusions_total",
    "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
);
const CALL_SECONDS: (&str, &str) =
    ("apiserver_authorization_webhook_duration_seconds", "Request latency in seconds.");
const FAIL_OPEN: (&str, &str) = (
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "NoOpinion results due to webhook timeout or error.",
);
const CALLS: (&str, &str) =
    ("apiserver_authorization_webhook_evaluations_total", "Round-trips to authorization webhooks.");

/// Bounds for match condition durations, in microseconds.
const CONDITION_BOUNDS: [(&str, u64); 7] = [
    ("0.001", 1_000),
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.2", 200_000),
    ("0.25", 250_000),
];

/// Bounds for webhook durations, in microseconds.
const CALL_BOUNDS: [(&str, u64); 11] = [
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
];

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
    const ALL: [(CallResult, &'static str); 4] = [
        (CallResult::Canceled, "canceled"),
        (CallResult::Error, "error"),
        (CallResult::Success, "success"),
        (CallResult::Timeout, "timeout"),
    ];

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
#[derive(Debug, Default)]
pub struct Series {
    allowed: AtomicU64,
    denied: AtomicU64,
    condition_errors: AtomicU64,
    exclusions: AtomicU64,
    condition_seconds: Histogram<7>,
    calls: [Histogram<11>; 4],
    fail_open: [AtomicU64; 4],
}

impl Series {
    /// Counts a decision, if it is final.
    pub(crate) fn decided(&self, decision: &Decision) {
        match decision {
            Decision::Allow(_) => self.allowed.fetch_add(1, Relaxed),
            Decision::Deny(_) | Decision::Failed(AuthorizerError { denied: true, .. }) => {
                self.denied.fetch_add(1, Relaxed)
            }
            Decision::NoOpinion(_) | Decision::Failed(_) => 0,
        };
    }

    /// Records the duration of match conditions.
    pub(crate) fn conditions_judged(&self, took: Duration) {
        let took = micros(took);
        self.condition_seconds.observe(&CONDITION_BOUNDS, took, took);
    }

    /// Counts a failed evaluation of match conditions.
    pub(crate) fn conditions_failed(&self) {
        self.condition_errors.fetch_add(1, Relaxed);
    }

    /// Counts a request that match conditions excluded.
    pub(crate) fn excluded(&self) {
        self.exclusions.fetch_add(1, Relaxed);
    }

    /// Records a webhook call.
    pub(crate) fn called(&self, ended: CallResult, took: Duration) {
        let took = micros(took);
        ended.of(&self.calls).observe(&CALL_BOUNDS, took, took);
    }

    /// Counts a request that was passed on because a webhook failed.
    pub(crate) fn failed_open(&self, ended: CallResult) {
        ended.of(&self.fail_open).fetch_add(1, Relaxed);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

type ByName = BTreeMap<(&'static str, String), Arc<Series>>;

/// Metrics of all authorizers.
#[derive(Debug, Default)]
pub struct Figures(Mutex<ByName>);

impl Figures {
    /// Returns the series of an authorizer with a type and a name.
    pub(crate) fn series(&self, mode: &'static str, name: &str) -> Arc<Series> {
        Arc::clone(self.all().entry((mode, name.to_owned())).or_default())
    }

    fn all(&self) -> std::sync::MutexGuard<'_, ByName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let all = self.all();
        let named = |mode: &str, name: &str| format!("name={name:?},type={mode:?}");
        counter(out, DECISIONS, |samples| {
            for ((mode, name), series) in &*all {
                for (decision, count) in [("allowed", &series.allowed), ("denied", &series.denied)] {
                    samples.add(&format!("decision=\"{decision}\",{}", named(mode, name)), count);
                }
            }
        });
        for (metric, of) in [
            (CONDITION_ERRORS, (|series| &series.condition_errors) as fn(&Series) -> &AtomicU64),
            (EXCLUSIONS, |series| &series.exclusions),
        ] {
            counter(out, metric, |samples| {
                for ((mode, name), series) in &*all {
                    samples.add(&named(mode, name), of(series));
                }
            });
        }
        let judged = all.iter().map(|((mode, name), series)| (named(mode, name), &series.condition_seconds));
        histograms(out, CONDITION_SECONDS, &CONDITION_BOUNDS, judged);
        let by_end = || {
            all.iter().flat_map(|((_, name), series)| {
                let labels = move |text: &str| format!("name={name:?},result={text:?}");
                CallResult::ALL.map(|(ended, text)| (labels(text), ended, series))
            })
        };
        histograms(
            out,
            CALL_SECONDS,
            &CALL_BOUNDS,
            by_end().map(|(labels, ended, series)| (labels, ended.of(&series.calls))),
        );
        counter(out, FAIL_OPEN, |samples| {
            by_end().for_each(|(labels, ended, series)| samples.add(&labels, ended.of(&series.fail_open)));
        });
        counter(out, CALLS, |samples| {
            for (labels, ended, series) in by_end() {
                samples.add(&labels, &AtomicU64::new(ended.of(&series.calls).count()));
            }
        });
    }
}

/// Writer for the samples of one counter. Skips zero samples, and the metric's header if no sample remains.
struct Samples<'o> {
    out: &'o mut String,
    metric: (&'static str, &'static str),
    any: bool,
}

impl Samples<'_> {
    fn add(&mut self, labels: &str, count: &AtomicU64) {
        let (count, (name, _)) = (count.load(Relaxed), self.metric);
        if count == 0 {
            return;
        }
        if !self.any {
            head(self.out, self.metric, "counter");
            self.any = true;
        }
        let _ = writeln!(self.out, "{name}{{{labels}}} {count}");
    }
}

fn head(out: &mut String, (name, help): (&str, &str), kind: &str) {
    let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} {kind}");
}

fn counter(out: &mut String, metric: (&'static str, &'static str), fill: impl FnOnce(&mut Samples<'_>)) {
    fill(&mut Samples { out, metric, any: false });
}

fn histograms<'h, const N: usize>(
    out: &mut String,
    metric: (&str, &str),
    bounds: &[(&str, u64); N],
    all: impl Iterator<Item = (String, &'h Histogram<N>)>,
) {
    let mut any = false;
    for (labels, histogram) in all.filter(|(_, histogram)| !histogram.is_empty()) {
        if !any {
            head(out, metric, "histogram");
            any = true;
        }
        histogram.write(out, metric.0, &labels, 0, bounds, 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nonzero_metrics_are_written() {
        let figures = Figures::default();
        let page = |figures: &Figures| {
            let mut page = String::new();
            figures.write(&mut page);
            page
        };
        let series = figures.series("Webhook", "a.b");
        assert_eq!(page(&figures), "");
        series.decided(&Decision::Deny(String::new()));
        series.decided(&Decision::NoOpinion(String::new()));
        series.called(CallResult::Timeout, Duration::from_millis(30));
        series.failed_open(CallResult::Timeout);
        figures.series("Webhook", "a.b").excluded();
        let page = page(&figures);
        for line in [
            "apiserver_authorization_decisions_total{decision=\"denied\",name=\"a.b\",type=\"Webhook\"} 1",
            "apiserver_authorization_match_condition_exclusions_total{name=\"a.b\",type=\"Webhook\"} 1",
            "apiserver_authorization_webhook_duration_seconds_bucket{name=\"a.b\",result=\"timeout\",le=\"0.025\"} 0",
            "apiserver_authorization_webhook_duration_seconds_bucket{name=\"a.b\",result=\"timeout\",le=\"0.05\"} 1",
            "apiserver_authorization_webhook_evaluations_fail_open_total{name=\"a.b\",result=\"timeout\"} 1",
            "apiserver_authorization_webhook_evaluations_total{name=\"a.b\",result=\"timeout\"} 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("allowed") && !page.contains("success"), "{page}");
    }
}
