//! Metrics of match conditions, with upstream's names, labels and buckets (`pkg/admission/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;

use crate::Operation;

const SECONDS: &str = "apiserver_admission_match_condition_evaluation_seconds";
const ERRORS: &str = "apiserver_admission_match_condition_evaluation_errors_total";
const EXCLUSIONS: &str = "apiserver_admission_match_condition_exclusions_total";

/// Common part of the three help texts.
const BY: &str = "broken out for each kind containing matchConditions (webhook or policy), operation and";

/// Upper bounds in microseconds.
const BOUNDS: [(&str, u64); 7] = [
    ("0.001", 1_000),
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.2", 200_000),
    ("0.25", 250_000),
];

/// Maximum number of label combinations. Those of deleted webhooks and policies are retained, as in upstream.
const SERIES_MAX: usize = 16_384;

/// The owner of match conditions, for labels.
pub(crate) struct ConditionOwner<'a> {
    /// `webhook` or `policy`.
    pub(crate) kind: &'static str,
    /// Name of the webhook or policy.
    pub(crate) name: &'a str,
    /// `admit`, `validating`, or for policies always upstream's value `validate`.
    pub(crate) step: &'static str,
    pub(crate) operation: Operation,
}

#[derive(Default)]
struct Series {
    seconds: Histogram<7>,
    errors: u64,
    exclusions: u64,
}

/// Metrics of all match conditions.
#[derive(Default)]
pub struct ConditionFigures(Mutex<BTreeMap<String, Series>>);

/// A counter: its name, its help text, and its getter.
type Counter = (&'static str, &'static str, fn(&Series) -> u64);

impl ConditionFigures {
    fn count(&self, whose: &ConditionOwner<'_>, count: impl FnOnce(&mut Series)) {
        let ConditionOwner { kind, name, step, operation } = whose;
        let operation = operation.name();
        let labels = format!("kind=\"{kind}\",name={name:?},operation=\"{operation}\",type=\"{step}\"");
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if series.len() < SERIES_MAX || series.contains_key(&labels) {
            count(series.entry(labels).or_default());
        }
    }

    /// Records an evaluation with its number of failed conditions.
    pub(crate) fn evaluated(&self, whose: &ConditionOwner<'_>, errors: usize, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.count(whose, |series| {
            series.seconds.observe(&BOUNDS, took, took);
            series.errors = series.errors.saturating_add(u64::try_from(errors).unwrap_or(u64::MAX));
        });
    }

    /// Records that match conditions excluded a webhook or policy.
    pub(crate) fn excluded(&self, whose: &ConditionOwner<'_>) {
        self.count(whose, |series| series.exclusions = series.exclusions.saturating_add(1));
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let what = "Admission match condition evaluation";
        let counters: [Counter; 2] = [
            (ERRORS, "errors", |series| series.errors),
            (EXCLUSIONS, "exclusions", |series| series.exclusions),
        ];
        for (name, counted, count) in counters {
            let mut lines = series.iter().filter(|(_, series)| count(series) > 0).peekable();
            if lines.peek().is_some() {
                let by = format!(
                    "identified by name of resource containing the match condition and {BY} admission type (validate or admit)."
                );
                _ = writeln!(
                    out,
                    "# HELP {name} [ALPHA] {what} {counted} count, {by}\n# TYPE {name} counter"
                );
            }
            for (labels, series) in lines {
                _ = writeln!(out, "{name}{{{labels}}} {}", count(series));
            }
        }
        let mut lines = series.iter().filter(|(_, series)| series.seconds.count() > 0).peekable();
        if lines.peek().is_some() {
            let by = format!("identified by name and {BY} type (validate or admit).");
            _ = writeln!(
                out,
                "# HELP {SECONDS} [ALPHA] {what} time in seconds, {by}\n# TYPE {SECONDS} histogram"
            );
        }
        for (labels, series) in lines {
            series.seconds.write(out, SECONDS, labels, 0, &BOUNDS, 1e6);
        }
    }
}
