//! Error texts of Go's JSON decoder.

use jsontree::Value;

/// Name of a value's type in errors of Go's decoder (`encoding/json`): `cannot unmarshal array into …`.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Raw(_) => "object",
    }
}
