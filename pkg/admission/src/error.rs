//! Errors of configuration files and objects, and causes of rejections.

use apimachinery::status::Status;
use schema::configuration::ReadError;
use schema::json::TypeError;

/// Error in the configuration file of a plugin. The texts are upstream's.
#[derive(Debug, thiserror::Error)]
pub enum PluginConfigurationError {
    /// The text cannot be decoded.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] schema::yaml::Error),
    /// The text is not valid JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A member has the wrong type.
    #[error(transparent)]
    Type(#[from] Box<TypeError>),
    /// The configuration breaks a rule.
    #[error("{0}")]
    Invalid(String),
}

/// Error of encoding an object, or of decoding it after an edit. The text is upstream's.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The object cannot be encoded.
    #[error(transparent)]
    Encode(#[from] schema::patch::Error),
    /// The text is not an object of its kind.
    #[error(transparent)]
    Decode(Box<dyn std::error::Error + Send + Sync>),
    /// The object cannot be converted.
    #[error(transparent)]
    Convert(#[from] Box<Status>),
}

/// Cause of a rejection, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RejectionReason(pub(crate) String);
