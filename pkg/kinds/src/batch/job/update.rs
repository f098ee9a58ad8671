//! Immutable fields of a job's spec.

use super::status::is_true;
use crate::validation::go_value::go_value;
use crate::validation::immutable::{IMMUTABLE, immutable};
use api::semantic;
use api::tree::{child, child_mut, children_mut, flag, integer, list, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_BATCH_V1_JOBSPEC as JOB_SPEC, IO_K8S_API_CORE_V1_PODSPEC as POD_SPEC,
    IO_K8S_API_CORE_V1_PODTEMPLATESPEC as POD_TEMPLATE_SPEC,
};
use schema::object::Object;

/// Scheduling fields of a pod spec, in addition to node affinity.
const SCHEDULING: &[&str] = &["nodeSelector", "tolerations", "schedulingGates"];

/// Mutable parts of the template of a suspended job.
#[derive(Clone, Copy)]
pub(super) struct MutableFields {
    /// Labels, annotations and scheduling fields (KEP-2926).
    scheduling: bool,
    /// Resources of containers (KEP-5440).
    resources: bool,
}

impl MutableFields {
    /// Returns the mutable parts for a job. With the gates, the job must have no running pod; without them, only a job
    /// that has never started has mutable parts.
    pub(super) fn of(job: &Object, gates: &Gates) -> Self {
        let empty = Object::new();
        let [spec, status] = ["spec", "status"].map(|member| child(job, member).unwrap_or(&empty));
        let suspended = flag(spec, "suspend");
        let has_started = status.contains_key("startTime");
        let idle =
            suspended && (!has_started || is_true(status, "Suspended")) && integer(status, "active") == 0;
        let scheduling = if gates.enabled(Gate::MutableSchedulingDirectivesForSuspendedJobs) {
            idle
        } else {
            suspended && !has_started
        };
        MutableFields {
            scheduling,
            resources: idle && gates.enabled(Gate::MutablePodResourcesForSuspendedJobs),
        }
    }
}

/// Compares a spec with the one that it replaces. `path` is that of the spec.
pub(super) fn unchanged(
    path: &Path<'_>,
    new: &Object,
    old: &Object,
    mutable: MutableFields,
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
    template(path, new, old, mutable, errors);
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

/// Checks that a template changed only in its mutable parts.
fn template(path: &Path<'_>, new: &Object, old: &Object, mutable: MutableFields, errors: &mut ErrorList) {
    let empty = Object::new();
    let new = child(new, "template").unwrap_or(&empty);
    let mut old = child(old, "template").cloned().unwrap_or_default();
    if mutable.scheduling {
        allow_scheduling(new, &mut old);
    }
    if !mutable.resources {
        if !semantic::equal(&POD_TEMPLATE_SPEC, new, &old) {
            let value = go_value(&POD_TEMPLATE_SPEC, new);
            errors.push(Error::invalid(&path.child("template"), value, IMMUTABLE));
        }
        return;
    }
    // Upstream compares only the specs then.
    let new = child(new, "spec").unwrap_or(&empty);
    let mut old = child(&old, "spec").cloned().unwrap_or_default();
    allow_resources(new, &mut old);
    if !semantic::equal(&POD_SPEC, new, &old) {
        errors.push(Error::invalid(&path.child("template.spec"), go_value(&POD_SPEC, new), IMMUTABLE));
    }
}

/// Copies labels, annotations and scheduling fields of the new template to the old one.
fn allow_scheduling(new: &Object, old: &mut Object) {
    let empty = Object::new();
    let new_metadata = child(new, "metadata").unwrap_or(&empty);
    let old_metadata = old.entry("metadata").or_insert_with(|| Value::Object(Object::new()));
    for member in ["annotations", "labels"] {
        if let Some(old_metadata) = old_metadata.as_object_mut() {
            copy_member(new_metadata, old_metadata, member);
        }
    }
    let new_spec = child(new, "spec").unwrap_or(&empty);
    if let Some(old_spec) = child_mut(old, "spec") {
        allow_node_affinity(new_spec, old_spec);
        for member in SCHEDULING {
            copy_member(new_spec, old_spec, member);
        }
    }
}

/// Copies the resources of containers with the same name and position to the old pod.
fn allow_resources(new: &Object, old: &mut Object) {
    for containers in ["containers", "initContainers"] {
        if list(new, containers).len() != list(old, containers).len() {
            continue;
        }
        let pairs = list(new, containers).iter().zip(children_mut(old, containers));
        for (new, old) in pairs.filter_map(|(new, old)| Some((new.as_object()?, old))) {
            if text(new, "name") == text(old, "name") {
                copy_member(new, old, "resources");
            }
        }
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
