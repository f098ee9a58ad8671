//! The three patch types: JSON patch, merge patch, strategic merge patch.
//!
//! JSON patch and merge patch operate on the object's JSON text, and the result is decoded like a request
//! body. A strategic merge patch operates on the object's value ([`expand`]); [`typed::object`] converts the
//! result back to an object. The rules of the two conversions differ. The patch is parsed again for each
//! update attempt.

mod document;
pub(crate) mod expand;
mod go_format;
pub mod json_patch;
mod list;
mod members;
pub mod merge_patch;
mod part;
pub mod strategic;
pub mod typed;

pub use expand::expand;
pub use part::Part;

use std::borrow::Borrow;

use jsontree::Value;

use crate::json::scan::Scanner;
use crate::json::{self, Decoded, StrictError, TypeError};
use crate::json_write;
use crate::object::Object;
use crate::table::Message;

/// A rejected patch. Displays upstream's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is malformed: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch exceeds a limit: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch cannot be applied to the object: 422, with the status' generic message; upstream does not
    /// return this text.
    #[error("{0}")]
    DoesNotApply(String),
    /// Anything else: 500.
    #[error("{0}")]
    Failed(String),
}

impl From<json_write::Error> for Error {
    fn from(error: json_write::Error) -> Self {
        match error {
            json_write::Error::TooDeep => Error::DoesNotApply(error.to_string()),
            json_write::Error::NoRoom(error) => Error::TooLarge(error.to_string()),
            error => Error::Failed(error.to_string()),
        }
    }
}

/// Converts a value to an object, as if its text were decoded. An owned value is dropped before the object is
/// built, because both can be large.
///
/// # Errors
/// Decoding errors, for values of the wrong type from the patch.
pub fn collapse(message: &'static Message, value: impl Borrow<Value>) -> Result<Decoded, json::Error> {
    let mut text = Vec::new();
    json_write::untyped(value.borrow(), &mut text).map_err(|error| json::Error::Value(error.to_string()))?;
    drop(value);
    json::decode(message, &text)
}

/// The JSON text of an object, as served.
///
/// # Errors
/// The object contains invalid verbatim JSON, or is nested too deeply.
pub fn text(message: &'static Message, object: &Object) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    json_write::encode(message, object, &mut text)?;
    Ok(text)
}

/// Parses the body of a merge patch; `None` for `null`.
fn object_patch(text: &[u8]) -> Result<(Option<Object>, Vec<StrictError>), json::Error> {
    let mut scan = Scanner::new(text);
    match scan.value_start()? {
        b'{' => {}
        start => {
            scan.skip()?;
            scan.end()?;
            return if start == b'n' {
                Ok((None, Vec::new()))
            } else {
                Err(mismatch(start, "map[string]interface {}"))
            };
        }
    }
    let untyped = json::decode_untyped(text)?;
    let object = if let Value::Object(object) = untyped.value { object } else { Object::new() };
    Ok((Some(object), untyped.strict))
}

/// Go's error for a value of the wrong type, given its first byte.
fn mismatch(start: u8, go_type: &'static str) -> json::Error {
    json::Error::Type(Box::new(TypeError {
        value: json::kind_of(start).into(),
        struct_name: "".into(),
        field: String::new(),
        go_type: go_type.into(),
    }))
}

#[cfg(test)]
mod depth;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
