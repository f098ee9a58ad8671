//! Namespaces: deletion in two phases, with finalizers in `spec` (upstream's `registry/core/namespace`).

use crate::strategy::hooks::{Context, SpecialDelete, Strategy, child};
use api::meta;
use apimachinery::time::UnixTime;
use jsontree::Value;
use schema::object::Object;

/// Finalizer of every new namespace; the namespace controller removes it.
const KUBERNETES: &str = "kubernetes";

/// Label of every namespace with its name (KEP-2161).
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(crate) struct Namespaces;

impl Strategy for Namespaces {
    fn prepare_for_create(&self, object: &mut Object, _context: &Context<'_>) {
        if let Some(status) = child(object, "status") {
            status.clear();
            status.insert("phase", Value::from("Active"));
        }
        let spec = child(object, "spec")
            .map(|spec| spec.entry("finalizers").or_insert_with(|| Value::Array(Vec::new())));
        if let Some(Value::Array(finalizers)) = spec
            && !finalizers.iter().any(|f| f == KUBERNETES)
        {
            finalizers.push(Value::from(KUBERNETES));
        }
    }

    /// Only `finalize` can change the finalizers in `spec`.
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        if subresource.is_empty() {
            let finalizers = old.get("spec").and_then(|spec| spec.get("finalizers")).cloned();
            match (child(new, "spec"), finalizers) {
                (Some(spec), Some(finalizers)) => spec.insert("finalizers", finalizers),
                (Some(spec), None) => spec.remove("finalizers"),
                (None, _) => None,
            };
        }
    }

    /// Labels the object with its name, which defaults do not know if it is generated.
    fn canonicalize(&self, object: &mut Object) {
        let name = meta::text(object, "name").to_owned();
        if let Some(labels) = child(meta::metadata_mut(object), "labels") {
            labels.insert(NAME_LABEL.to_owned(), Value::from(name));
        }
    }

    fn deletes_on_update(&self, new: &Object) -> bool {
        !has_spec_finalizers(new)
    }

    fn special_delete(&self, object: &Object) -> Option<SpecialDelete> {
        if meta::is_deleting(object) {
            has_spec_finalizers(object).then_some(SpecialDelete::Leave)
        } else {
            Some(SpecialDelete::Begin)
        }
    }

    fn begin_special_delete(&self, object: &mut Object, now: UnixTime) {
        meta::set_deletion_seconds(object, now.seconds);
        if let Some(status) = child(object, "status") {
            status.insert("phase", Value::from("Terminating"));
        }
    }
}

fn has_spec_finalizers(object: &Object) -> bool {
    let list = object.get("spec").and_then(|s| s.get("finalizers")).and_then(Value::as_array);
    list.is_some_and(|list| !list.is_empty())
}
