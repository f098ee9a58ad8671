//! Changes to custom resource definitions before a write and before a deletion.

use crate::strategy::hooks::{Context, SpecialDelete, Strategy, child};
use api::{meta, tree};
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::object::{self, Object};

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
    let stored_versions = child(definition, "status")
        .map(|status| status.entry("storedVersions").or_insert_with(|| Value::Array(Vec::new())));
    match stored_versions {
        Some(Value::Array(stored_versions)) if !stored_versions.contains(&name) => stored_versions.push(name),
        Some(other @ Value::Null) => *other = Value::Array(vec![name]),
        _ => {}
    }
}
