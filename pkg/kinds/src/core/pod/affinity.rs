//! Affinity of a pod to nodes and to other pods.

use crate::validation::go_value::{go_value, go_values};
use crate::validation::node_selector::{self, node_selector, node_selector_term};
use crate::validation::selector::label_selector;
use crate::validation::value::{dns_label, qualified_name};
use api::tree::{child, children, integer, is_set, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_CORE_V1_NODESELECTORTERM as TERM;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

use super::PodOptions;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The two kinds of affinity to other pods.
const POD_AFFINITIES: [&str; 2] = ["podAffinity", "podAntiAffinity"];

/// Validates the affinity. `path` is that of the affinity.
pub(super) fn affinity(path: &Path<'_>, affinity: &Object, options: &PodOptions, errors: &mut ErrorList) {
    if let Some(nodes) = child(affinity, "nodeAffinity") {
        node_affinity(&path.child("nodeAffinity"), nodes, options.bad_node_affinity, errors);
    }
    for member in POD_AFFINITIES {
        let Some(pods) = child(affinity, member) else { continue };
        let path = path.child(member);
        let required = path.child(REQUIRED);
        for (index, term) in children(pods, REQUIRED).enumerate() {
            pod_term(&required.index(index), term, options.bad_affinity_selectors, errors);
        }
        let preferred = path.child(PREFERRED);
        for (index, weighted) in children(pods, PREFERRED).enumerate() {
            let path = preferred.index(index);
            weight(&path, weighted, errors);
            let empty = Object::new();
            let term = child(weighted, "podAffinityTerm").unwrap_or(&empty);
            pod_term(&path.child("podAffinityTerm"), term, options.bad_affinity_selectors, errors);
        }
    }
}

/// True if a pod spec has invalid selectors of pods or namespaces.
pub(super) fn has_bad_selectors(spec: &Object) -> bool {
    let Some(affinity) = child(spec, "affinity") else { return false };
    let mut errors = ErrorList::new();
    for pods in POD_AFFINITIES.into_iter().filter_map(|member| child(affinity, member)) {
        let preferred = children(pods, PREFERRED).filter_map(|weighted| child(weighted, "podAffinityTerm"));
        children(pods, REQUIRED)
            .chain(preferred)
            .for_each(|term| selectors(&Path::NIL, term, false, &mut errors));
    }
    !errors.is_empty()
}

/// True if a pod spec's required node affinity has values that labels cannot have.
pub(super) fn has_bad_node_values(spec: &Object) -> bool {
    let nodes = child(spec, "affinity").and_then(|affinity| child(affinity, "nodeAffinity"));
    nodes.and_then(|nodes| child(nodes, REQUIRED)).is_some_and(node_selector::has_bad_values)
}

fn node_affinity(path: &Path<'_>, nodes: &Object, bad_values: bool, errors: &mut ErrorList) {
    if let Some(selector) = child(nodes, REQUIRED) {
        node_selector(&path.child(REQUIRED), selector, bad_values, errors);
    }
    let path = path.child(PREFERRED);
    for (index, preferred) in children(nodes, PREFERRED).enumerate() {
        let path = path.index(index);
        weight(&path, preferred, errors);
        // Bad values are allowed here, because such a preference does no harm.
        if let Some(term) = child(preferred, "preference") {
            node_selector_term(&path.child("preference"), term, true, errors);
        }
    }
}

fn weight(path: &Path<'_>, term: &Object, errors: &mut ErrorList) {
    let weight = integer(term, "weight");
    if !(1..=100).contains(&weight) {
        errors.push(Error::invalid(&path.child("weight"), weight, "must be in the range 1-100"));
    }
}

fn pod_term(path: &Path<'_>, term: &Object, bad_values: bool, errors: &mut ErrorList) {
    selectors(path, term, bad_values, errors);
    for namespace in texts(term, "namespaces") {
        dns_label(&path.child("namespace"), namespace, errors);
    }
    label_keys(path, term, errors);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.push(Error::required(&path.child("topologyKey"), "can not be empty"));
    }
    qualified_name(&path.child("topologyKey"), key, errors);
}

