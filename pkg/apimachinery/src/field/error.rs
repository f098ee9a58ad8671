//! Field-level validation error: constructors named after upstream's, and the texts for `Status.message` and
//! `Status.details.causes`.
#![allow(clippy::arithmetic_side_effects)]

use super::Path;
use crate::go_quote::{Quoted, quote};
use crate::{go_json, go_number};
use jsontree::Value;
use std::collections::HashSet;
use std::fmt::{self, Display, Write};

/// Maximum length in bytes of a shortened text, for errors that do not fit into a `Status`.
pub(crate) const SHORTENED_BYTES_MAX: usize = 16 * 1024;

/// Type of a field error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// A referenced value does not exist.
    NotFound,
    /// A required value is missing (empty string, null, empty list).
    Required,
    /// A value that must be unique is not.
    Duplicate,
    /// A malformed value.
    Invalid,
    /// A value outside an enumeration.
    NotSupported,
    /// A well-formed value that is not permitted in this case.
    Forbidden,
    /// Too many bytes or characters; the message omits the value.
    TooLong,
    /// Too few characters.
    TooShort,
    /// Too many items; the message contains their number if it is known.
    TooMany,
    /// Too few items.
    TooFew,
    /// A failure that the user did not cause.
    Internal,
    /// A value of the wrong type, by the schema of a custom resource.
    TypeInvalid,
}

impl ErrorType {
    /// The cause type on the wire (`status.details.causes[].reason`).
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// Start of the message.
    pub const fn head(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }

    /// True if the message contains the bad value.
    const fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal)
    }
}

/// The bad value, as the message prints it.
///
/// Strings are quoted like in Go; numbers and booleans are bare; everything else is compact JSON. A struct
/// that upstream prints in the order of its Go fields is rendered by the caller and passed as
/// [`BadValue::Plain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// Not printed.
    Omitted,
    /// Printed between double quotes with Go's escapes.
    Quoted(String),
    /// Printed unchanged.
    Plain(String),
}

impl BadValue {
    /// Text of a named Go type, such as an enumeration, which upstream prints as JSON instead of with Go's
    /// escapes.
    pub fn json_text(text: &str) -> Self {
        let plain = text.bytes().all(|b| matches!(b, b' '..=b'~') && !br#""\<>&"#.contains(&b));
        if plain { Self::Quoted(text.to_owned()) } else { Self::Plain(go_json::encode(&Value::from(text))) }
    }
}

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        Self::Quoted(text.to_owned())
    }
}

impl From<String> for BadValue {
    fn from(text: String) -> Self {
        Self::Quoted(text)
    }
}

impl From<&String> for BadValue {
    fn from(text: &String) -> Self {
        Self::Quoted(text.clone())
    }
}

macro_rules! plain_from {
    ($($type:ty)*) => {$(
        impl From<$type> for BadValue {
            fn from(value: $type) -> Self {
                Self::Plain(value.to_string())
            }
        }
    )*};
}
plain_from!(i32 i64 u16 u32 u64 usize bool);

impl From<f64> for BadValue {
    fn from(value: f64) -> Self {
        Self::Plain(go_number::general(value))
    }
}

impl From<&Value> for BadValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Quoted(text.to_string()),
            Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().into(),
            other => Self::Plain(go_json::encode(other)),
        }
    }
}

/// Error of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorType,
    field: String,
    value: BadValue,
    detail: String,
}

impl Error {
    fn new(kind: ErrorType, path: &Path<'_>, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self { kind, field: path.to_string(), value: value.into(), detail: detail.into() }
    }

