//! Field selectors of each kind.

use crate::resources::{Resource, UnknownLabel};

/// Converts the field label of a request to the one that selection uses.
///
/// # Errors
/// The text for the 400. Kinds with only the two common labels have a different text from those with labels
/// of their own, because upstream converts them in different places.
pub fn convert_label<'l>(row: &Resource, label: &'l str) -> Result<&'l str, String> {
    if row.field_selectors.iter().any(|(known, _)| *known == label) {
        return Ok(label);
    }
    if row.custom.is_some() {
        return Err(format!("field label not supported: {label}"));
    }
    let common = ["metadata.name", "metadata.namespace"];
    if row.field_selectors.iter().all(|(known, _)| common.contains(known)) {
        let quoted = apimachinery::go_quote::quote(label);
        return Err(format!(
            "{quoted} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ));
    }
    Err(match row.unknown_label {
        UnknownLabel::Job => {
            format!("field label {} not supported for Job", apimachinery::go_quote::quote(label))
        }
        UnknownLabel::OfVersion => {
            format!("field label not supported for {}, Kind={}: {label}", row.group_version, row.kind)
        }
        UnknownLabel::Plain => format!("field label not supported: {label}"),
    })
}
