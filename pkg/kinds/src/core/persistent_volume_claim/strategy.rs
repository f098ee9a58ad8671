//! Persistent volume claims: two fields for the source of the volume's content, `dataSource` for old clients
//! and `dataSourceRef` for new ones (KEP-1495, KEP-3294; upstream's `api/persistentvolumeclaim/util.go`).

use crate::strategy::hooks::{Context, Strategy};
use api::tree;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::object::Object;

pub(crate) struct PersistentVolumeClaims;

impl Strategy for PersistentVolumeClaims {
    fn prepare_for_create(&self, claim: &mut Object, context: &Context<'_>) {
        if let Some(spec) = tree::child_mut(claim, "spec") {
            prepare(spec, None, context.gates());
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        if let (true, Some(spec)) = (subresource.is_empty(), tree::child_mut(new, "spec")) {
            prepare(spec, tree::child(old, "spec"), context.gates());
        }
    }
}

/// Drops disallowed sources unless the claim already had them, then fills in the missing field.
fn prepare(spec: &mut Object, old: Option<&Object>, gates: &Gates) {
    let had_member = |name: &str| old.is_some_and(|old| tree::child(old, name).is_some());
    let elsewhere = tree::child(spec, "dataSourceRef").is_some_and(names_a_namespace);
    if elsewhere && !gates.enabled(Gate::CrossNamespaceVolumeDataSource) && !had_member("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    if !had_member("dataSource")
        && !had_member("dataSourceRef")
        && tree::child(spec, "dataSourceRef").is_none()
    {
        let is_supported = tree::child(spec, "dataSource").is_some_and(is_claim_or_snapshot);
        if !is_supported {
            spec.remove("dataSource");
        }
    }
    complete_data_sources(spec);
}

/// Fills in the missing field.
pub(super) fn complete_data_sources(spec: &mut Object) {
    match (tree::child(spec, "dataSource"), tree::child(spec, "dataSourceRef")) {
        (Some(source), None) => {
            let reference = reference(source);
            spec.insert("dataSourceRef", reference);
        }
        (None, Some(reference)) if !names_a_namespace(reference) => {
            let source = self::reference(reference);
            spec.insert("dataSource", source);
        }
        _ => {}
    }
}

fn names_a_namespace(reference: &Object) -> bool {
    !tree::text(reference, "namespace").is_empty()
}

/// True for the only kinds of sources that clients could set before `dataSourceRef`.
fn is_claim_or_snapshot(source: &Object) -> bool {
    matches!(
        (tree::text(source, "apiGroup"), tree::text(source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

/// Common part of both fields.
fn reference(of: &Object) -> Value {
    let common = ["apiGroup", "kind", "name"].into_iter();
    Value::Object(common.filter_map(|name| of.get(name).map(|v| (name.to_owned(), v.clone()))).collect())
}
