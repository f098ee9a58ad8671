//! Metrics of `PodSecurity`, with upstream's names and labels (`k8s.io/pod-security-admission/metrics`).

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};

use super::policy::{Level, LevelVersion};
use crate::Attributes;

const ERRORS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "pod_security_errors_total",
    "Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used for evaluation.",
    ["fatal", "request_operation", "resource", "subresource"],
);
const EVALUATIONS: Family<Counter, 7> = Family::counter(
    Stability::Alpha,
    "pod_security_evaluations_total",
    "Number of policy evaluations that occurred, not counting ignored or exempt requests.",
    ["decision", "mode", "policy_level", "policy_version", "request_operation", "resource", "subresource"],
);
const EXEMPTIONS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "pod_security_exemptions_total",
    "Number of exempt requests, not counting ignored or out of scope requests.",
    ["request_operation", "resource", "subresource"],
);

/// The newest minor version with its own series. Later versions share one, so that namespace labels cannot
/// create unlimited series.
const NEWEST: u32 = 36;

/// Mode of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Audit,
    Enforce,
    Warn,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Audit => "audit",
            Mode::Enforce => "enforce",
            Mode::Warn => "warn",
        }
    }
}

#[derive(Debug)]
pub struct PodSecurityMetrics {
    errors: CounterVec<4>,
    evaluations: CounterVec<7>,
    exemptions: CounterVec<3>,
}

/// Returns the version label of a level.
fn version(policy: LevelVersion) -> String {
    match policy.version {
        Some(minor) if policy.level != Level::Privileged && minor <= NEWEST => format!("v1.{minor}"),
        Some(_) if policy.level != Level::Privileged => "future".to_owned(),
        _ => "latest".to_owned(),
    }
}

/// Returns the label values for an operation and its resource.
fn labels<'a>(a: &Attributes<'a>) -> (&'static str, &'static str, &'a str) {
    let resource = match (a.resource.group, a.resource.plural) {
        ("", "pods") => "pod",
        ("", "namespaces") => "namespace",
        _ => "controller",
    };
    (if a.creates() { "create" } else { "update" }, resource, a.subresource())
}

impl PodSecurityMetrics {
    /// Creates series for frequent label combinations, as upstream does.
    pub fn new(registry: &MetricsRegistry) -> Self {
        let evaluations = registry.register_vec(&EVALUATIONS);
        let exemptions = registry.register_vec(&EXEMPTIONS);
        for operation in ["create", "update"] {
            let level = Level::Privileged.name();
            evaluations.with_zero(["allow", "enforce", level, "latest", operation, "pod", ""]);
            for resource in ["pod", "controller"] {
                exemptions.with_zero([operation, resource, ""]);
            }
        }
        PodSecurityMetrics { errors: registry.register_vec(&ERRORS), evaluations, exemptions }
    }

    /// Counts an evaluation of a level.
    pub(super) fn evaluated(&self, allowed: bool, policy: LevelVersion, mode: Mode, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let decision = if allowed { "allow" } else { "deny" };
        let level = policy.level.name();
        let version = version(policy);
        let labels = [decision, mode.name(), level, &version, operation, resource, subresource];
        self.evaluations.with(labels).increment();
    }

    /// Counts an exempt operation.
    pub(super) fn exempted(&self, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        self.exemptions.with([operation, resource, subresource]).increment();
    }

    /// Counts an evaluation error; `fatal` if no evaluation was possible.
    pub(super) fn failed(&self, fatal: bool, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let fatal = if fatal { "true" } else { "false" };
        self.errors.with([fatal, operation, resource, subresource]).increment();
    }
}

/// Metrics that are counted but not exported.
impl Default for PodSecurityMetrics {
    fn default() -> Self {
        PodSecurityMetrics::new(&MetricsRegistry::default())
    }
}
