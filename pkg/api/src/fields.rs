//! Field selectors of each kind.

use apimachinery::go_quote::quote;
use thiserror::Error;

use crate::resources::{Resource, UnknownLabel};

/// Converts the field label of a request to the one that selection uses.
///
/// # Errors
/// No object of the kind can be selected by the label.
pub fn convert_label<'l>(row: &Resource, label: &'l str) -> Result<&'l str, FieldLabelError> {
    if row.field_selectors.iter().any(|(supported, _)| *supported == label) {
        return Ok(label);
    }
    if row.custom.is_some() {
        return Err(FieldLabelError::Plain(label.to_owned()));
    }
    let common = ["metadata.name", "metadata.namespace"];
    if row.field_selectors.iter().all(|(supported, _)| common.contains(supported)) {
        return Err(FieldLabelError::OnlyCommon(quote(label)));
    }
    Err(match row.unknown_label {
        UnknownLabel::Job => FieldLabelError::Job(quote(label)),
        UnknownLabel::OfVersion => FieldLabelError::OfVersion {
            api_version: row.group_version.to_owned(),
            kind: row.kind.to_owned(),
            label: label.to_owned(),
        },
        UnknownLabel::Plain => FieldLabelError::Plain(label.to_owned()),
    })
}

/// Error about an unknown field label: the text of the 400. Kinds with only the two common labels have a
/// different text from those with labels of their own, because upstream converts them in different places.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldLabelError {
    /// The label, as it is.
    #[error("field label not supported: {0}")]
    Plain(String),
    /// The label in quotes, of a kind without labels of its own.
    #[error("{0} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    OnlyCommon(String),
    /// The label in quotes, of a `Job`.
    #[error("field label {0} not supported for Job")]
    Job(String),
    /// The label of a kind whose text has its version.
    #[error("field label not supported for {api_version}, Kind={kind}: {label}")]
    OfVersion {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// The label, as it is.
        label: String,
    },
}
