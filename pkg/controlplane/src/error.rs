//! Why a server does not start.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use server::tls::TlsError;

/// Why a server does not start, or stops by itself. The text is for its operator.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address cannot be listened on.
    #[error("failed to create listener: failed to listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A file with credentials is not what it should be.
    #[error("{0}")]
    Credentials(String),
    /// A file that says how the server is to behave does not.
    #[error("{0}")]
    Configuration(String),
    /// The store cannot be opened.
    #[error("cannot open the store: {0}")]
    Store(#[from] storage::Error),
    /// The store did not answer at start.
    #[error("the store did not answer within {0:?}")]
    StoreSilent(Duration),
    /// What has to be there before the first request could not be made.
    #[error("{0}")]
    Bootstrap(String),
    /// The system gives no more threads.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// Signals cannot be listened for.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
}

impl RunError {
    /// A file that cannot be read or written.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        RunError::File { path: path.to_owned(), source }
    }
}
