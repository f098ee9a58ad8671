//! Startup errors of a server.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use registry::client::LookupError;
use schema::configuration::ReadError;
use server::tls::TlsError;

/// Error of a configuration file, a manifest or an option, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigurationError(pub(crate) String);

impl From<ReadError> for ConfigurationError {
    fn from(error: ReadError) -> Self {
        ConfigurationError(error.to_string())
    }
}

impl From<client::Error> for ConfigurationError {
    fn from(error: client::Error) -> Self {
        ConfigurationError(error.to_string())
    }
}

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
    /// A controller cannot be created, or its work at start failed.
    #[error(transparent)]
    Controller(#[from] controllers::Error),
    /// The server does not serve a resource that it needs itself.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The aggregator cannot be created.
    #[error(transparent)]
    Aggregator(#[from] aggregator::Error),
    /// The client for requests of this server to itself cannot be created.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An option is invalid.
    #[error(transparent)]
    Option(#[from] ConfigurationError),
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
    Threads(#[source] io::Error),
    /// Signal handlers cannot be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] io::Error),
}

impl RunError {
    /// Wraps a read or write error of a file.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        RunError::File { path: path.to_owned(), source }
    }
}
