//! The words of Go's JSON decoder.

use jsontree::Value;

/// What Go's decoder (`encoding/json`) calls a value in its errors: `cannot unmarshal array into …`.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
