//! Errors of the flags.

/// Error of the flags, in upstream's wording. Several errors are joined in one text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct OptionError(pub(crate) String);
