//! Decoding errors with upstream's texts, and the API's messages around them.

use std::borrow::Cow;
use std::fmt::{self, Display};

use apimachinery::go_quote::{Quoted, quote};

use crate::memory::BudgetExceeded;
use crate::text::go_string;

/// A rejected body. Displays the text of upstream's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text that ends within a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// An unexpected character.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong JSON type, or a number that does not fit.
    #[error(transparent)]
    Type(Box<TypeError>),
    /// An invalid quantity, time, duration, base64, …
    #[error("{0}")]
    Value(String),
    /// The tree would exceed its memory budget.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// `apiVersion` and `kind` could not be read before decoding.
    #[error("couldn't get version/kind; json parse error: {0}")]
    TypeMeta(#[source] Box<Error>),
}

impl Error {
    /// True if the text is not valid JSON.
    pub fn is_syntax(&self) -> bool {
        matches!(self, Error::UnexpectedEnd | Error::Syntax(_))
    }
}

/// A JSON value of the wrong type for a Go type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TypeError {
    /// The JSON value: `string`, `object`, `number 5.5`, …
    pub value: Cow<'static, str>,
    /// The Go struct of the field, without package; empty at the top.
    pub struct_name: Cow<'static, str>,
    /// Path of the field from the top, including embedded structs, without list and map steps.
    pub field: String,
    /// The expected Go type, such as `int32`.
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

/// A decodable value that is probably a mistake: a warning, or an error for `fieldValidation=Strict`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    /// The kind of mistake.
    pub kind: StrictKind,
    /// The path, for example `spec.containers[0].imagePullPolice`.
    pub path: String,
}

/// The mistakes that strict decoding finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictKind {
    /// The type has no such member.
    UnknownField,
    /// The object repeats the member.
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

/// The strict validation error for all strict errors. YAML errors come first in the list.
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

/// Message of the 400 for a body with a known kind (in the body, or from the URL).
pub fn cannot_be_handled(kind: &str, version: &str, wanted_kind: &str, error: impl Display) -> String {
    format!("{kind} in version {} cannot be handled as a {wanted_kind}: {error}", Quoted(version))
}

/// Message of the 400 for a body whose kind could not be determined.
pub fn unrecognized(wanted_kind: &str, error: impl Display, body: &[u8]) -> String {
    let summary = summarize(body);
    format!("the object provided is unrecognized (must be of type {wanted_kind}): {error} ({summary})")
}

/// Message for a kind that is missing in the internal version of a group. Upstream names the scheme after the
/// source line that creates it.
pub fn not_registered_internal(kind: &str, group: &str, scheme: &str) -> String {
    let kind = Quoted(kind);
    let group = Quoted(group);
    format!("no kind {kind} is registered for the internal version of group {group} in scheme \"{scheme}\"")
}

/// Message for a kind that is not registered in any version of the scheme, named as above.
pub fn not_registered(kind: &str, api_version: &str, scheme: &str) -> String {
    let kind = Quoted(kind);
    let version = Quoted(api_version);
    format!("no kind {kind} is registered for version {version} in scheme \"{scheme}\"")
}

/// The start of a body, for messages: as text if it looks like JSON, otherwise in hexadecimal.
fn summarize(body: &[u8]) -> String {
    const LENGTH_MAX: usize = 30;
    let prefix = body.get(..LENGTH_MAX).unwrap_or(body);
    let more = if prefix.len() < body.len() { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", go_string(prefix)),
        Some(_) => {
            let hex: String = prefix.iter().map(|byte| format!("{byte:02x}")).collect();
            hex + more
        }
    }
}

/// The error for an unexpected character. A byte is shown as the code point with its number.
#[cold]
pub(super) fn syntax_error(c: u8, context: &str) -> Error {
    let character = match c {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        c => quote(char::from(c).encode_utf8(&mut [0; 4])).trim_matches('"').to_owned(),
    };
    Error::Syntax(format!("invalid character '{character}' {context}"))
}
