//! Metrics of webhooks, with upstream's names, labels and buckets (`pkg/admission/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;

use super::hook::Hook;
use crate::Attributes;

const SECONDS: &str = "apiserver_admission_webhook_admission_duration_seconds";

/// Upper bounds in microseconds.
const BOUNDS: [(&str, u64); 8] = [
    ("0.005", 5_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
    ("10", 10_000_000),
    ("25", 25_000_000),
];

/// A finished call.
pub(super) struct FinishedCall<'a> {
    pub(super) hook: &'a Hook,
    pub(super) attributes: &'a Attributes<'a>,
    /// `admit` or `validating`.
    pub(super) kind: &'static str,
    pub(super) took: Duration,
}

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallResult {
    Passed,
    Refused(u16),
    /// No valid response. `open` if the request continues anyway.
    Failed {
        code: u16,
        open: bool,
    },
    /// This server failed.
    Broke,
}

#[derive(Default)]
struct Series {
    durations: BTreeMap<String, Histogram<8>>,
    requests: BTreeMap<String, u64>,
    rejections: BTreeMap<String, u64>,
    failed_open: BTreeMap<String, u64>,
}

/// Maximum number of label combinations per metric. Those of deleted webhooks are retained, as in upstream.
const SERIES_MAX: usize = 16_384;

/// Returns the entry of some labels; `None` for new labels beyond the limit.
fn entry<V: Default>(series: &mut BTreeMap<String, V>, labels: String) -> Option<&mut V> {
    let known = series.len() < SERIES_MAX || series.contains_key(&labels);
    known.then(|| series.entry(labels).or_default())
}

fn count(series: &mut BTreeMap<String, u64>, labels: String) {
    if let Some(count) = entry(series, labels) {
        *count += 1;
    }
}

/// Metrics of all webhooks. A call takes a round trip, so the cost of a lock is negligible.
#[derive(Default)]
pub struct WebhookFigures(Mutex<Series>);

impl WebhookFigures {
    pub(super) fn ended(&self, told: &FinishedCall<'_>, ended: &CallResult) {
        let FinishedCall { hook, attributes, kind, took } = told;
        let (name, operation) = (&hook.name, attributes.operation.name());
        let (code, rejection) = match *ended {
            CallResult::Passed => (200, None),
            CallResult::Refused(code) => (code, Some(("no_error", code))),
            CallResult::Failed { code, open: true } => (code, None),
            CallResult::Failed { code, open: false } => (code, Some(("calling_webhook_error", code))),
            CallResult::Broke => (0, Some(("apiserver_internal_error", 0))),
        };
        let rejected = rejection.is_some();
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let labels =
            format!("name={name:?},operation=\"{operation}\",rejected=\"{rejected}\",type=\"{kind}\"");
        if let Some(durations) = entry(&mut series.durations, labels) {
            durations.observe(&BOUNDS, took, took);
        }
        // Upstream caps codes at 600 in its labels.
        let request = format!(
            "code=\"{}\",name={name:?},operation=\"{operation}\",rejected=\"{rejected}\",type=\"{kind}\"",
            code.min(600)
        );
        count(&mut series.requests, request);
        if let Some((error, code)) = rejection {
            let labels = format!(
                "error_type=\"{error}\",name={name:?},operation=\"{operation}\",rejection_code=\"{}\",type=\"{kind}\"",
                code.min(600)
            );
            count(&mut series.rejections, labels);
        }
        if matches!(ended, CallResult::Failed { open: true, .. }) {
            count(&mut series.failed_open, format!("name={name:?},type=\"{kind}\""));
        }
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !series.durations.is_empty() {
            let help = "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).";
            _ = writeln!(out, "# HELP {SECONDS} [STABLE] {help}\n# TYPE {SECONDS} histogram");
        }
        for (labels, histogram) in &series.durations {
            histogram.write(out, SECONDS, labels, 0, &BOUNDS, 1e6);
        }
        let counters = [
            (
                "apiserver_admission_webhook_request_total",
                "Admission webhook request total, identified by name and broken out for each admission type (validating or mutating) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
                &series.requests,
            ),
            (
                "apiserver_admission_webhook_rejection_count",
                "Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
                &series.rejections,
            ),
            (
                "apiserver_admission_webhook_fail_open_count",
                "Admission webhook fail open count, identified by name and broken out for each admission type (validating or mutating).",
                &series.failed_open,
            ),
        ];
        for (name, help, counts) in counters {
            if !counts.is_empty() {
                _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            }
            for (labels, count) in counts {
                _ = writeln!(out, "{name}{{{labels}}} {count}");
            }
        }
    }
}
