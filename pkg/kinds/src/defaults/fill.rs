//! The verbs that the rules are written in: they see an object as upstream's rules see a struct. An
//! embedded struct that is absent is a zero struct.

use super::object::Object;
use jsontree::Value;

/// Sets a pointer field that is nil.
pub(super) fn if_nil(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.is_nil(name) {
        object.set(name, value);
    }
}

/// Sets a field that is no pointer and holds its zero value.
pub(super) fn if_zero(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.is_zero(name) {
        object.set(name, value);
    }
}

/// Applies a rule to a struct if it is there: one behind a pointer, or an embedded one whose rule has
/// nothing to say about a zero struct.
pub(super) fn behind(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    object.inside(name, false, rule);
}

/// Applies a rule to an embedded struct, which is made when it is absent.
pub(super) fn within(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    object.inside(name, true, rule);
}

/// Applies a rule to every struct of a list.
pub(super) fn each(object: &mut Object, name: &str, rule: impl FnMut(&mut Object)) {
    object.items(name, rule);
}

/// Applies a rule to every struct of a map.
pub(super) fn each_value(object: &mut Object, name: &str, rule: impl FnMut(&mut Object)) {
    object.items(name, rule);
}

/// Copies the entries of the map `from` that the map `to` lacks into `to`, which is made when it is needed.
pub(super) fn copy_missing(object: &mut Object, from: &str, to: &str) {
    object.copy_missing(from, to);
}

/// Whether a pointer, list or map field is nil.
pub(super) fn is_nil(object: &Object, name: &str) -> bool {
    object.is_nil(name)
}

/// Whether a field that is no pointer holds its zero value. Lists and maps: whether it has no entries.
pub(super) fn is_zero(object: &Object, name: &str) -> bool {
    object.is_zero(name)
}

/// A string member; empty when absent.
pub(super) fn text<'o>(object: &'o Object<'_>, name: &str) -> &'o str {
    object.text(name)
}

/// An integer member; 0 when absent.
pub(super) fn integer(object: &Object, name: &str) -> i64 {
    object.integer(name)
}

/// A boolean member; false when absent.
pub(super) fn flag(object: &Object, name: &str) -> bool {
    object.flag(name)
}
