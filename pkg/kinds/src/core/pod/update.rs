//! Mutable fields of a pod: images, deadlines, additional tolerations, and the scheduling fields of a gated
//! pod (upstream's `ValidatePodUpdate`).

use crate::validation::go_value::go_lines;
use crate::validation::unified_diff::unified_diff;
use api::semantic;
use api::tree::{child, child_mut, children, children_mut, list, maybe_integer, pairs, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_CORE_V1_NODEAFFINITY as NODE_AFFINITY, IO_K8S_API_CORE_V1_PODSPEC as POD_SPEC,
};
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

use super::{PodOptions, affinity, same_spec, toleration};

const UNCHANGEABLE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates the change of a pod, after its metadata, its spec and their annotations.
pub(super) fn validate_update(new: &Object, old: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let empty = Object::new();
    let new = child(new, "spec").unwrap_or(&empty);
    let old = child(old, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    for member in ["containers", "initContainers"] {
        let path = path.child(member);
        if list(new, member).len() != list(old, member).len() {
            errors.push(Error::forbidden(&path, "pod updates may not add or remove containers"));
            return;
        }
        images(&path, new, member, errors);
    }
    if !deadline(&path.child("activeDeadlineSeconds"), new, old, errors) {
        return;
    }
    let comparisons = options.toleration_comparisons;
    toleration::only_additions(&path.child("tolerations"), new, old, comparisons, errors);
    no_new_gates(&path.child("schedulingGates"), new, old, errors);
    if same_spec(new, old) {
        return;
    }
    let mut rest = new.clone();
    restore_changeable(&mut rest, old);
    if !list(old, "schedulingGates").is_empty() {
        restore_gated(&path, &mut rest, old, errors);
    }
    if !same_spec(&rest, old) {
        let diff = unified_diff(&go_lines(&POD_SPEC, old), &go_lines(&POD_SPEC, &rest));
        errors.push(Error::forbidden(&path, format!("{UNCHANGEABLE}\n{diff}")));
    }
}

fn images(path: &Path<'_>, spec: &Object, member: &str, errors: &mut ErrorList) {
    for (index, image) in children(spec, member).map(|container| text(container, "image")).enumerate() {
        let path = path.index(index);
        let path = path.child("image");
        if image.is_empty() {
            errors.push(Error::required(&path, ""));
        }
        if image.trim().len() != image.len() {
            let detail = "must not have leading or trailing whitespace";
            errors.push(Error::invalid(&path, image, detail));
        }
    }
}

/// Checks the deadline: it may be set, and after that only lowered. Returns true if the remaining checks
/// should run.
fn deadline(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) -> bool {
    let seconds = |spec| maybe_integer(spec, "activeDeadlineSeconds");
    match (seconds(new), seconds(old)) {
        (Some(new), old) => {
            let max = i64::from(i32::MAX);
            let detail = if !(0..=max).contains(&new) {
                names::inclusive_range_error(0, max)
            } else if old.is_some_and(|old| old < new) {
                "must be less than or equal to previous value".to_owned()
            } else {
                return true;
            };
            errors.push(Error::invalid(path, new, detail));
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(Error::invalid(path, BadValue::Plain("null".to_owned()), detail));
            true
        }
        (None, None) => true,
    }
}

fn no_new_gates(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    let gates = |spec| children(spec, "schedulingGates").map(|gate| text(gate, "name"));
    let old: BTreeSet<&str> = gates(old).collect();
    // If gates have the same name, the error is about the last one.
    let last: BTreeMap<&str, usize> = gates(new).enumerate().map(|(index, gate)| (gate, index)).collect();
    let is_last = |(index, gate): &(usize, &str)| last.get(gate) == Some(index);
    for (index, gate) in gates(new).enumerate().filter(|(_, gate)| !old.contains(*gate)).filter(is_last) {
        let path = path.index(index);
        let detail = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
        errors.push(Error::forbidden(&path.child("name"), detail));
    }
}

/// Reverts all changes that any pod allows.
fn restore_changeable(spec: &mut Object, old: &Object) {
    for member in ["containers", "initContainers"] {
        for (container, old) in children_mut(spec, member).zip(children(old, member)) {
            restore(container, old, "image");
        }
        // Upstream builds the list anew, so an empty list is absent in the printed diff.
        if list(spec, member).is_empty() {
            spec.remove(member);
        }
    }
    for member in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        restore(spec, old, member);
    }
    let grace = |spec: &Object| maybe_integer(spec, "terminationGracePeriodSeconds");
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(spec) == Some(1) {
        restore(spec, old, "terminationGracePeriodSeconds");
    }
}

fn restore(object: &mut Object, old: &Object, member: &str) {
    match old.get(member) {
        Some(value) => drop(object.insert(member.to_owned(), value.clone())),
        None => drop(object.remove(member)),
    }
}

/// Validates scheduling changes of a gated pod, and reverts them (KEP-3838).
fn restore_gated(path: &Path<'_>, spec: &mut Object, old: &Object, errors: &mut ErrorList) {
    let new: BTreeMap<&str, &str> = pairs(spec, "nodeSelector").collect();
    if !pairs(old, "nodeSelector").all(|(key, value)| new.get(key) == Some(&value)) {
        let value = spec.get("nodeSelector").unwrap_or(&Value::Null);
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(Error::invalid(&path.child("nodeSelector"), value, detail));
    }
    restore(spec, old, "nodeSelector");
    let nodes = |spec| child(spec, "affinity").and_then(|affinity| child(affinity, "nodeAffinity"));
    let new_nodes = nodes(spec);
    let old_nodes = nodes(old);
    let unchanged = match (new_nodes, old_nodes) {
        (Some(new), Some(old)) => semantic::equal(&NODE_AFFINITY, new, old),
        (new, old) => new.is_none() && old.is_none(),
    };
    if unchanged {
        return;
    }
    let affinity_path = path.child("affinity");
    affinity::only_narrowed(&affinity_path.child("nodeAffinity"), new_nodes, old_nodes, errors);
    restore_node_affinity(spec, old);
}

fn restore_node_affinity(spec: &mut Object, old: &Object) {
    let old_affinity = child(old, "affinity");
    let Some(affinity) = child_mut(spec, "affinity") else {
        // Only the node affinity was removed; otherwise the rest would differ.
        let nodes = old_affinity.and_then(|affinity| affinity.get("nodeAffinity")).cloned();
        let affinity: Object = nodes.map(|nodes| ("nodeAffinity".to_owned(), nodes)).into_iter().collect();
        spec.insert("affinity", Value::Object(affinity));
        return;
    };
    match old_affinity {
        Some(old) => restore(affinity, old, "nodeAffinity"),
        None if affinity.contains_key("podAffinity") || affinity.contains_key("podAntiAffinity") => {
            affinity.remove("nodeAffinity");
        }
        None => drop(spec.remove("affinity")),
    }
}
