//! Metrics of match conditions, with upstream's names, labels and buckets (`pkg/admission/metrics`).

use std::time::Duration;

use component_base::metrics::{
    Counter, CounterVec, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

use crate::Operation;

const SECONDS: Family<Histogram, 4> = Family::histogram(
    Stability::Alpha,
    "apiserver_admission_match_condition_evaluation_seconds",
    "Admission match condition evaluation time in seconds, identified by name and broken out for each kind containing matchConditions (webhook or policy), operation and type (validate or admit).",
    ["kind", "name", "operation", "type"],
    &buckets::MATCH_CONDITION_SECONDS,
);
const ERRORS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_admission_match_condition_evaluation_errors_total",
    "Admission match condition evaluation errors count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).",
    ["kind", "name", "operation", "type"],
);
const EXCLUSIONS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_admission_match_condition_exclusions_total",
    "Admission match condition evaluation exclusions count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).",
    ["kind", "name", "operation", "type"],
);

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

impl ConditionOwner<'_> {
    fn labels(&self) -> [&str; 4] {
        [self.kind, self.name, self.operation.name(), self.step]
    }
}

/// Metrics of all match conditions. Series of deleted webhooks and policies are retained, as in upstream.
pub struct ConditionMetrics {
    seconds: HistogramVec<4>,
    errors: CounterVec<4>,
    exclusions: CounterVec<4>,
}

impl ConditionMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        ConditionMetrics {
            seconds: registry.register_vec(&SECONDS),
            errors: registry.register_vec(&ERRORS),
            exclusions: registry.register_vec(&EXCLUSIONS),
        }
    }

    /// Records an evaluation with its number of failed conditions.
    pub(crate) fn evaluated(&self, owner: &ConditionOwner<'_>, errors: usize, duration: Duration) {
        self.seconds.with(owner.labels()).observe_duration(duration);
        if errors > 0 {
            self.errors.with(owner.labels()).add(u64::try_from(errors).unwrap_or(u64::MAX));
        }
    }

    /// Records that match conditions excluded a webhook or policy.
    pub(crate) fn excluded(&self, owner: &ConditionOwner<'_>) {
        self.exclusions.with(owner.labels()).increment();
    }
}

/// Metrics that are counted but not exported.
impl Default for ConditionMetrics {
    fn default() -> Self {
        ConditionMetrics::new(&MetricsRegistry::default())
    }
}
