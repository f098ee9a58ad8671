//! Metrics of `PodSecurity`, with upstream's names and labels (`k8s.io/pod-security-admission/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::policy::{Level, LevelVersion};
use crate::Attributes;

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

/// Counts by labels.
type Counts = BTreeMap<String, u64>;

#[derive(Debug)]
struct All {
    errors: Counts,
    evaluations: Counts,
    exemptions: Counts,
}

#[derive(Debug)]
pub struct PodSecurityFigures(Mutex<All>);

impl Default for PodSecurityFigures {
    /// Creates series for frequent label combinations, as upstream does.
    fn default() -> Self {
        let mut all = All { errors: Counts::new(), evaluations: Counts::new(), exemptions: Counts::new() };
        let privileged = LevelVersion { level: Level::Privileged, version: None };
        for operation in ["create", "update"] {
            all.evaluations.insert(evaluation(true, privileged, Mode::Enforce, operation, "pod", ""), 0);
            for resource in ["pod", "controller"] {
                all.exemptions.insert(request(operation, resource, ""), 0);
            }
        }
        PodSecurityFigures(Mutex::new(all))
    }
}

fn request(operation: &str, resource: &str, subresource: &str) -> String {
    format!("request_operation={operation:?},resource={resource:?},subresource={subresource:?}")
}

fn evaluation(
    allowed: bool,
    policy: LevelVersion,
    mode: Mode,
    operation: &str,
    resource: &str,
    subresource: &str,
) -> String {
    let decision = if allowed { "allow" } else { "deny" };
    let mode = match mode {
        Mode::Audit => "audit",
        Mode::Enforce => "enforce",
        Mode::Warn => "warn",
    };
    let version = match policy.version {
        Some(minor) if policy.level != Level::Privileged && minor <= NEWEST => format!("v1.{minor}"),
        Some(_) if policy.level != Level::Privileged => "future".to_owned(),
        _ => "latest".to_owned(),
    };
    let (level, request) = (policy.level.name(), request(operation, resource, subresource));
    format!(
        "decision=\"{decision}\",mode=\"{mode}\",policy_level=\"{level}\",policy_version=\"{version}\",{request}"
    )
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

impl PodSecurityFigures {
    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an evaluation of a level.
    pub(super) fn evaluated(&self, allowed: bool, policy: LevelVersion, mode: Mode, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = evaluation(allowed, policy, mode, operation, resource, subresource);
        *self.all().evaluations.entry(labels).or_default() += 1;
    }

    /// Counts an exempt operation.
    pub(super) fn exempted(&self, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = request(operation, resource, subresource);
        *self.all().exemptions.entry(labels).or_default() += 1;
    }

    /// Counts an evaluation error; `fatal` if no evaluation was possible.
    pub(super) fn failed(&self, fatal: bool, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = format!("fatal=\"{fatal}\",{}", request(operation, resource, subresource));
        *self.all().errors.entry(labels).or_default() += 1;
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let all = self.all();
        let metrics = [
            (
                "pod_security_errors_total",
                "Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used for evaluation.",
                &all.errors,
            ),
            (
                "pod_security_evaluations_total",
                "Number of policy evaluations that occurred, not counting ignored or exempt requests.",
                &all.evaluations,
            ),
            (
                "pod_security_exemptions_total",
                "Number of exempt requests, not counting ignored or out of scope requests.",
                &all.exemptions,
            ),
        ];
        for (name, help, counts) in metrics {
            if !counts.is_empty() {
                let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            }
            for (labels, count) in counts {
                let _ = writeln!(out, "{name}{{{labels}}} {count}");
            }
        }
    }
}
