//! Immutable fields of a job's spec.

use super::status::is_true;
use crate::validation::go_value::go_value;
use crate::validation::immutable::{IMMUTABLE, immutable};
use api::semantic;
use api::tree::{child, child_mut, children_mut, flag, integer, list, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_BATCH_V1_JOBSPEC as JOB_SPEC, IO_K8S_API_CORE_V1_PODSPEC as POD_SPEC,
    IO_K8S_API_CORE_V1_PODTEMPLATESPEC as POD_TEMPLATE_SPEC,
};
use schema::object::Object;

/// Scheduling fields of a pod spec, in addition to node affinity.
const SCHEDULING: &[&str] = &["nodeSelector", "tolerations", "schedulingGates"];

/// True if parts of a job's template are mutable: the job is suspended and has no running pod (KEP-2926,
/// KEP-5440).
pub(super) fn is_template_mutable(job: &Object) -> bool {
    let empty = Object::new();
    let [spec, status] = ["spec", "status"].map(|member| child(job, member).unwrap_or(&empty));
    let idle = !status.contains_key("startTime") || is_true(status, "Suspended");
    flag(spec, "suspend") && idle && integer(status, "active") == 0
}

/// Compares a spec with the one that it replaces. `path` is that of the spec.
pub(super) fn unchanged(
    path: &Path<'_>,
    new: &Object,
    old: &Object,
    template_is_mutable: bool,
    errors: &mut ErrorList,
) {
    let check_immutable = |member: &str, errors: &mut ErrorList| {
        immutable(&path.child(member), &JOB_SPEC, member, new, old, errors);
    };
    if text(new, "completionMode") == "Indexed" {
        completions(path, new, old, errors);
    } else {
        check_immutable("completions", errors);
    }
    check_immutable("selector", errors);
    if template_is_mutable {
        only_scheduling_and_resources(path, new, old, errors)
    } else {
        let empty = Object::new();
        let [new, old] = [new, old].map(|spec| child(spec, "template").unwrap_or(&empty));
        if !semantic::equal(&POD_TEMPLATE_SPEC, new, old) {
            let value = go_value(&POD_TEMPLATE_SPEC, new);
            errors.push(Error::invalid(&path.child("template"), value, IMMUTABLE));
        }
    }
    let fixed = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];
    for member in fixed {
        check_immutable(member, errors);
    }
}

/// Indexed jobs are scaled by setting completions and parallelism to the same number (KEP-3715).
fn completions(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    let Some(completions) = maybe_integer(new, "completions") else { return };
    let changed = maybe_integer(old, "completions") != Some(completions);
    if changed && maybe_integer(new, "parallelism") != Some(completions) {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(Error::invalid(&path.child("completions"), completions, detail));
    }
}

/// Checks that a template changed only in labels, annotations, scheduling fields and container resources.
fn only_scheduling_and_resources(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    let pod = |spec| child(spec, "template").and_then(|template| child(template, "spec"));
    let empty = Object::new();
    let new = pod(new).unwrap_or(&empty);
    let mut old = pod(old).cloned().unwrap_or_default();
    allow_node_affinity(new, &mut old);
    for member in SCHEDULING {
        copy_member(new, &mut old, member);
    }
    for containers in ["containers", "initContainers"] {
        if list(new, containers).len() != list(&old, containers).len() {
            continue;
        }
        let pairs = list(new, containers).iter().zip(children_mut(&mut old, containers));
        for (new, old) in pairs.filter_map(|(new, old)| Some((new.as_object()?, old))) {
            if text(new, "name") == text(old, "name") {
                copy_member(new, old, "resources");
            }
        }
    }
    if !semantic::equal(&POD_SPEC, new, &old) {
        errors.push(Error::invalid(&path.child("template.spec"), go_value(&POD_SPEC, new), IMMUTABLE));
    }
}

/// Copies the node affinity of the new pod to the old one.
fn allow_node_affinity(new: &Object, old: &mut Object) {
    let Some(affinity) = child(new, "affinity") else {
        if let Some(old_affinity) = child_mut(old, "affinity") {
            old_affinity.remove("nodeAffinity");
            if old_affinity.is_empty() {
                old.remove("affinity");
            }
        }
        return;
    };
    let old = old.entry("affinity").or_insert_with(|| Value::Object(Object::new()));
    if let Some(old) = old.as_object_mut() {
        copy_member(affinity, old, "nodeAffinity");
    }
}

fn copy_member(new: &Object, old: &mut Object, member: &str) {
    match new.get(member) {
        Some(value) => old.insert(member.to_owned(), value.clone()),
        None => old.remove(member),
    };
}
