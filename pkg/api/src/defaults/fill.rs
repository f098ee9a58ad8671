//! The verbs that the rules are written in: they see a tree as upstream's rules see a struct.
//!
//! A pointer field is nil when the member is absent or `null`; any other field is zero also when it is
//! `""`, `0` or `false`. An embedded struct that is absent is a zero struct.

use schema::object::Object;
use serde_json::Value;

/// Sets a pointer field that is nil.
pub(super) fn if_nil(object: &mut Object, name: &str, value: impl Into<Value>) {
    if is_nil(object, name) {
        object.insert(name.to_owned(), value.into());
    }
}

/// Sets a field that is no pointer and holds its zero value.
pub(super) fn if_zero(object: &mut Object, name: &str, value: impl Into<Value>) {
    if is_zero(object, name) {
        object.insert(name.to_owned(), value.into());
    }
}

/// Whether a pointer, list or map field is nil.
pub(super) fn is_nil(object: &Object, name: &str) -> bool {
    object.get(name).is_none_or(Value::is_null)
}

/// Whether a field that is no pointer holds its zero value. Lists and maps: whether it has no entries.
pub(super) fn is_zero(object: &Object, name: &str) -> bool {
    match object.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::Bool(true)) => false,
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
    }
}

/// Applies a rule to a struct if it is there: one behind a pointer, or an embedded one whose rule has
/// nothing to say about a zero struct.
pub(super) fn behind(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    if let Some(Value::Object(inner)) = object.get_mut(name) {
        rule(inner);
    }
}

/// Applies a rule to an embedded struct, which is made when it is absent.
pub(super) fn within(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    if let Some(slot) = object.get_mut(name) {
        apply_to(slot, rule);
        return;
    }
    let mut inner = Object::new();
    rule(&mut inner);
    if !inner.is_empty() {
        object.insert(name.to_owned(), Value::Object(inner));
    }
}

/// Applies a rule to every struct of a list.
pub(super) fn each(object: &mut Object, name: &str, mut rule: impl FnMut(&mut Object)) {
    if let Some(Value::Array(items)) = object.get_mut(name) {
        items.iter_mut().for_each(|item| apply_to(item, &mut rule));
    }
}

/// Applies a rule to every struct of a map.
pub(super) fn each_value(object: &mut Object, name: &str, mut rule: impl FnMut(&mut Object)) {
    if let Some(Value::Object(values)) = object.get_mut(name) {
        values.values_mut().for_each(|value| apply_to(value, &mut rule));
    }
}

/// Where a struct stands `null` is the zero struct.
fn apply_to(slot: &mut Value, rule: impl FnOnce(&mut Object)) {
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    if let Value::Object(inner) = slot {
        rule(inner);
    }
}

/// Copies the entries of the map `from` that the map `to` lacks into `to`, which is made when it is needed.
pub(super) fn copy_missing(object: &mut Object, from: &str, to: &str) {
    let Some(Value::Object(source)) = object.get(from) else { return };
    let target = object.get(to).and_then(Value::as_object);
    let missing: Vec<_> = source
        .iter()
        .filter(|(key, _)| target.is_none_or(|target| !target.contains_key(*key)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !missing.is_empty() {
        within(object, to, |target| target.extend(missing));
    }
}
