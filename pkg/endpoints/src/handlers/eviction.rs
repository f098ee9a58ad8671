//! POST of an Eviction: deletes a pod if its PodDisruptionBudgets allow it (upstream's `EvictionREST`).
//!
//! Upstream writes a budget through a client and retries on conflicts. Here the check and the update of the
//! budget are one step on its newest state, so there are no conflicts.

mod budget;

use std::time::Duration;

use api::options::{CreateOptions, DeleteOptions, IGNORE_STORE_READ_ERROR, ListOptions, Preconditions};
use api::resources::{self, Resource};
use api::tree;
use apimachinery::field::{Error, Path};
use apimachinery::gvk::{GroupKind, GroupResource};
use apimachinery::status::{Reason, Status};
use apimachinery::time::UnixTime;
use kinds::strategy::pod_conditions::{self, Condition};
use registry::generic::{Admit, AdmitAll, DeleteRequest, UpdateRequest};
use registry::{StoredRef, Target, codec, meta};
use schema::object::{self, Object};

use super::admission::Admission;
use super::{read, success_status};
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;

/// Maximum number of attempts for a pod that changes before it is deleted. `RETRY_PAUSE` is the pause between them,
/// before jitter (upstream's `EvictionsRetry`).
const ATTEMPTS_MAX: u32 = 20;
const RETRY_PAUSE: Duration = Duration::from_millis(500);
const RETRY_JITTER: f64 = 0.1;
/// Field manager of budget updates.
const FIELD_MANAGER: &str = "kube-apiserver";

/// Evicts the pod.
///
/// # Errors
/// 400 for another pod's Eviction, 404, 409 for failed preconditions, 429 when a budget does not allow it,
/// 500 if two budgets cover the pod.
pub(super) async fn evict(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    mut eviction: Object,
    options: &CreateOptions,
) -> Result<Response, Box<Status>> {
    admit.mutate(&mut eviction, None).await?;
    if meta::text(&eviction, "name") != call.name() {
        return Err(Status::bad_request("name in URL does not match name in Eviction object").into());
    }
    check(&eviction)?;
    let options = propagate(&eviction, options)?;
    admit.validate(&eviction, None).await?;
    if let Some(pod) = delete_unprotected(call, &options).await? {
        delete_protected(call, &pod, &options).await?;
    }
    Ok(call.reply()?.success(&success_status()))
}

/// Checks the options of an Eviction beyond those of deletions.
fn check(eviction: &Object) -> Result<(), Box<Status>> {
    if object::get_bool(eviction, &["deleteOptions", IGNORE_STORE_READ_ERROR]) != Some(true) {
        return Ok(());
    }
    let options = Path::root("deleteOptions");
    let detail = "can not be set for pod eviction, try after removing the option";
    let error = Error::invalid(&options.child(IGNORE_STORE_READ_ERROR), true, detail);
    Err(Status::invalid(&GroupKind::new("policy", "Eviction"), meta::text(eviction, "name"), &[error].into())
        .into())
}

/// Options of the deletion: the body's, with `dryRun` from the body or the query.
fn propagate(eviction: &Object, options: &CreateOptions) -> Result<DeleteOptions, Box<Status>> {
    let embedded = object::get_object(eviction, &["deleteOptions"]).map(DeleteOptions::from_object);
    let mut deletion = embedded.unwrap_or_default();
    if deletion.dry_run.is_empty() {
        deletion.dry_run.clone_from(&options.dry_run);
    } else if !options.dry_run.is_empty() && options.dry_run != deletion.dry_run {
        let request = options.dry_run.join(" ");
        let content = deletion.dry_run.join(" ");
        let message =
            format!("Non-matching dry-run options in request and content: [{request}] and [{content}]");
        return Err(Status::unmapped(message).into());
    }
    Ok(deletion)
}

