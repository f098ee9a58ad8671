//! Upstream's warnings about written objects: the `Warning: 299` headers that a strategy adds to a response
//! (`WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry/*/*/strategy.go`). They are about values that
//! validation accepts for the sake of old objects.
//!
//! The rules read objects of the storage version, after defaulting and after the strategy has prepared the
//! write, because several compare `metadata.generation`. Texts and order are upstream's. Where upstream
//! iterates over a map in random order, the order here is that of the keys.

mod affinity;
pub(crate) mod app_armor;
pub(crate) mod collector;
mod colliding_files;
pub(crate) mod common;
mod containers;
pub(crate) mod core;
pub(crate) mod custom;
mod ip;
mod key_pair;
pub(crate) mod networking;
pub(crate) mod node;
mod old_drivers;
mod pod;
mod ports;
pub(crate) mod storage;
#[cfg(test)]
mod testing;
mod volumes;
pub(crate) mod workload;

use crate::builtin::kind_of;
use crate::kind::OnUpdate;
use api::options::DeleteOptions;
use api::resources::Resource;
use collector::Warnings;
use component_base::features::Gates;
use schema::object::Object;

use custom::custom_object;

/// Returns upstream's warnings from preparing the creation of an object of `row`, before validation. A
/// response that rejects the object also contains them. Call this before annotations are copied to fields.
pub fn before_create(row: &Resource, new: &Object, gates: &Gates) -> Vec<String> {
    let mut out = Warnings::new(gates);
    if row.subresource.is_empty()
        && let Some(kind) = kind_of(row)
    {
        (kind.warnings.before_create)(new, &mut out);
    }
    out.into_texts()
}

/// Returns upstream's warnings about a created object of `row`, after validation. The object is one of the
/// storage version, after defaulting. Creation through a subresource has no warnings.
pub fn on_create(row: &Resource, new: &Object, gates: &Gates) -> Vec<String> {
    let Some(kind) = kind_of(row) else { return custom_object(new, None) };
    let mut out = Warnings::new(gates);
    if row.subresource.is_empty() {
        (kind.warnings.create)(new, &mut out);
    }
    out.into_texts()
}

/// Returns upstream's warnings about an object of `row` that is replaced through `subresource` (empty for the
/// object itself), after validation. Both objects are of the storage version; `new` has its new
/// `metadata.generation`.
pub fn on_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    gates: &Gates,
) -> Vec<String> {
    let Some(kind) = kind_of(row) else {
        return if subresource == "status" { Vec::new() } else { custom_object(new, Some(old)) };
    };
    let mut out = Warnings::new(gates);
    match subresource {
        // The strategy of the scaled object writes a scale.
        "" | "scale" => match kind.warnings.update {
            OnUpdate::AsOnCreate => (kind.warnings.create)(new, &mut out),
            OnUpdate::Own(update) => update(new, old, &mut out),
        },
        "status" => (kind.warnings.update_status)(new, &mut out),
        _ => {}
    }
    out.into_texts()
}

/// Returns upstream's warning about the deletion of objects of `row`, before any other check.
pub fn on_delete(row: &Resource, options: &DeleteOptions) -> Option<String> {
    kind_of(row).and_then(|kind| (kind.warnings.delete)(options))
}

#[cfg(test)]
mod tests {
    use super::testing::{created, created_with, status_updated, updated};
    use component_base::features::{Gate, Gates};
    use jsontree::json;

    const RESERVED: &str = "metadata.name: names ending with \".static.k8s.io\" are reserved for static \
        manifest-based configurations and cannot be managed via the API";

    #[test]
    fn names_of_static_manifests_are_reserved() {
        let object = json!({"metadata": {"name": "a.static.k8s.io"}});
        for plural in ["validatingadmissionpolicies", "mutatingwebhookconfigurations"] {
            let group = "admissionregistration.k8s.io";
            let other = json!({"metadata": {"name": "a.k8s.io"}});
            created(group, plural, object.clone(), &[RESERVED]);
            updated(group, plural, object.clone(), object.clone(), &[RESERVED]);
            created(group, plural, other, &[]);
        }
        let group = "admissionregistration.k8s.io";
        let open = Gates::default().with(Gate::ManifestBasedAdmissionControlConfig, true);
        created_with(open, group, "validatingadmissionpolicies", object.clone(), &[]);
        status_updated(group, "validatingadmissionpolicies", object, &[RESERVED]);
    }

    #[test]
    fn drivers_of_devices_have_lower_case_names() {
        let slice = |driver: &str| json!({"spec": {"driver": driver}});
        let warning = "spec.driver: driver names should be lowercase; \"Dra.Example.com\" contains uppercase characters";
        created("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), &[warning]);
        updated("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), slice("a"), &[warning]);
        created("resource.k8s.io", "resourceslices", slice("dra.example.com"), &[]);
    }

    #[test]
    fn most_kinds_have_no_warnings() {
        let object = json!({"metadata": {"name": "A.B"}, "data": {"k": "v"}});
        created("", "configmaps", object.clone(), &[]);
        updated("", "configmaps", object.clone(), object.clone(), &[]);
        status_updated("", "nodes", json!({"spec": {"externalID": "x"}}), &[]);
    }
}
