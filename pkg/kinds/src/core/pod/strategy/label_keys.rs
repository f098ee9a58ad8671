//! Label keys of affinity terms and topology spread constraints: the pod's values of these labels are added
//! to the selector (KEP-3633, KEP-3243).

use api::tree;
use component_base::features::{Gate, Gates};
use jsontree::{Value, json};
use schema::object::{self, Object};

pub(super) fn merge(pod: &mut Object, gates: &Gates) {
    let labels = object::get_object(pod, &["metadata", "labels"]).cloned().unwrap_or_default();
    let Some(spec) = tree::child_mut(pod, "spec") else { return };
    let spread =
        [Gate::MatchLabelKeysInPodTopologySpread, Gate::MatchLabelKeysInPodTopologySpreadSelectorMerge];
    if spread.iter().all(|gate| gates.enabled(*gate)) {
        for constraint in tree::children_mut(spec, "topologySpreadConstraints") {
            extend_selector(constraint, &[("matchLabelKeys", "In")], &labels);
        }
    }
    let Some(affinity) = tree::child_mut(spec, "affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = tree::child_mut(affinity, kind) else { continue };
        for weighted in tree::children_mut(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = tree::child_mut(weighted, "podAffinityTerm") {
                extend_term(term, &labels);
            }
        }
        for term in tree::children_mut(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            extend_term(term, &labels);
        }
    }
}

fn extend_term(term: &mut Object, labels: &Object) {
    extend_selector(term, &[("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")], labels);
}

/// Adds a requirement for each key for which the pod has a label. Nothing is added without a selector, which
/// matches no pod.
fn extend_selector(term: &mut Object, lists: &[(&str, &str)], labels: &Object) {
    let requirement = |key: &str, operator: &str| {
        labels.get(key).map(|value| json!({"key": key, "operator": operator, "values": [value]}))
    };
    let requirements: Vec<Value> = lists
        .iter()
        .flat_map(|(list, operator)| {
            tree::texts(term, list).filter_map(move |key| requirement(key, operator))
        })
        .collect();
    let Some(selector) = tree::child_mut(term, "labelSelector") else { return };
    if requirements.is_empty() {
        return;
    }
    match selector.entry("matchExpressions").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(expressions) => expressions.extend(requirements),
        other => *other = Value::Array(requirements),
    }
}
