//! The three patches that clients send: JSON patch, merge patch, strategic merge patch.
//!
//! A patch works on an object as its JSON value, in which verbatim JSON stands expanded:
//! [`expand`] makes that value of a tree, and [`crate::json::decode`] makes a tree of the patched
//! value's text ([`collapse`]). Patches are parsed once and applied as often as an update is tried.

mod expand;
mod go_format;
pub mod json_patch;
pub mod merge_patch;
pub mod strategic;

pub use expand::expand;

use serde_json::Value;

use crate::json::{self, Decoded, StrictError, TypeError};
use crate::json_write;
use crate::object::Object;
use crate::table::Message;

/// Why a patch was refused. Displays upstream's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is not well formed: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch asks for too much: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch does not fit the object: 422, with the generic message of that status; upstream
    /// keeps the text to itself.
    #[error("{0}")]
    DoesNotApply(String),
    /// Anything else: 500.
    #[error("{0}")]
    Failed(String),
}

/// The text of a patched value, which error messages quote, and the object that it stands for.
///
/// # Errors
/// The decoder's, when the patch put values where their types do not fit.
pub fn collapse(message: &'static Message, value: &Value) -> (Vec<u8>, Result<Decoded, json::Error>) {
    let mut text = Vec::new();
    if let Err(error) = json_write::untyped(value, &mut text) {
        return (text, Err(json::Error::Value(error.to_string())));
    }
    let decoded = json::decode(message, &text);
    (text, decoded)
}

/// Reads the body of a merge patch; `None` for `null`.
fn object_patch(text: &[u8]) -> Result<(Option<Object>, Vec<StrictError>), json::Error> {
    let untyped = json::decode_untyped(text)?;
    match untyped.value {
        Value::Object(object) => Ok((Some(object), untyped.strict)),
        Value::Null => Ok((None, untyped.strict)),
        other => Err(mismatch(&other, "", "map[string]interface {}")),
    }
}

/// Go's error for a value of the wrong type; `field` is a struct and its field, or empty.
fn mismatch(value: &Value, field: &'static str, go_type: &'static str) -> json::Error {
    let (struct_name, field) = field.split_once('.').unwrap_or_default();
    let value = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json::Error::Type(Box::new(TypeError {
        value: value.into(),
        struct_name: struct_name.into(),
        field: field.to_owned(),
        go_type: go_type.into(),
    }))
}

#[cfg(test)]
mod tests;
