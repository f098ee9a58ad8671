//! Metrics of policies, with upstream's names, labels and buckets (`validating/metrics`, `mutating/metrics`).

use std::time::Duration;

use component_base::metrics::{
    Counter, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

const VALIDATION_SECONDS: Family<Histogram, 4> = Family::histogram(
    Stability::Beta,
    "apiserver_validating_admission_policy_check_duration_seconds",
    "Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.",
    ["enforcement_action", "error_type", "policy", "policy_binding"],
    &buckets::POLICY_SECONDS,
);
const VALIDATIONS: Family<Counter, 4> = Family::counter(
    Stability::Beta,
    "apiserver_validating_admission_policy_check_total",
    "Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.",
    ["enforcement_action", "error_type", "policy", "policy_binding"],
);
const MUTATION_SECONDS: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "apiserver_mutating_admission_policy_check_duration_seconds",
    "Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.",
    ["error_type", "policy", "policy_binding"],
    &buckets::POLICY_SECONDS,
);
const MUTATIONS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_mutating_admission_policy_check_total",
    "Mutation admission policy check total, labeled by policy and further identified by binding.",
    ["error_type", "policy", "policy_binding"],
);

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

/// Metrics of all policies. Only failed validations and mutations are recorded, so a lock is cheap enough.
/// Series of deleted policies are retained, as in upstream.
pub struct PolicyMetrics {
    validating: HistogramVec<4>,
    mutating: HistogramVec<3>,
}

impl PolicyMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        let validating = registry.register_vec(&VALIDATION_SECONDS);
        registry.register_counts(&VALIDATIONS, &validating);
        let mutating = registry.register_vec(&MUTATION_SECONDS);
        registry.register_counts(&MUTATIONS, &mutating);
        PolicyMetrics { validating, mutating }
    }

    /// Records a failed validation.
    pub(super) fn checked(
        &self,
        policy: &str,
        binding: &str,
        error_type: &str,
        enforced: EnforcementAction,
        duration: Duration,
    ) {
        let action = match enforced {
            EnforcementAction::Allow => "allow",
            EnforcementAction::Deny => "deny",
            EnforcementAction::Audit => "audit",
            EnforcementAction::Warn => "warn",
        };
        self.validating.with([action, error_type, policy, binding]).observe_duration(duration);
    }

    /// Records a mutation; `error_type` is `no_error` on success.
    pub(super) fn mutated(&self, policy: &str, binding: &str, error_type: &str, duration: Duration) {
        self.mutating.with([error_type, policy, binding]).observe_duration(duration);
    }
}

/// Metrics that are counted but not exported.
impl Default for PolicyMetrics {
    fn default() -> Self {
        PolicyMetrics::new(&MetricsRegistry::default())
    }
}
