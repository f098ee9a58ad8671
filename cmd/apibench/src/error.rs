//! The one error of the command: what went wrong, in words for the person who runs it.

use std::time::Duration;

/// Why a request, a workload or the run failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line, a file it names, or a URL makes no sense.
    #[error("{0}")]
    Usage(String),
    /// No connection: address, TCP or TLS.
    #[error("connect to {to}: {why}")]
    Connect {
        /// Host and port.
        to: String,
        /// What the system or TLS said.
        why: String,
    },
    /// The HTTP/2 connection or stream broke.
    #[error("http: {0}")]
    Http(String),
    /// No complete answer within the time allowed.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// An answer came, and it is not the right one.
    #[error("{0}")]
    Wrong(String),
    /// The server says that it does not do this; the workload is skipped, not failed.
    #[error("skipped: {0}")]
    Unsupported(String),
    /// A file or process could not be read or started.
    #[error("{what}: {why}")]
    Io {
        /// The path or command.
        what: String,
        /// What the system said.
        why: std::io::Error,
    },
}

impl Error {
    /// An I/O error on `what`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |why| Self::Io { what, why }
    }
}

impl From<hyper::Error> for Error {
    /// Keeps the causes, which hyper leaves out of its own text.
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

/// Result with this command's error.
pub(crate) type Result<T> = std::result::Result<T, Error>;
