//! Metadata helpers for plugins: fields of any object, and of pods.

use std::collections::BTreeSet;

pub(crate) use api::meta::{is_deleting, text};
use api::tree::{child, children, texts};
use jsontree::Value;
use schema::object::Object;

pub(crate) fn annotation<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    pair(object, "annotations", key)
}

pub(crate) fn label<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    pair(object, "labels", key)
}

fn pair<'o>(object: &'o Object, map: &str, key: &str) -> Option<&'o str> {
    let value = child(child(object, "metadata")?, map)?.get(key)?;
    Some(value.as_str().unwrap_or_default())
}

/// Sets a label or an annotation, depending on `map`.
pub(crate) fn set_pair(object: &mut Object, map: &str, key: &str, value: &str) {
    schema::object::set(object, &["metadata", map, key], value);
}

/// Appends a finalizer unless the object has it.
pub(crate) fn add_finalizer(object: &mut Object, finalizer: &str) {
    let metadata = child(object, "metadata");
    if !metadata.is_some_and(|metadata| texts(metadata, "finalizers").any(|existing| existing == finalizer)) {
        push(object, &["metadata", "finalizers"], finalizer.into());
    }
}

/// Appends to the list at `path`. Creates the list if it is missing.
pub(crate) fn push(object: &mut Object, path: &[&str], value: Value) {
    let mut items = match schema::object::remove(object, path) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    items.push(value);
    schema::object::set(object, path, items);
}

/// The container lists of a pod spec, with the term for one item in messages.
pub(crate) const CONTAINER_LISTS: [(&str, &str); 3] = [
    ("initContainers", "init container"),
    ("containers", "container"),
    ("ephemeralContainers", "ephemeral container"),
];

/// Returns all containers of a pod spec, init containers first.
pub(crate) fn containers(spec: &Object) -> impl Iterator<Item = &Object> {
    CONTAINER_LISTS.into_iter().flat_map(|(list, _)| children(spec, list))
}

/// True if the init container runs as long as the pod (sidecar, KEP-753).
pub(crate) fn is_sidecar(container: &Object) -> bool {
    api::tree::text(container, "restartPolicy") == "Always"
}

/// Joins messages into one: a list in brackets, unless there is only one. Removes duplicates.
pub(crate) fn aggregate(mut messages: Vec<String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    messages.retain(|message| seen.insert(message.clone()));
    match messages.len() {
        0 | 1 => messages.pop(),
        _ => Some(format!("[{}]", messages.join(", "))),
    }
}
