//! YAML to JSON and back, as upstream does it: bodies become JSON before they are decoded, answers
//! are JSON before they become YAML.
//!
//! The dialect is the one of upstream's YAML library, which is older than YAML 1.2: `yes` is a
//! boolean, `0777` is octal, `<<` merges. Only the first document of a stream counts.

mod analyze;
mod build;
mod complaint;
mod counted;
mod directives;
mod emit;
mod encoding;
mod json_fast_path;
mod natural_order;
mod parse;
mod resolve;

use std::fmt::{self, Display};

use crate::json;
use crate::memory::{BudgetExceeded, DecodeBudget};

/// Why a text is no YAML that could become JSON. Displays upstream's text, as near as a different
/// parser comes to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bad syntax, or what JSON cannot have.
    #[error("{0}")]
    Text(String),
    /// What the text is made of would take too much memory.
    #[error(transparent)]
    NoRoom(#[from] BudgetExceeded),
}

impl Error {
    fn text(text: &str) -> Self {
        Error::Text(text.to_owned())
    }
}

/// JSON that was YAML.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlJson {
    /// The JSON text; members sorted.
    pub json: Vec<u8>,
    /// Keys that were given twice, of which the last counts; each one is a warning.
    pub duplicates: Vec<String>,
}

impl YamlJson {
    /// The one error that strict validation makes of all duplicates; it goes before the strict
    /// errors of the JSON decoder.
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

/// Converts the first document of YAML text to JSON. An empty text is `null`.
///
/// # Errors
/// Bad syntax, keys that JSON cannot have, documents whose aliases expand to too much, and texts of more parts than
/// their length has [`Room`] for.
pub fn to_json(text: &[u8]) -> Result<YamlJson, Error> {
    let text = encoding::decode(text)?;
    if text.chars().any(is_control) {
        return Err(Error::text("yaml: control characters are not allowed"));
    }
    if let Some(json) = json_fast_path::convert(&text) {
        return Ok(YamlJson { json, duplicates: Vec::new() });
    }
    directives::check(&text)?;
    let document = parse::document(&text, &mut DecodeBudget::of_body(text.len()))?;
    build::json(&document)
}

/// Characters that may stand in YAML text only as escapes.
fn is_control(c: char) -> bool {
    let allowed =
        matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    !allowed
}

/// Converts JSON text to YAML text, which is appended to `out`.
///
/// # Errors
/// The text is no JSON, or nests deeper than [`json::TREE_DEPTH_MAX`].
pub fn from_json(text: &[u8], out: &mut Vec<u8>) -> Result<(), json::Error> {
    emit::document(text, out)
}

#[cfg(test)]
mod tests;