    /// A value is missing.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, path, BadValue::Omitted, detail)
    }

    /// A value is malformed.
    pub fn invalid(path: &Path<'_>, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, path, value, detail)
    }

    /// A value has the wrong type.
    pub fn type_invalid(path: &Path<'_>, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::TypeInvalid, path, value, detail)
    }

    /// A value is not one of the supported ones. They are printed in the given order; upstream sorts them in
    /// most places.
    pub fn not_supported<S: AsRef<str>>(
        path: &Path<'_>,
        value: impl Into<BadValue>,
        supported: &[S],
    ) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| quote(s.as_ref())).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(ErrorType::NotSupported, path, value, detail)
    }

    /// A value occurs twice.
    pub fn duplicate(path: &Path<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::Duplicate, path, value, "")
    }

    /// A reference does not resolve.
    pub fn not_found(path: &Path<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::NotFound, path, value, "")
    }

    /// A value is not permitted here.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, path, BadValue::Omitted, detail)
    }

    /// Upstream's `TooLong`: more than `max` bytes. Without a maximum, the text only contains that the value
    /// is too long.
    pub fn too_long(path: &Path<'_>, max: Option<usize>) -> Self {
        let detail = limit("may not be more than", max, "byte", "value is too long");
        Self::new(ErrorType::TooLong, path, BadValue::Omitted, detail)
    }

    /// Upstream's `TooLongCharacters`.
    pub fn too_long_characters(path: &Path<'_>, max: Option<usize>) -> Self {
        let detail = limit("may not be more than", max, "character", "value is too long");
        Self::new(ErrorType::TooLong, path, BadValue::Omitted, detail)
    }

    /// Fewer than `min` characters.
    pub fn too_short(path: &Path<'_>, min: Option<usize>) -> Self {
        let detail = limit("must be at least", min, "character", "value is too short");
        Self::new(ErrorType::TooShort, path, BadValue::Omitted, detail)
    }

    /// More than `max` items; `actual` is printed if known.
    pub fn too_many(path: &Path<'_>, actual: Option<usize>, max: Option<usize>) -> Self {
        let detail = limit("must have at most", max, "item", "has too many items");
        let value = actual.map_or(BadValue::Omitted, BadValue::from);
        Self::new(ErrorType::TooMany, path, value, detail)
    }

    /// Fewer than `min` items.
    pub fn too_few(path: &Path<'_>, actual: usize, min: Option<usize>) -> Self {
        let detail = limit("must have at least", min, "item", "has too few items");
        Self::new(ErrorType::TooFew, path, actual, detail)
    }

    /// A failure that the user did not cause.
    pub fn internal(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Internal, path, BadValue::Omitted, detail)
    }

    /// Type of the error.
    pub fn kind(&self) -> ErrorType {
        self.kind
    }

    /// The cause type on the wire (`status.details.causes[].reason`).
    pub fn reason(&self) -> &'static str {
        self.kind.reason()
    }

    /// Path of the field, as in `spec.ports[0].name`.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Text after the value; may be empty.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Memory of its texts in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        let value = match &self.value {
            BadValue::Omitted => 0,
            BadValue::Quoted(text) | BadValue::Plain(text) => text.len(),
        };
        self.field.len() + value + self.detail.len()
    }

    /// Cuts each text to [`SHORTENED_BYTES_MAX`].
    pub(crate) fn shortened(mut self) -> Self {
        cut(&mut self.field, SHORTENED_BYTES_MAX);
        cut(&mut self.detail, SHORTENED_BYTES_MAX);
        if let BadValue::Quoted(text) | BadValue::Plain(text) = &mut self.value {
            cut(text, SHORTENED_BYTES_MAX);
        }
        self
    }

    /// Inserts text before the detail, without a separator.
    pub fn with_detail_prefix(mut self, prefix: &str) -> Self {
        self.detail.insert_str(0, prefix);
        self
    }

    /// The message without the field: `Invalid value: "x": must be …`.
    pub fn body(&self) -> String {
        let mut out = self.kind.head().to_owned();
        if self.kind.shows_value() {
            let _ = match &self.value {
                BadValue::Omitted => Ok(()),
                BadValue::Quoted(text) => write!(out, ": {}", Quoted(text)),
                BadValue::Plain(text) => write!(out, ": {text}"),
            };
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for Error {}

fn limit(words: &str, bound: Option<usize>, unit: &str, unbounded: &str) -> String {
    match bound {
        None => unbounded.to_owned(),
        Some(1) => format!("{words} 1 {unit}"),
        Some(n) => format!("{words} {n} {unit}s"),
    }
}

/// Cuts a text that is longer than `bytes_max`, between two characters, and appends an ellipsis.
pub(crate) fn cut(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
        text.shrink_to_fit();
    }
}

/// Joins errors like upstream's aggregate: `None` for no errors, the text of a single one, otherwise all in
/// brackets. Repeated texts are printed once.
pub fn aggregate<'e>(errors: impl IntoIterator<Item = &'e Error>) -> Option<String> {
    let mut seen = HashSet::new();
    let mut texts: Vec<String> = errors.into_iter().map(Error::to_string).collect();
    texts.retain(|text| seen.insert(text.clone()));
    joined(texts)
}

/// Joins texts of errors like [`aggregate`].
pub fn joined(mut texts: Vec<String>) -> Option<String> {
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(format!("[{}]", texts.join(", "))),
    }
}

#[cfg(test)]
mod tests;
