//! Startup errors of a server.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use server::tls::TlsError;

/// Reason why a server does not start, or stops by itself. The text is for its operator.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to create listener: failed to listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A credentials file is invalid.
    #[error("{0}")]
    Credentials(String),
    /// A configuration file is invalid.
    #[error("{0}")]
    Configuration(String),
    /// The store cannot be opened.
    #[error("cannot open the store: {0}")]
    Store(#[from] storage::Error),
    /// The store did not respond at start.
    #[error("the store did not answer within {0:?}")]
    StoreSilent(Duration),
    /// A prerequisite of the first request could not be created.
    #[error("{0}")]
    Bootstrap(String),
    /// The system cannot create more threads.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// Signal handlers cannot be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
}

impl RunError {
    /// Wraps a read or write error of a file.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        RunError::File { path: path.to_owned(), source }
    }
}
