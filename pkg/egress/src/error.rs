//! Failures to read the egress configuration and to dial through a proxy.

use apimachinery::foreign_text::ForeignText;

/// The texts are those of upstream's messages and exits.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be decoded or breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The proxy cannot be reached, or it does not connect to the target.
    #[error("{0}")]
    Dial(ForeignText),
    #[error("{message}")]
    File { message: String, source: std::io::Error },
    #[error(transparent)]
    Decode(#[from] schema::configuration::ReadError),
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Grpc(#[from] grpc::Error),
}

impl Error {
    /// Creates [`Error::Dial`].
    pub(crate) fn dial(text: impl Into<ForeignText>) -> Self {
        Error::Dial(text.into())
    }
}