fn selectors(path: &Path<'_>, term: &Object, bad_values: bool, errors: &mut ErrorList) {
    for member in ["labelSelector", "namespaceSelector"] {
        label_selector(&path.child(member), child(term, member), bad_values, errors);
    }
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys` of a term or spread constraint. They must be label
/// keys, in only one of the lists, and not in the selector too (KEP-3633).
pub(super) fn label_keys(path: &Path<'_>, term: &Object, errors: &mut ErrorList) {
    let selector = child(term, "labelSelector");
    for member in ["matchLabelKeys", "mismatchLabelKeys"] {
        let path = path.child(member);
        if selector.is_none() && texts(term, member).next().is_some() {
            errors.push(Error::forbidden(&path, "must not be specified when labelSelector is not set"));
            continue;
        }
        for (index, key) in texts(term, member).enumerate() {
            qualified_name(&path.index(index), key, errors);
        }
    }
    if let Some(selector) = selector {
        keys_selected_twice(path, term, selector, errors);
    }
    let keys = path.child("matchLabelKeys");
    let mismatching: BTreeSet<&str> = texts(term, "mismatchLabelKeys").collect();
    for (index, key) in texts(term, "matchLabelKeys").enumerate() {
        if mismatching.contains(key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(Error::invalid(&keys.index(index), key, detail));
        }
    }
}

/// The selector already contains a generated expression for each key, so a second one comes from the user.
/// Upstream's path lacks the name of the list.
fn keys_selected_twice(path: &Path<'_>, term: &Object, selector: &Object, errors: &mut ErrorList) {
    let last: BTreeMap<&str, usize> =
        texts(term, "matchLabelKeys").enumerate().map(|(index, key)| (key, index)).collect();
    let mut seen: BTreeSet<&str> = child(selector, "matchLabels")
        .into_iter()
        .flat_map(|labels| labels.keys().map(jsontree::Key::as_str))
        .collect();
    for key in children(selector, "matchExpressions").map(|expression| text(expression, "key")) {
        if let Some(index) = last.get(key).filter(|_| seen.contains(key)) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(Error::invalid(&path.index(*index), key, detail));
        }
        seen.insert(key);
    }
}

/// Checks that the node affinity of a gated pod was only narrowed: required terms may get further
/// requirements, nothing else (KEP-3838).
pub(super) fn only_narrowed(
    path: &Path<'_>,
    new: Option<&Object>,
    old: Option<&Object>,
    errors: &mut ErrorList,
) {
    let Some(old) = old.and_then(|old| child(old, REQUIRED)) else { return };
    let empty = Object::new();
    let new = new.and_then(|new| child(new, REQUIRED)).unwrap_or(&empty);
    let path = path.child(REQUIRED);
    let path = path.child("nodeSelectorTerms");
    let terms = |selector: &'_ Object| children(selector, "nodeSelectorTerms").count();
    if terms(old) > 0 && terms(old) != terms(new) {
        let value = go_values(&TERM, new.get("nodeSelectorTerms"));
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(Error::invalid(&path, value, detail));
        return;
    }
    let pairs = children(new, "nodeSelectorTerms").zip(children(old, "nodeSelectorTerms"));
    for (index, (new, old)) in pairs.enumerate() {
        if !has_only_additions(new, old) {
            let detail = "only additions are allowed (no mutations or deletions)";
            errors.push(Error::invalid(&path.index(index), go_value(&TERM, new), detail));
        }
    }
}

fn has_only_additions(new: &Object, old: &Object) -> bool {
    let members = ["matchExpressions", "matchFields"];
    // An empty term selects nothing; with a requirement it would select something.
    let both_empty = |term: &Object| members.iter().all(|member| children(term, member).next().is_none());
    if both_empty(old) {
        return both_empty(new);
    }
    members.iter().all(|member| {
        let mut new = children(new, member);
        children(old, member).all(|old| new.next().is_some_and(|new| same_requirement(new, old)))
    })
}

fn same_requirement(a: &Object, b: &Object) -> bool {
    text(a, "key") == text(b, "key")
        && text(a, "operator") == text(b, "operator")
        && texts(a, "values").eq(texts(b, "values"))
        && is_set(a, "values") == is_set(b, "values")
}
