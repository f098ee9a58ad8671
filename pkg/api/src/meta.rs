//! Access to `metadata` of an object tree.
//!
//! Readers return the zero value for absent fields, like Go's accessors.

use apimachinery::time::UnixTime;
use jsontree::Value;
use schema::object::Object;

pub fn metadata(object: &Object) -> Option<&Object> {
    object.get("metadata").and_then(Value::as_object)
}

/// Returns the metadata of an object for editing, created when absent.
pub fn metadata_mut(object: &mut Object) -> &mut Object {
    let slot = object.entry("metadata").or_insert_with(|| Value::Object(Object::new()));
    if !slot.is_object() {
        *slot = Value::Object(Object::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("set to an object above"),
    }
}

/// Returns a string member of metadata; empty when absent.
pub fn text<'o>(object: &'o Object, name: &str) -> &'o str {
    metadata(object).and_then(|m| m.get(name)).and_then(Value::as_str).unwrap_or("")
}

pub fn integer(object: &Object, name: &str) -> Option<i64> {
    metadata(object).and_then(|m| m.get(name)).and_then(Value::as_i64)
}

/// Sets a string member of metadata; an empty text removes it.
pub fn set_text(object: &mut Object, name: &str, value: &str) {
    let metadata = metadata_mut(object);
    if value.is_empty() {
        metadata.remove(name);
    } else {
        metadata.insert(name, Value::from(value));
    }
}

pub fn set(object: &mut Object, name: &str, value: Option<Value>) {
    let metadata = metadata_mut(object);
    match value {
        Some(value) => metadata.insert(name, value),
        None => metadata.remove(name),
    };
}

pub fn finalizers(object: &Object) -> Vec<&str> {
    let list = metadata(object).and_then(|m| m.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

pub fn set_finalizers(object: &mut Object, finalizers: Vec<String>) {
    let value = (!finalizers.is_empty()).then(|| Value::from(finalizers));
    set(object, "finalizers", value);
}

pub fn is_deleting(object: &Object) -> bool {
    metadata(object).is_some_and(|m| m.contains_key("deletionTimestamp"))
}

/// Returns the object's generation; 0 when absent.
pub fn generation(object: &Object) -> i64 {
    integer(object, "generation").unwrap_or(0)
}

/// Sets the generation; 0 removes it.
pub fn set_generation(object: &mut Object, generation: i64) {
    set(object, "generation", (generation != 0).then(|| Value::from(generation)));
}

/// Marks an object whose deletion waits for finalizers: a deletion timestamp not in the future, no grace
/// period left, and a new generation the first time (upstream's `markAsDeleting`).
pub fn mark_as_deleting(object: &mut Object, now: UnixTime) {
    let generation = generation(object);
    if !is_deleting(object) && generation > 0 {
        set_generation(object, generation + 1);
    }
    let current = deletion_seconds(object);
    if current.is_none_or(|at| at > now.seconds) {
        set_deletion_seconds(object, now.seconds);
    }
    set(object, "deletionGracePeriodSeconds", Some(Value::from(0)));
}

/// Returns the deletion timestamp in Unix seconds.
pub fn deletion_seconds(object: &Object) -> Option<i64> {
    let text = metadata(object)?.get("deletionTimestamp")?.as_str()?;
    apimachinery::time::parse_time(text).ok().map(|t| t.seconds)
}

pub fn set_deletion_seconds(object: &mut Object, seconds: i64) {
    let text = UnixTime::from_seconds(seconds).rfc3339().to_string();
    set(object, "deletionTimestamp", Some(Value::from(text)));
}