/// Deletes a pod that no budget protects: one that has ended, is pending, or is terminating. Returns any
/// other pod.
async fn delete_unprotected(
    call: &RequestScope<'_>,
    options: &DeleteOptions,
) -> Result<Option<Object>, Box<Status>> {
    let insists = version_of(options).is_some();
    for attempt in 1.. {
        let pod = read::newest(call, call.resource(), call.name()).await?;
        let phase = object::get_str(&pod, &["status", "phase"]).unwrap_or("");
        let terminal = matches!(phase, "Succeeded" | "Failed") || meta::is_deleting(&pod);
        if !terminal && phase != "Pending" {
            return Ok(Some(pod));
        }
        // A pending pod must not start to count between the check and the deletion.
        let pinned =
            if terminal || insists { options.clone() } else { with_version_preconditions(options, &pod) };
        match mark_and_delete(call, &pinned).await {
            Ok(()) => return Ok(None),
            Err(status) if status.reason == Reason::Conflict && !insists && attempt < ATTEMPTS_MAX => {
                let pause = RETRY_PAUSE.mul_f64(1.0 + RETRY_JITTER * (call.api.jitter)());
                tokio::time::sleep(pause).await;
            }
            Err(status) => return Err(status),
        }
    }
    Ok(None)
}

/// Deletes a pod if its budget allows it.
async fn delete_protected(
    call: &RequestScope<'_>,
    pod: &Object,
    options: &DeleteOptions,
) -> Result<(), Box<Status>> {
    let row = resources::find("policy", "v1", "poddisruptionbudgets", "").ok_or_else(Status::unknown_path)?;
    let budgets = budgets_of(call, row, pod).await?;
    if budgets.len() > 1 {
        let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does \
                       not support.";
        return Err(Status::unmapped(message).into());
    }
    let Some(budget) = budgets.first() else { return mark_and_delete(call, options).await };
    let name = meta::text(budget, "name");
    if is_ready(pod) || !budget::allows_unready_eviction(budget) {
        take_disruption(call, row, budget, meta::text(pod, "name"), !options.dry_run.is_empty()).await?;
        return mark_and_delete(call, options).await;
    }
    // The pod may be deleted because it is not ready. The precondition fails if it has become ready
    // meanwhile.
    let unversioned = version_of(options).is_none();
    match mark_and_delete(call, &with_version_preconditions(options, pod)).await {
        Err(status) if status.reason == Reason::Conflict && unversioned => Err(budget::retry_soon(name)),
        result => result,
    }
}

fn is_ready(pod: &Object) -> bool {
    tree::child(pod, "status")
        .into_iter()
        .flat_map(|status| tree::children(status, "conditions"))
        .any(|c| tree::text(c, "type") == "Ready" && tree::text(c, "status") == "True")
}

fn version_of(options: &DeleteOptions) -> Option<&str> {
    options.preconditions.as_ref()?.resource_version.as_deref()
}

/// Adds preconditions for exactly this version of the pod.
fn with_version_preconditions(options: &DeleteOptions, pod: &Object) -> DeleteOptions {
    let version = meta::text(pod, "resourceVersion").to_owned();
    let uid = options.preconditions.as_ref().and_then(|preconditions| preconditions.uid.clone());
    let preconditions = Some(Preconditions { uid, resource_version: Some(version) });
    DeleteOptions { preconditions, ..options.clone() }
}

async fn budgets_of(
    call: &RequestScope<'_>,
    row: &Resource<'_>,
    pod: &Object,
) -> Result<Vec<Object>, Box<Status>> {
    let storage = row.storage.as_ref().ok_or_else(Status::unknown_path)?;
    let target = Target { resource: row, namespace: &call.info.namespace, name: "" };
    // A budget that cannot be decoded must not count as absent.
    let page = call.api.registry.list(&target, &ListOptions::default()).await?.complete()?;
    let mut matching = Vec::new();
    for element in page.items.iter() {
        let budget = codec::decode(storage, StoredRef::element(&element))
            .map_err(crate::response::encode::encoding_error)?;
        if budget::covers(&budget, pod) {
            matching.push(budget);
        }
    }
    Ok(matching)
}

