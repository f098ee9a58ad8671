//! Access to object trees with the semantics of Go structs: an absent field has its zero value.

use jsontree::Value;
use schema::object::Object;

/// Returns a string member; empty when absent.
pub fn text<'o>(object: &'o Object, name: &str) -> &'o str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an integer member; 0 when absent.
pub fn integer(object: &Object, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns a boolean member; false when absent.
pub fn flag(object: &Object, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns a string member, `None` when absent (a pointer in Go).
pub fn maybe_text<'o>(object: &'o Object, name: &str) -> Option<&'o str> {
    object.get(name).and_then(Value::as_str)
}

/// Returns an integer member, `None` when absent (a pointer in Go).
pub fn maybe_integer(object: &Object, name: &str) -> Option<i64> {
    object.get(name).and_then(Value::as_i64)
}

/// Returns a boolean member, `None` when absent (a pointer in Go).
pub fn maybe_flag(object: &Object, name: &str) -> Option<bool> {
    object.get(name).and_then(Value::as_bool)
}

/// True if a member is not nil. An empty list or map counts as set.
pub fn is_set(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

/// Returns a member that is an object (a struct or a map).
pub fn child<'o>(object: &'o Object, name: &str) -> Option<&'o Object> {
    object.get(name).and_then(Value::as_object)
}

pub fn child_mut<'o>(object: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    object.get_mut(name).and_then(Value::as_object_mut)
}

/// Returns the items of a list member; empty when absent.
pub fn list<'o>(object: &'o Object, name: &str) -> &'o [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub fn list_mut<'o>(object: &'o mut Object, name: &str) -> &'o mut [Value] {
    object.get_mut(name).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

pub fn texts<'o>(object: &'o Object, name: &str) -> impl Iterator<Item = &'o str> + use<'o> {
    list(object, name).iter().filter_map(Value::as_str)
}

pub fn children<'o>(object: &'o Object, name: &str) -> impl Iterator<Item = &'o Object> + use<'o> {
    list(object, name).iter().filter_map(Value::as_object)
}

pub fn children_mut<'o>(
    object: &'o mut Object,
    name: &str,
) -> impl Iterator<Item = &'o mut Object> + use<'o> {
    list_mut(object, name).iter_mut().filter_map(Value::as_object_mut)
}

/// Iterates over the entries of a string map, in the order of the keys.
pub fn pairs<'o>(object: &'o Object, name: &str) -> impl Iterator<Item = (&'o str, &'o str)> + use<'o> {
    child(object, name)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// Moves a member to another name; an absent one stays absent.
pub fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.to_owned(), value);
    }
}
