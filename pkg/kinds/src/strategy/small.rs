//! Kinds with a single rule.

use api::tree;
use apimachinery::time::UnixTime;
use component_base::features::Gate;
use jsontree::{Value, json};
use schema::object::{self, Object};

use super::{Context, SpecialDelete, Strategy, child};
use api::meta;

/// Only the names of a service account's secrets are kept (upstream's
/// `registry/core/serviceaccount/strategy.go`).
pub(crate) struct ServiceAccounts;

impl Strategy for ServiceAccounts {
    fn prepare_for_create(&self, account: &mut Object, _context: &Context<'_>) {
        clean_secrets(account);
    }

    fn prepare_for_update(&self, _: &str, new: &mut Object, _old: &Object, _context: &Context<'_>) {
        clean_secrets(new);
    }
}

fn clean_secrets(account: &mut Object) {
    tree::children_mut(account, "secrets").for_each(|secret| secret.retain(|member, _| member == "name"));
}

/// A limit range without a name gets one (upstream's `registry/core/limitrange/strategy.go`).
pub(crate) struct LimitRanges;

impl Strategy for LimitRanges {
    fn prepare_for_create(&self, range: &mut Object, context: &Context<'_>) {
        if meta::text(range, "name").is_empty() {
            meta::set_text(range, "name", &context.entropy.uid());
        }
    }
}

/// API services of this server are available from the start (upstream's
/// `kube-aggregator/pkg/registry/apiservice/strategy.go`).
pub(crate) struct ApiServices;

impl Strategy for ApiServices {
    fn prepare_for_create(&self, service: &mut Object, context: &Context<'_>) {
        if object::get_object(service, &["spec", "service"]).is_none() {
            let available = json!({
                "type": "Available",
                "status": "True",
                "lastTransitionTime": context.timestamp(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            });
            object::set(service, &["status", "conditions"], vec![available]);
        }
    }
}

/// The storage version of a CRD is added to its stored versions immediately (upstream's
/// `apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go`).
pub(crate) struct CustomResourceDefinitions;

impl Strategy for CustomResourceDefinitions {
    fn prepare_for_create(&self, definition: &mut Object, _context: &Context<'_>) {
        store_storage_version(definition);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, _old: &Object, _context: &Context<'_>) {
        if subresource.is_empty() {
            store_storage_version(new);
        }
    }

    fn special_delete(&self, definition: &Object) -> Option<SpecialDelete> {
        (!meta::is_deleting(definition)).then_some(SpecialDelete::Begin)
    }

    fn begin_special_delete(&self, definition: &mut Object, now: UnixTime) {
        begin_cleanup(definition, now);
    }
}

/// Finalizer of a terminating CRD: its custom resources are deleted first.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn begin_cleanup(definition: &mut Object, now: UnixTime) {
    meta::set_deletion_seconds(definition, now.seconds);
    let finalizers = child(definition, "metadata")
        .map(|metadata| metadata.entry("finalizers").or_insert_with(|| Value::Array(Vec::new())));
    if let Some(Value::Array(finalizers)) = finalizers
        && !finalizers.iter().any(|name| name == CLEANUP)
    {
        finalizers.push(CLEANUP.into());
    }
    let pending = json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": UnixTime { nanos: 0, ..now }.rfc3339().to_string(),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    let conditions = child(definition, "status")
        .map(|status| status.entry("conditions").or_insert_with(|| Value::Array(Vec::new())));
    if let Some(Value::Array(conditions)) = conditions {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(pending);
    }
}

fn store_storage_version(definition: &mut Object) {
    let versions = object::get_list(definition, &["spec", "versions"]);
    let stored = versions.iter().filter_map(Value::as_object).find(|version| tree::flag(version, "storage"));
    let Some(name) = stored.map(|version| Value::from(tree::text(version, "name"))) else { return };
    let known = child(definition, "status")
        .map(|status| status.entry("storedVersions").or_insert_with(|| Value::Array(Vec::new())));
    match known {
        Some(Value::Array(known)) if !known.contains(&name) => known.push(name),
        Some(other @ Value::Null) => *other = Value::Array(vec![name]),
        _ => {}
    }
}

/// The time of a taint is reset when its effect changes (upstream's `registry/resource/devicetaintrule`).
pub(crate) struct DeviceTaintRules;

impl Strategy for DeviceTaintRules {
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        let (effect, added) = (["spec", "taint", "effect"], ["spec", "taint", "timeAdded"]);
        let same = |path: &[&str]| object::get(new, path) == object::get(old, path);
        if subresource.is_empty() && !same(&effect) && same(&added) {
            object::set(new, &added, context.timestamp());
        }
    }
}

/// The claim statuses of a pod group without claims are dropped while `DRAWorkloadResourceClaims` is disabled
/// (upstream's `registry/scheduling/podgroup/strategy.go`).
pub(crate) struct PodGroups;

impl Strategy for PodGroups {
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        let closed = !context.gates().enabled(Gate::DRAWorkloadResourceClaims);
        let without = || object::get_list(old, &["spec", "resourceClaims"]).is_empty();
        if closed && subresource == "status" && without() {
            object::remove(new, &["status", "resourceClaimStatuses"]);
        }
    }
}