/// Takes a disruption from a budget and records the pod for the disruption controller.
async fn take_disruption(
    call: &RequestScope<'_>,
    row: &Resource<'_>,
    budget: &Object,
    pod: &str,
    dry_run: bool,
) -> Result<(), Box<Status>> {
    let now = call.api.registry.now();
    if dry_run {
        return budget::consume_disruption(&mut budget.clone(), pod, now);
    }
    let name = meta::text(budget, "name");
    let status = resources::find(row.group, row.version, row.plural, "status").unwrap_or(row);
    let target = Target { resource: row, namespace: &call.info.namespace, name };
    let generation = call.api.served.now();
    let served = generation.catalog.find(status.group, status.version, status.plural, status.subresource);
    let fields = served.and_then(|endpoint| endpoint.fields.as_ref());
    let mut change = |old: Option<&Object>| {
        let old = old.ok_or_else(|| Box::new(Status::not_found(&target.group_resource(), name)))?;
        let mut new = old.clone();
        budget::consume_disruption(&mut new, pod, now)?;
        if let Some(Err(error)) = fields.map(|fields| fields.update(Some(old), &mut new, FIELD_MANAGER, now))
        {
            tracing::error!(error = error.to_string(), "cannot update managed fields of PodDisruptionBudget");
        }
        Ok(new)
    };
    let request = update_of(call, status);
    call.api.registry.update(&target, &request, &mut change).await?;
    Ok(())
}

fn update_of<'r>(call: &'r RequestScope<'_>, endpoint: &'r Resource<'r>) -> UpdateRequest<'r> {
    UpdateRequest {
        endpoint,
        uid: String::new(),
        user: call.user,
        dry_run: false,
        force_allow_create: false,
        keeps_managers: false,
        pending_conversions: None,
        admit: &AdmitAll,
    }
}

/// Deletes the pod. First sets the reason in its status, for its watchers.
async fn mark_and_delete(call: &RequestScope<'_>, options: &DeleteOptions) -> Result<(), Box<Status>> {
    let target = call.target();
    let now = call.api.registry.now();
    let dry_run = !options.dry_run.is_empty();
    let mut options = options.clone();
    if !dry_run {
        let pods = call.resource();
        let status = resources::find(pods.group, pods.version, pods.plural, "status").unwrap_or(pods);
        let mut change = |old: Option<&Object>| {
            let old =
                old.ok_or_else(|| Box::new(Status::not_found(&target.group_resource(), target.name)))?;
            with_disruption_condition(old, &options, now)
        };
        let updated = call.api.registry.update(&target, &update_of(call, status), &mut change).await?;
        if let Some(version) = options.preconditions.as_mut().and_then(|p| p.resource_version.as_mut()) {
            // The change came from this request.
            *version = codec::revision_text(updated.stored.revision);
        }
    }
    let errors = kinds::validation::validate_delete_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "DeleteOptions"), "", &errors).into());
    }
    // Admission has already checked the eviction.
    let request = DeleteRequest { options: &options, dry_run, admit: &AdmitAll };
    call.api.registry.delete(&target, &request).await?;
    Ok(())
}

/// Returns the pod with the condition for an eviction.
///
/// # Errors
/// 409 if the options are for a different pod.
fn with_disruption_condition(
    pod: &Object,
    options: &DeleteOptions,
    now: UnixTime,
) -> Result<Object, Box<Status>> {
    let preconditions = options.preconditions.clone().unwrap_or_default();
    let checks = [
        ("UID", "uid", preconditions.uid, "deleted and then recreated"),
        ("ResourceVersion", "resourceVersion", preconditions.resource_version, "modified"),
    ];
    for (label, member, required, fate) in checks {
        let recorded = meta::text(pod, member);
        let Some(required) = required.filter(|required| !required.is_empty() && required != recorded) else {
            continue;
        };
        let cause = format!(
            "the {label} in the precondition ({required}) does not match the {label} in record ({recorded}). The \
             object might have been {fate}"
        );
        return Err(Status::conflict(&GroupResource::new("", "Pod"), meta::text(pod, "name"), &cause).into());
    }
    let mut pod = pod.clone();
    let condition = Condition {
        condition_type: "DisruptionTarget",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
    };
    pod_conditions::set_condition_true(&mut pod, condition, now);
    Ok(pod)
}
