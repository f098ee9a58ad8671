//! YAML to JSON and back, as in upstream: bodies become JSON before they are decoded, responses are JSON
//! before they become YAML.
//!
//! The dialect is that of upstream's YAML library, which predates YAML 1.2: `yes` is a boolean, `0777` is
//! octal, `<<` merges. Only the first document of a stream is used.

mod analyze;
mod build;
mod counted_input;
mod directives;
mod emit;
mod encoding;
mod json_fast_path;
mod natural_order;
mod parse;
mod resolve;
mod upstream_error;

use std::fmt::{self, Display};

use crate::json;
use crate::memory::{BudgetExceeded, DecodeBudget};

/// A YAML error. Displays upstream's text as closely as a different parser allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Invalid syntax, or a value without a JSON equivalent.
    #[error("{0}")]
    Text(String),
    /// The document would exceed its memory budget.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
}

impl Error {
    fn text(text: &str) -> Self {
        Error::Text(text.to_owned())
    }
}

/// JSON converted from YAML.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlJson {
    /// The JSON text; members sorted.
    pub json: Vec<u8>,
    /// Duplicate keys, of which the last one wins; each is a warning.
    pub duplicates: Vec<String>,
}

impl YamlJson {
    /// The strict validation error for all duplicates; it precedes the strict errors of the JSON decoder.
    pub fn strict_error(&self) -> Option<impl Display> {
        (!self.duplicates.is_empty()).then(|| StrictError(&self.duplicates))
    }
}

struct StrictError<'a>(&'a [String]);

impl Display for StrictError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("yaml: unmarshal errors:")?;
        self.0.iter().try_for_each(|duplicate| write!(f, "\n  {duplicate}"))
    }
}

/// Converts the first document of a YAML text to JSON. An empty text becomes `null`.
///
/// # Errors
/// Invalid syntax, keys that JSON does not allow, aliases that expand to too much data, and texts that exceed
/// the memory budget ([`DecodeBudget`]) of their length.
pub fn to_json(text: &[u8]) -> Result<YamlJson, Error> {
    let text = encoding::decode(text)?;
    if text.chars().any(is_control) {
        return Err(Error::text("yaml: control characters are not allowed"));
    }
    if let Some(converted) = json_fast_path::convert(&text) {
        return Ok(YamlJson { json: converted?, duplicates: Vec::new() });
    }
    directives::check(&text)?;
    let document = parse::document(&text, &mut DecodeBudget::of_body(text.len()))?;
    build::json(&document)
}

/// True for characters that YAML text may contain only as escapes.
fn is_control(c: char) -> bool {
    let allowed =
        matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    !allowed
}

/// Converts JSON to YAML and appends it to `out`.
///
/// # Errors
/// The text is not valid JSON, or is nested deeper than [`json::TREE_DEPTH_MAX`].
pub fn from_json(text: &[u8], out: &mut Vec<u8>) -> Result<(), json::Error> {
    emit::document(text, out)
}

#[cfg(test)]
mod tests;
