//! Generator of the table of declarative validation rules. It reads `declarative.json` and `types.json` of a facts
//! folder, and orders the rules of a field as upstream's `validation-gen` emits them.

mod facts;
mod rule;
mod table;

use std::path::Path;

use crate::error::Error;

/// Returns the text of `pkg/kinds/src/declarative/table.rs`.
///
/// # Errors
/// An unreadable file, or a rule that the evaluator does not have.
pub(crate) fn table(inputs: &[&Path]) -> Result<Vec<u8>, Error> {
    let declarative = inputs.first().copied().unwrap_or(Path::new("declarative.json"));
    let facts = facts::Facts::read(declarative)?;
    table::text(&facts).map(String::into_bytes)
}
