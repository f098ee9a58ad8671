//! Converts results of mutation expressions to JSON, and checks the type names of their objects against the
//! field paths (upstream's `cel/mutation/dynamic`).

use std::fmt::Write;

use apimachinery::go_quote::quote;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cel::value::{List, Map, Opaque, Value, text};
use jsontree::Value as Json;
use schema::object::Object;

/// Maximum nesting of values.
const DEPTH_MAX: usize = 128;
/// Maximum number of values in one value. Each 16 bytes of text count as one more. Parts can occur
/// repeatedly, so a small value can expand to much JSON.
const VALUES_MAX: usize = 1_000_000;

/// Error about a value that has no JSON form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("the value is too large")]
    TooLarge,
    #[error("the value is nested too deeply")]
    TooDeep,
    /// The value is an error of the expression.
    #[error("{0}")]
    Value(String),
    #[error("map key {key} is of type {go_type}, not string")]
    Key { key: String, go_type: String },
}

/// Converter with a limit on the number of values.
pub(super) struct JsonConverter {
    remaining: usize,
}

impl JsonConverter {
    pub(super) fn new() -> Self {
        JsonConverter { remaining: VALUES_MAX }
    }

    /// Converts a value to JSON.
    ///
    /// # Errors
    /// The value has no JSON form.
    pub(super) fn json(&mut self, value: Value<'_>) -> Result<Json, JsonError> {
        self.value(value, 1)
    }

    fn spend(&mut self, text: &str) -> Result<(), JsonError> {
        self.remaining = self.remaining.checked_sub(1 + text.len() / 16).ok_or(JsonError::TooLarge)?;
        Ok(())
    }

    fn value(&mut self, value: Value<'_>, depth: usize) -> Result<Json, JsonError> {
        self.spend(if let Value::String(text) = value { text } else { "" })?;
        if depth > DEPTH_MAX {
            return Err(JsonError::TooDeep);
        }
        Ok(match value {
            Value::Null | Value::Optional(None) => Json::Null,
            Value::Bool(value) => value.into(),
            Value::Int(value) => value.into(),
            Value::Uint(value) => value.into(),
            Value::Double(value) => number(value),
            Value::String(value) => value.into(),
            Value::Bytes(bytes) => STANDARD.encode(bytes).into(),
            Value::List(list) => self.list(list, depth)?,
            Value::Map(map) => self.map(map, depth)?,
            Value::Optional(Some(value)) => self.value(*value, depth + 1)?,
            Value::Opaque(Opaque::Object { fields, .. }) => {
                let mut object = Object::new();
                for (name, field) in *fields {
                    object.insert((*name).to_owned(), self.value(*field, depth + 1)?);
                }
                Json::Object(object)
            }
            Value::Preserved(json) => self.value(Value::tree(json), depth)?,
            Value::Error(message) => return Err(JsonError::Value(message.to_owned())),
            Value::Duration(_) | Value::Timestamp(_) | Value::Type(_) | Value::Opaque(_) => {
                text(value).into()
            }
        })
    }

    fn list(&mut self, list: List<'_>, depth: usize) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        for item in list.iter() {
            items.push(self.value(item, depth + 1)?);
        }
        Ok(Json::Array(items))
    }

    fn map(&mut self, map: Map<'_>, depth: usize) -> Result<Json, JsonError> {
        let mut object = Object::new();
        for (key, value) in map.iter() {
            let Value::String(key) = key else {
                let go_type = cel::value::go_type(key);
                let key = quote(&text(key));
                return Err(JsonError::Key { key, go_type: go_type.to_string() });
            };
            self.spend(key)?;
            object.insert(key.to_owned(), self.value(value, depth + 1)?);
        }
        Ok(Json::Object(object))
    }
}

/// Converts a double. Whole numbers become JSON integers.
fn number(value: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return (value as i64).into();
    }
    jsontree::Number::from_f64(value).map_or_else(|| value.to_string().into(), Json::Number)
}

/// Error about type names that differ from the paths of their objects, one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct TypeMismatch(String);

/// Checks that each object's type name matches the field path to it.
///
/// # Errors
/// One line for each mismatch.
pub(super) fn check_types(value: Value<'_>) -> Result<(), TypeMismatch> {
    let Value::Opaque(Opaque::Object { type_name, .. }) = value else { return Ok(()) };
    let mut mismatches = String::new();
    let mut remaining = VALUES_MAX;
    check(value, &mut (*type_name).to_owned(), &mut mismatches, &mut remaining, 1);
    if mismatches.is_empty() { Ok(()) } else { Err(TypeMismatch(mismatches)) }
}

/// Returns without a result for values that the converter rejects.
fn check(value: Value<'_>, path: &mut String, mismatches: &mut String, remaining: &mut usize, depth: usize) {
    *remaining = remaining.saturating_sub(1);
    if *remaining == 0 || depth > DEPTH_MAX || path.len() > 64 * 1024 {
        return;
    }
    match value {
        Value::Opaque(Opaque::Object { type_name, fields }) => {
            if *type_name != path.as_str() && mismatches.len() < 64 * 1024 {
                let line = if mismatches.is_empty() { "" } else { "\n" };
                // Writing to a string cannot fail.
                _ = write!(
                    mismatches,
                    "{line}unexpected type name {}, expected {}, which matches field name path from root Object type",
                    quote(type_name),
                    quote(path)
                );
            }
            for (name, field) in *fields {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                check(*field, path, mismatches, remaining, depth + 1);
                path.truncate(length);
            }
        }
        // Values from the host contain no objects constructed by expressions.
        Value::List(list @ (List::Values(_) | List::Growing(_) | List::Concat(_))) => {
            list.iter().for_each(|item| check(item, path, mismatches, remaining, depth + 1));
        }
        Value::Map(map @ Map::Growing(_)) => {
            map.iter().for_each(|(_, item)| check(item, path, mismatches, remaining, depth + 1));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preserved_data_is_bounded() {
        let nested = |levels| (0..levels).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        let convert = |json: &Json| JsonConverter::new().json(Value::Preserved(json));
        let fits = nested(DEPTH_MAX - 1);
        assert_eq!(convert(&fits), Ok(fits.clone()));
        assert_eq!(convert(&nested(DEPTH_MAX)), Err(JsonError::TooDeep));
        assert_eq!(convert(&Json::Array(vec![Json::Null; VALUES_MAX])), Err(JsonError::TooLarge));
    }
}
