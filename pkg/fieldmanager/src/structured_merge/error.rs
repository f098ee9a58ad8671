//! Errors of updates and applies in structured merge. The texts are upstream's.

use super::conflict::Conflicts;

/// A failed conversion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The version does not exist. Managers with fields of this version are dropped.
    #[error("no such version")]
    Missing,
    /// With its verbatim JSON, the object exceeds a limit of depth or memory.
    #[error("{0}")]
    Limit(String),
    /// Any other failure, with upstream's text.
    #[error("{0}")]
    Failed(String),
}

/// Error of a conversion, comparison or merge of objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpdateError(String);

impl UpdateError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        UpdateError(text.into())
    }
}

/// A failed apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields that the apply would change.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The objects cannot be converted, compared or merged.
    #[error(transparent)]
    Failed(#[from] UpdateError),
}
