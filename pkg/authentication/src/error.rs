//! Errors of authenticators.

use apimachinery::foreign_text::ForeignText;
use schema::configuration::ReadError;

use crate::service_account::SignerError;

/// Error of a credential, or of its authenticator. The texts are those of upstream's messages. They can quote tokens,
/// issuers and webhooks, so they are bounded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The credential is invalid.
    #[error("{0}")]
    Credential(ForeignText),
    /// An authenticator is misconfigured. The server must not start.
    #[error("{0}")]
    Configuration(String),
    /// An issuer, a webhook or the store cannot be reached, or its response is unusable. A later request can succeed.
    #[error("{0}")]
    Unavailable(ForeignText),
    /// The keys of an issuer cannot be fetched.
    #[error("fetching keys {0}")]
    FetchKeys(#[source] Box<Error>),
    /// A token cannot be signed.
    #[error("{0}")]
    Signing(String),
    /// The external signer failed.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// A configuration file cannot be decoded.
    #[error(transparent)]
    Decode(#[from] ReadError),
    /// A step of the authentication failed.
    #[error("{step}: {source}")]
    Step { step: String, source: Box<Error> },
}

impl Error {
    /// Creates [`Error::Credential`].
    pub(crate) fn credential(text: impl Into<ForeignText>) -> Self {
        Error::Credential(text.into())
    }

    /// Creates [`Error::Unavailable`].
    pub(crate) fn unavailable(text: impl Into<ForeignText>) -> Self {
        Error::Unavailable(text.into())
    }

    /// Adds the step that failed.
    pub(crate) fn context(self, step: impl Into<String>) -> Self {
        Error::Step { step: step.into(), source: Box::new(self) }
    }
}
