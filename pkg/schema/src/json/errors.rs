//! What decoding can complain about, in upstream's words, and the sentences that the API wraps around
//! it.

use std::borrow::Cow;
use std::fmt::{self, Display};

use apimachinery::go_quote::{Quoted, quote};

use crate::memory::BudgetExceeded;
use crate::text::go_string;

/// Why a body was refused. Displays the text that upstream's decoder has for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text ends inside a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A character that cannot stand where it stands.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong JSON type, or a number that does not fit.
    #[error("{0}")]
    Type(Box<TypeError>),
    /// A text that is no quantity, time, duration, base64, …
    #[error("{0}")]
    Value(String),
    /// The tree would take too much memory.
    #[error(transparent)]
    NoRoom(#[from] BudgetExceeded),
    /// The search for `apiVersion` and `kind`, which comes before decoding, failed.
    #[error("couldn't get version/kind; json parse error: {0}")]
    TypeMeta(Box<Error>),
}

impl Error {
    /// Whether the text is no JSON at all.
    pub fn is_syntax(&self) -> bool {
        matches!(self, Error::UnexpectedEnd | Error::Syntax(_))
    }
}

/// A JSON value met a Go type that cannot hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// The JSON value: `string`, `object`, `number 5.5`, …
    pub value: Cow<'static, str>,
    /// The Go struct whose field it was meant for, without package; empty at the top.
    pub struct_name: Cow<'static, str>,
    /// Path of the field from the top, embedded structs included, list and map steps left out.
    pub field: String,
    /// The Go type.
    pub go_type: Cow<'static, str>,
}

impl Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeError { value, struct_name, field, go_type } = self;
        if struct_name.is_empty() && field.is_empty() {
            return write!(f, "json: cannot unmarshal {value} into Go value of type {go_type}");
        }
        write!(
            f,
            "json: cannot unmarshal {value} into Go struct field {struct_name}.{field} of type {go_type}"
        )
    }
}

/// Something that decodes but is most likely a mistake: a warning, or with
/// `fieldValidation=Strict` a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    /// What it is.
    pub kind: StrictKind,
    /// Where it is, for example `spec.containers[0].imagePullPolice`.
    pub path: String,
}

/// The mistakes that strict decoding finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictKind {
    /// No such member in the type.
    UnknownField,
    /// A member given twice.
    DuplicateField,
}

impl Display for StrictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StrictKind::UnknownField => "unknown field",
            StrictKind::DuplicateField => "duplicate field",
        })
    }
}

impl Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, Quoted(&self.path))
    }
}

/// The one error that strict validation makes of all strict errors. YAML's own complaints come
/// first in the list.
pub fn strict_decoding_error<E: Display>(errors: impl IntoIterator<Item = E>) -> String {
    let mut text = String::from("strict decoding error: ");
    for (index, error) in errors.into_iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&error.to_string());
    }
    text
}

/// Message of the 400 for a body whose kind is known (given, or taken from the URL).
pub fn cannot_be_handled(kind: &str, version: &str, wanted_kind: &str, error: impl Display) -> String {
    format!("{kind} in version {} cannot be handled as a {wanted_kind}: {error}", Quoted(version))
}

/// Message of the 400 for a body whose kind could not be found out.
pub fn unrecognized(wanted_kind: &str, error: impl Display, body: &[u8]) -> String {
    let summary = summarize(body);
    format!("the object provided is unrecognized (must be of type {wanted_kind}): {error} ({summary})")
}

/// Message for a kind in upstream's own version of a group that does not have it. The scheme is named
/// after the line of upstream's source that makes it.
pub fn not_registered_internal(kind: &str, group: &str, scheme: &str) -> String {
    let (kind, group) = (Quoted(kind), Quoted(group));
    format!("no kind {kind} is registered for the internal version of group {group} in scheme \"{scheme}\"")
}

/// Message for a kind that no version of the scheme has, which is named as above.
pub fn not_registered(kind: &str, api_version: &str, scheme: &str) -> String {
    let (kind, version) = (Quoted(kind), Quoted(api_version));
    format!("no kind {kind} is registered for version {version} in scheme \"{scheme}\"")
}

/// The start of a body, for messages: as text when it looks like JSON, else in hexadecimal.
fn summarize(body: &[u8]) -> String {
    const LENGTH_MAX: usize = 30;
    let shown = body.get(..LENGTH_MAX).unwrap_or(body);
    let more = if shown.len() < body.len() { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", go_string(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            hex + more
        }
    }
}

/// The error for a character at the wrong place. A byte is shown as the code point of its number.
#[cold]
pub(super) fn syntax_error(c: u8, context: &str) -> Error {
    let shown = match c {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        c => quote(char::from(c).encode_utf8(&mut [0; 4])).trim_matches('"').to_owned(),
    };
    Error::Syntax(format!("invalid character '{shown}' {context}"))
}
