//! Metrics of policies, with upstream's names, labels and buckets (`validating/metrics`, `mutating/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;

/// Upper bounds in nanoseconds.
const BOUNDS: [(&str, u64); 5] =
    [("5e-07", 500), ("0.001", 1_000_000), ("0.01", 10_000_000), ("0.1", 100_000_000), ("1", 1_000_000_000)];

/// Enforcement action for a failed validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnforcementAction {
    Allow,
    Deny,
    Audit,
    Warn,
}

/// Returns upstream's error type, derived from the message.
pub(super) fn error_type(message: &str) -> &'static str {
    if message.starts_with("compilation") {
        "compile_error"
    } else if message.starts_with("validation failed due to running out of cost budget") {
        "out_of_budget"
    } else {
        "invalid_error"
    }
}

/// Maximum number of label combinations. Those of deleted policies are retained, as in upstream.
const SERIES_MAX: usize = 16_384;

/// Histograms by labels. Their counts serve as counters too.
type Series = BTreeMap<String, Histogram<5>>;

/// Metrics of all policies. Only failed validations and mutations are recorded, so a lock is cheap enough.
#[derive(Default)]
pub struct PolicyFigures {
    validating: Mutex<Series>,
    mutating: Mutex<Series>,
}

fn observe(series: &Mutex<Series>, labels: String, took: Duration) {
    let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let mut series = series.lock().unwrap_or_else(PoisonError::into_inner);
    if series.len() < SERIES_MAX || series.contains_key(&labels) {
        series.entry(labels).or_default().observe(&BOUNDS, took, took);
    }
}

impl PolicyFigures {
    /// Records a failed validation.
    pub(super) fn checked(
        &self,
        (policy, binding): (&str, &str),
        error_type: &str,
        enforced: EnforcementAction,
        took: Duration,
    ) {
        let action = match enforced {
            EnforcementAction::Allow => "allow",
            EnforcementAction::Deny => "deny",
            EnforcementAction::Audit => "audit",
            EnforcementAction::Warn => "warn",
        };
        let labels = format!(
            "enforcement_action=\"{action}\",error_type=\"{error_type}\",policy={policy:?},policy_binding={binding:?}"
        );
        observe(&self.validating, labels, took);
    }

    /// Records a mutation; `error_type` is `no_error` on success.
    pub(super) fn mutated(&self, (policy, binding): (&str, &str), error_type: &str, took: Duration) {
        let labels = format!("error_type=\"{error_type}\",policy={policy:?},policy_binding={binding:?}");
        observe(&self.mutating, labels, took);
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let validating = [
            "Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.",
            "Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.",
        ];
        write(&self.validating, "validating", "BETA", validating, out);
        let mutating = [
            "Mutation admission policy check total, labeled by policy and further identified by binding.",
            "Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.",
        ];
        write(&self.mutating, "mutating", "ALPHA", mutating, out);
    }
}

fn write(series: &Mutex<Series>, kind: &str, stability: &str, [total, seconds]: [&str; 2], out: &mut String) {
    let series = series.lock().unwrap_or_else(PoisonError::into_inner);
    if series.is_empty() {
        return;
    }
    let name = format!("apiserver_{kind}_admission_policy_check_duration_seconds");
    _ = writeln!(out, "# HELP {name} [{stability}] {seconds}\n# TYPE {name} histogram");
    for (labels, histogram) in &*series {
        histogram.write(out, &name, labels, 0, &BOUNDS, 1e9);
    }
    let name = format!("apiserver_{kind}_admission_policy_check_total");
    _ = writeln!(out, "# HELP {name} [{stability}] {total}\n# TYPE {name} counter");
    for (labels, histogram) in &*series {
        _ = writeln!(out, "{name}{{{labels}}} {}", histogram.count());
    }
}
