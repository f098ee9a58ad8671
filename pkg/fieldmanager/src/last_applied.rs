//! The last-applied annotation of client-side apply, as far as server-side apply by `kubectl` uses it. Fields
//! with the value in the annotation may change owners, and the annotation is updated.

use crate::structured_merge::model::TypeRef;
use crate::structured_merge::{Set, typed};
use jsontree::Value;
use schema::object::{self, Object};
use schema::{json, json_write};

use apimachinery::names::TOTAL_ANNOTATIONS_BYTES_MAX;

/// The only manager that uses the annotation.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const PATH: [&str; 3] = ["metadata", "annotations", ANNOTATION];

/// Returns the fields of a live value that are unchanged since the client applied them. Returns `None`
/// without a usable annotation.
pub(super) fn owned_fields(live: &Value, ty: TypeRef<'_>) -> Option<Set> {
    let annotation = object::get_str(live.as_object()?, &PATH).filter(|text| !text.is_empty())?;
    let applied = json::decode_untyped(annotation.as_bytes()).ok()?.value;
    for name in ["apiVersion", "kind"] {
        if applied.get(name)?.as_str() != live.get(name)?.as_str() {
            return None;
        }
    }
    typed::validate(live, ty, typed::Duplicates::Reject).ok()?;
    typed::validate(&applied, ty, typed::Duplicates::Reject).ok()?;
    let mut owned = typed::field_set(&applied, ty).ok()?;
    let changed = typed::compare(&applied, live, ty).ok()?;
    for changed in [&changed.modified, &changed.added, &changed.removed] {
        owned.subtract(changed);
    }
    Some(owned)
}

/// Writes the applied configuration to the annotation, if the object has one.
///
/// # Errors
/// The configuration cannot be written as JSON.
pub(super) fn update_annotation(object: &mut Object, applied: &Value) -> Result<(), json_write::Error> {
    if object::get_str(object, &PATH).is_none_or(str::is_empty) {
        return Ok(());
    }
    let text = configuration_text(applied)?;
    object::set(object, &PATH, text);
    let annotations = object::get_object(object, &["metadata", "annotations"]).into_iter().flatten();
    let bytes: usize =
        annotations.map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len()).sum();
    if bytes > TOTAL_ANNOTATIONS_BYTES_MAX {
        object::remove(object, &PATH);
    }
    Ok(())
}

/// Returns a configuration as text without the annotation, with a final newline.
fn configuration_text(applied: &Value) -> Result<String, json_write::Error> {
    let mut applied = applied.clone();
    if let Some(metadata) = applied.get_mut("metadata").and_then(Value::as_object_mut) {
        let texts = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        match texts.filter(|annotations| annotations.values().all(Value::is_string)) {
            Some(annotations) => drop(annotations.remove(ANNOTATION)),
            None => drop(metadata.remove("annotations")),
        }
    }
    let mut text = Vec::new();
    json_write::untyped(&applied, &mut text)?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}
