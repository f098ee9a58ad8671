//! The error type of the command; its texts are for the user.

use std::time::Duration;

/// Failure of a request, a workload or the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line, a file in it, or a URL is invalid.
    #[error("{0}")]
    Usage(String),
    /// Connecting failed: address, TCP or TLS.
    #[error("connect to {to}: {why}")]
    Connect {
        /// Host and port.
        to: String,
        /// Error of the system or of TLS.
        why: String,
    },
    /// The HTTP/2 connection or stream broke.
    #[error("http: {0}")]
    Http(String),
    /// No complete response within the timeout.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The response is not the expected one.
    #[error("{0}")]
    Wrong(String),
    /// The server does not support this; the workload is skipped, not failed.
    #[error("skipped: {0}")]
    Unsupported(String),
    /// A file or process could not be read or started.
    #[error("{what}: {why}")]
    Io {
        /// The path or command.
        what: String,
        /// Error of the system.
        why: std::io::Error,
    },
}

impl Error {
    /// Wraps an I/O error with the path or command `what`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |why| Self::Io { what, why }
    }
}

impl From<hyper::Error> for Error {
    /// Keeps the causes, which hyper omits from its text.
    fn from(error: hyper::Error) -> Self {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self::Http(text)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
