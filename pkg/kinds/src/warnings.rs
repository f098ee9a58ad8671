//! Upstream's warnings about written objects: the `Warning: 299` headers that a strategy adds to a response
//! (`WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry/*/*/strategy.go`). They are about values that
//! validation accepts for the sake of old objects.
//!
//! The rules read objects of the storage version, after defaulting and after the strategy has prepared the
//! write, because several compare `metadata.generation`. Texts and order are upstream's. Where upstream
//! iterates over a map in random order, the order here is that of the keys.

pub(crate) mod addresses;
mod affinity;
pub(crate) mod app_armor;
pub(crate) mod claim;
pub(crate) mod collector;
mod colliding_files;
pub(crate) mod common;
mod containers;
pub(crate) mod custom;
pub(crate) mod ip;
pub(crate) mod node;
pub(crate) mod old_drivers;
pub(crate) mod pod;
mod ports;
pub(crate) mod template;
#[cfg(test)]
mod testing;
mod volumes;
pub(crate) mod webhook;

use crate::builtin::kind_of;
use crate::kind::OnUpdate;
use api::options::DeleteOptions;
use api::resources::Resource;
use collector::Warnings;
use component_base::features::Gates;
use schema::object::Object;

use custom::custom_object;
pub use webhook::is_excluded_from_webhooks;

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
            OnUpdate::Custom(update) => update(new, old, &mut out),
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
mod tests;
