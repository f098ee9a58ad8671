//! Presence of fields in JSON.

use jsontree::Value;

use crate::object::null_is_set;
use crate::table::{Cardinality, Field, Shape, Type};

/// Go's `omitempty` and `omitzero`: true if a struct's JSON omits a field with this value.
pub fn left_out(field: &Field, value: Option<&Value>) -> bool {
    if field.omit_zero && !field.pointer {
        return matches!(value, None | Some(Value::Null));
    }
    if !field.omit_empty {
        return false;
    }
    if field.pointer {
        return is_nil(field, value);
    }
    match (field.cardinality, field.ty, value) {
        (Cardinality::One, Type::Message(inner), _) if inner.shape != Shape::Wrapper => false,
        (_, _, None | Some(Value::Null | Value::Bool(false))) => true,
        (_, _, Some(Value::String(text))) => text.is_empty(),
        (_, _, Some(Value::Number(number))) => number.as_f64() == Some(0.0),
        (_, _, Some(Value::Array(items))) => items.is_empty(),
        (_, _, Some(Value::Object(members))) => members.is_empty(),
        (_, _, Some(Value::Bool(true) | Value::Raw(_))) => false,
    }
}

/// True if a pointer field with this value is nil.
pub fn is_nil(field: &Field, value: Option<&Value>) -> bool {
    match (value, field.ty) {
        (None, _) => true,
        (Some(Value::Null), Type::Message(inner)) => !null_is_set(inner.shape),
        (value, _) => value == Some(&Value::Null),
    }
}
