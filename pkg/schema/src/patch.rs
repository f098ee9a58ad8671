//! The three patches that clients send: JSON patch, merge patch, strategic merge patch.
//!
//! JSON patch and merge patch work on the object's JSON text, and what comes out is decoded like a
//! body. A strategic merge patch works on its value ([`expand`]), which [`typed::object`] makes an
//! object of again; the rules of the two differ. Each attempt at an update reads its patch anew.

mod document;
pub(crate) mod expand;
mod go_format;
pub mod json_patch;
mod list;
pub mod merge_patch;
pub mod strategic;
pub mod typed;

pub use expand::expand;

use std::borrow::Borrow;

use jsontree::Value;

use crate::json::scan::Scanner;
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

/// The object that a value stands for: what decoding its text gives. A value that is handed over is gone before the
/// object is made, for both are large where either is.
///
/// # Errors
/// The decoder's, when the patch put values where their types do not fit.
pub fn collapse(message: &'static Message, value: impl Borrow<Value>) -> Result<Decoded, json::Error> {
    let mut text = Vec::new();
    json_write::untyped(value.borrow(), &mut text).map_err(|error| json::Error::Value(error.to_string()))?;
    drop(value);
    json::decode(message, &text)
}

/// The JSON text of an object, as it is served.
///
/// # Errors
/// The object holds verbatim JSON that is no JSON, or nests too deep.
pub fn text(message: &'static Message, object: &Object) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    json_write::encode(message, object, &mut text).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(text)
}

/// Reads the body of a merge patch; `None` for `null`.
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
mod properties;
#[cfg(test)]
mod tests;
