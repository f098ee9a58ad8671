//! Writes of a node to its Node object.

use std::collections::BTreeSet;

use api::tree::{child, is_set, pairs};
use apimachinery::go_quote::quote;
use jsontree::Value;
use schema::object::Object;

use crate::{Attributes, Operation, Verdict};

/// Kubernetes labels that kubelets set on their Node (upstream's `kubeletapis.KubeletLabels`).
const OWN_LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// Label prefixes that kubelets may use freely.
const OWN_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The prefix of labels that keep pods away from untrusted nodes.
const RESTRICTION_PREFIX: &str = "node-restriction.kubernetes.io";

/// Checks a write of a Node object by a node.
pub(super) fn check(a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
    let by = quote(node);
    if a.name != node {
        return Err(a.forbidden(format!("node {by} is not allowed to modify node {}", quote(a.name))));
    }
    match (a.operation, a.old) {
        (Operation::Create, _) => {
            if config_source(new).is_some() {
                return Err(a.forbidden(format!(
                    "node {by} is not allowed to create pods with a non-nil configSource"
                )));
            }
            forbidden_labels(new, &Object::new()).map_or(Ok(()), |labels| {
                Err(a.forbidden(format!("node {by} is not allowed to set the following labels: {labels}")))
            })
        }
        (Operation::Update, Some(old)) => update(a, &by, new, old),
        _ => Ok(()),
    }
}

/// Checks an update. Scheduling relies on taints and labels, so a node cannot choose its own.
fn update(a: &Attributes<'_>, by: &str, new: &Object, old: &Object) -> Verdict {
    let refused = |action: &str| Err(a.forbidden(format!("node {by} is not allowed to {action}")));
    if config_source(new).is_some() && config_source(new) != config_source(old) {
        return refused("update configSource to a new non-nil configSource");
    }
    let member = |object: &Object, parent: &str, name: &str| {
        let list = child(object, parent).and_then(|parent| parent.get(name)).cloned();
        list.filter(|list| list.as_array().is_none_or(|items| !items.is_empty()))
    };
    if member(new, "spec", "taints") != member(old, "spec", "taints") {
        return refused("modify taints");
    }
    if member(new, "metadata", "ownerReferences") != member(old, "metadata", "ownerReferences") {
        return refused("modify ownerReferences");
    }
    forbidden_labels(new, old)
        .map_or(Ok(()), |labels| Err(a.forbidden(format!("is not allowed to modify labels: {labels}"))))
}

fn config_source(node: &Object) -> Option<&Value> {
    child(node, "spec").filter(|spec| is_set(spec, "configSource"))?.get("configSource")
}

/// Returns the changed labels that no node may change, as a text; `None` if there are none.
fn forbidden_labels(new: &Object, old: &Object) -> Option<String> {
    let labels = |node| child(node, "metadata").into_iter().flat_map(|metadata| pairs(metadata, "labels"));
    let new: BTreeSet<_> = labels(new).collect();
    let old: BTreeSet<_> = labels(old).collect();
    let changed: BTreeSet<&str> = new.symmetric_difference(&old).map(|(name, _)| *name).collect();
    let forbidden: Vec<&str> = changed.into_iter().filter(|label| is_forbidden(label)).collect();
    (!forbidden.is_empty()).then(|| forbidden.join(", "))
}

fn is_forbidden(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let under =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let of_kubernetes = under("kubernetes.io") || under("k8s.io");
    let is_allowed = OWN_LABELS.contains(&label) || OWN_PREFIXES.into_iter().any(under);
    under(RESTRICTION_PREFIX) || of_kubernetes && !is_allowed
}
