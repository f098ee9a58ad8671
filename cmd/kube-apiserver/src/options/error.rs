//! Errors of the flags.

use std::io;

use component_base::features::ReleaseError;
use controlplane::run::ConfigurationError;
use server::metrics::ManifestError;

use crate::flags::ValueError;
use crate::temporary::TemporaryDirError;

/// Error of the flags, in upstream's wording.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptionError {
    /// The flags break rules. Holds one text for each.
    #[error("{}", joined(.0))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("invalid value of {name}={value}, err: {source}")]
    Gate { name: String, value: String, source: ValueError },
    #[error("{message}")]
    File { message: String, source: io::Error },
    #[error(transparent)]
    Authorization(#[from] authorization::Error),
    #[error("failed to parse allow list manifest: {0}")]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(transparent)]
    TemporaryDir(#[from] TemporaryDirError),
}

impl OptionError {
    /// Creates the error for one broken rule.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        OptionError::Invalid(vec![text.into()])
    }
}

fn joined(texts: &[String]) -> String {
    match texts {
        [one] => one.clone(),
        texts => format!("[{}]", texts.join(", ")),
    }
}
