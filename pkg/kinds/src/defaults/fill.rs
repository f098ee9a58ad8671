//! Helpers for the rules, with the semantics of upstream's rules on structs. An absent embedded struct is a
//! zero struct.

use super::object::Object;
use jsontree::Value;

/// Sets a pointer field that is nil.
pub(crate) fn if_nil(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.is_nil(name) {
        object.set(name, value);
    }
}

/// Sets a non-pointer field that has its zero value.
pub(crate) fn if_zero(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.is_zero(name) {
        object.set(name, value);
    }
}

/// Applies a rule to a struct if it is present: one behind a pointer, or an embedded one whose rule does not
/// change a zero struct.
pub(crate) fn if_present(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    object.inside(name, false, rule);
}

/// Applies a rule to an embedded struct, which is created when absent.
pub(crate) fn default_struct(object: &mut Object, name: &str, rule: impl FnOnce(&mut Object)) {
    object.inside(name, true, rule);
}

/// Applies a rule to every struct of a list.
pub(crate) fn each(object: &mut Object, name: &str, rule: impl FnMut(&mut Object)) {
    object.items(name, rule);
}

/// Copies missing entries from the map `from` to the map `to`, which is created if needed.
pub(crate) fn copy_missing(object: &mut Object, from: &str, to: &str) {
    object.copy_missing(from, to);
}

/// True if a pointer, list or map field is nil.
pub(crate) fn is_nil(object: &Object, name: &str) -> bool {
    object.is_nil(name)
}

/// True if a non-pointer field has its zero value, or if a list or map is empty.
pub(crate) fn is_zero(object: &Object, name: &str) -> bool {
    object.is_zero(name)
}

/// Returns a string member; empty when absent.
pub(crate) fn text<'o>(object: &'o Object<'_>, name: &str) -> &'o str {
    object.text(name)
}

/// Returns an integer member; 0 when absent.
pub(crate) fn integer(object: &Object, name: &str) -> i64 {
    object.integer(name)
}

/// Returns a boolean member; false when absent.
pub(crate) fn flag(object: &Object, name: &str) -> bool {
    object.flag(name)
}
