//! Errors of requests to backends.

use apimachinery::foreign_text::ForeignText;

/// Error of a request to a backend, in the wording of Go's client, because clients see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The connection failed.
    #[error("{0}")]
    Dial(ForeignText),
    /// The connection was established, but the exchange failed.
    #[error("{0}")]
    Exchange(ForeignText),
}

impl From<client::Error> for NetworkError {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Connect(error) => NetworkError::Dial(error),
            other => NetworkError::Exchange(ForeignText::displayed(other)),
        }
    }
}

/// Error of a target URL. Clients can choose its port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("dial tcp: lookup tcp/{0}: unknown port")]
    UnknownPort(String),
    #[error("dial tcp: lookup {0}: no such host")]
    NoSuchHost(String),
}
