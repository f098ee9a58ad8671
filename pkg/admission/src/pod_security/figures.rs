//! What is counted of `PodSecurity`, with upstream's names and labels (`k8s.io/pod-security-admission/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::policy::{Level, LevelVersion};
use crate::Attributes;

/// The minor version of Kubernetes beyond which versions are not told apart, so that labels of namespaces do not make
/// any number of series.
const NEWEST: u32 = 36;

/// What a level of a namespace is for.
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

/// What is counted.
#[derive(Debug)]
pub struct PodSecurityFigures(Mutex<All>);

impl Default for PodSecurityFigures {
    /// Like upstream's, with series for what is frequent.
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

/// What labels call an operation and its resource.
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

    /// Counts what a level says of an operation.
    pub(super) fn evaluated(&self, allowed: bool, policy: LevelVersion, mode: Mode, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = evaluation(allowed, policy, mode, operation, resource, subresource);
        *self.all().evaluations.entry(labels).or_default() += 1;
    }

    /// Counts an operation that nothing is asked of.
    pub(super) fn exempted(&self, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = request(operation, resource, subresource);
        *self.all().exemptions.entry(labels).or_default() += 1;
    }

    /// Counts what kept a level from being found out; `fatal` if nothing could be said at all.
    pub(super) fn failed(&self, fatal: bool, a: &Attributes<'_>) {
        let (operation, resource, subresource) = labels(a);
        let labels = format!("fatal=\"{fatal}\",{}", request(operation, resource, subresource));
        *self.all().errors.entry(labels).or_default() += 1;
    }

    /// Appends them to a page of metrics.
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
