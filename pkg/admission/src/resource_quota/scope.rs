//! Quota scopes of objects.

use std::fmt;

use api::tree::{child, children, is_set, list, maybe_integer, text, texts};
use schema::object::Object;

use super::spec_text;

/// A scope requirement of a quota or of a limited resource.
pub(super) struct Requirement<'q> {
    pub(super) scope: &'q str,
    operator: &'q str,
    selector: Option<&'q Object>,
}

impl<'q> Requirement<'q> {
    /// Reads a scope selector requirement.
    pub(super) fn of(selector: &'q Object) -> Self {
        let scope = text(selector, "scopeName");
        let operator = text(selector, "operator");
        Requirement { scope, operator, selector: Some(selector) }
    }

    fn values(&self) -> impl Iterator<Item = &'q str> {
        self.selector.into_iter().flat_map(|selector| texts(selector, "values"))
    }

    /// True if the requirement selects a class. The class may be empty.
    fn selects(&self, class: &str) -> bool {
        let listed = self.values().any(|value| value == class);
        match self.operator {
            "In" => !class.is_empty() && listed,
            "NotIn" => class.is_empty() || !listed,
            "DoesNotExist" => class.is_empty(),
            _ => !class.is_empty(),
        }
    }

    /// True if upstream can build a selector from it.
    pub(super) fn is_sound(&self) -> bool {
        match self.operator {
            "In" | "NotIn" => self.values().next().is_some(),
            "Exists" => true,
            "DoesNotExist" => self.values().next().is_none(),
            _ => false,
        }
    }
}

impl fmt::Display for Requirement<'_> {
    /// Formats the requirement as Go does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values().collect();
        write!(f, "{{{} {} [{}]}}", self.scope, self.operator, values.join(" "))
    }
}

pub(super) fn requirements(quota: &Object) -> impl Iterator<Item = Requirement<'_>> {
    let spec = child(quota, "spec");
    let scopes = spec.into_iter().flat_map(|spec| texts(spec, "scopes"));
    let scopes = scopes.map(|scope| Requirement { scope, operator: "Exists", selector: None });
    let selector = spec.and_then(|spec| child(spec, "scopeSelector"));
    let expressions = selector.into_iter().flat_map(|selector| children(selector, "matchExpressions"));
    scopes.chain(expressions.map(Requirement::of))
}

/// True if a quota has no scopes.
pub(super) fn is_unlimited(quota: &Object) -> bool {
    requirements(quota).next().is_none()
}

/// True if a pod satisfies all scopes of a quota.
pub(super) fn has_pod(quota: &Object, pod: &Object) -> bool {
    requirements(quota).all(|requirement| meets_pod(&requirement, pod))
}

/// True if a pod satisfies a requirement.
pub(super) fn meets_pod(requirement: &Requirement<'_>, pod: &Object) -> bool {
    match requirement.scope {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => api::qos::of(pod) == "BestEffort",
        "NotBestEffort" => api::qos::of(pod) != "BestEffort",
        "PriorityClass" => requirement.selects(spec_text(pod, "spec", "priorityClassName")),
        "CrossNamespacePodAffinity" => has_cross_namespace_affinity(pod),
        _ => false,
    }
}

/// True if a claim satisfies all scopes of a quota.
pub(super) fn has_claim(quota: &Object, claim: &Object) -> bool {
    requirements(quota).all(|requirement| meets_claim(&requirement, claim))
}

/// True if a claim satisfies a requirement.
pub(super) fn meets_claim(requirement: &Requirement<'_>, claim: &Object) -> bool {
    let target = child(claim, "status").and_then(|status| child(status, "modifyVolumeStatus"));
    let classes = [
        spec_text(claim, "spec", "volumeAttributesClassName"),
        spec_text(claim, "status", "currentVolumeAttributesClassName"),
        target.map_or("", |target| text(target, "targetVolumeAttributesClassName")),
    ];
    match requirement.scope {
        "VolumeAttributesClass" if classes.iter().all(|class| class.is_empty()) => requirement.selects(""),
        "VolumeAttributesClass" => {
            classes.iter().any(|class| !class.is_empty() && requirement.selects(class))
        }
        _ => false,
    }
}

/// True if a pod has a deadline (`activeDeadlineSeconds`).
pub(super) fn is_terminating(pod: &Object) -> bool {
    let deadline = child(pod, "spec").and_then(|spec| maybe_integer(spec, "activeDeadlineSeconds"));
    deadline.is_some_and(|seconds| seconds >= 0)
}

/// True if a pod's affinity depends on pods of other namespaces.
fn has_cross_namespace_affinity(pod: &Object) -> bool {
    let affinity = child(pod, "spec").and_then(|spec| child(spec, "affinity"));
    let crosses = |term: &Object| !list(term, "namespaces").is_empty() || is_set(term, "namespaceSelector");
    ["podAffinity", "podAntiAffinity"].iter().filter_map(|kind| child(affinity?, kind)).any(|affinity| {
        children(affinity, "requiredDuringSchedulingIgnoredDuringExecution").any(crosses)
            || children(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
                .filter_map(|preference| child(preference, "podAffinityTerm"))
                .any(crosses)
    })
}
