//! Errors of configuration files and objects, and causes of rejections.

use schema::configuration::ReadError;

/// Error in the configuration file of a plugin. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The text cannot be decoded.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text is not valid YAML or JSON, or a member has the wrong type.
    #[error("{0}")]
    Decode(String),
    /// The configuration breaks a rule.
    #[error("{0}")]
    Invalid(String),
}

/// Error of encoding an object, or of decoding it after an edit. The text is upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ObjectError(pub String);

/// Cause of a rejection, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Rejection(pub(crate) String);
