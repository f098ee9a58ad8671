//! Errors of controllers.

use std::time::Duration;

use registry::client::LookupError;
use registry::services::RepairError;

use crate::loopback_client::RequestError;
use apimachinery::status::Status;

/// Error of a controller. Most are retried; one at start terminates the process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server does not serve a resource that the controller needs.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// An API or an option that the controller needs is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// A file or the data of a kind is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An object cannot be read or written.
    #[error(transparent)]
    Status(#[from] Box<Status>),
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The credentials for other servers are unusable.
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Repair(#[from] RepairError),
    /// A request of this server to itself failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("not done after {0:?}")]
    Timeout(Duration),
    #[error("unable to perform initial IP and Port allocation check")]
    FirstRepair,
    /// Writing would remove all endpoints.
    #[error(
        "no API server IP addresses were listed in storage, refusing to erase all endpoints \
         for the kubernetes Service"
    )]
    NoAddresses,
    /// A step failed.
    #[error("{step}: {source}")]
    Step { step: String, source: Box<Error> },
}

impl Error {
    /// Adds the step that failed.
    pub(crate) fn context(self, step: impl Into<String>) -> Self {
        Error::Step { step: step.into(), source: Box::new(self) }
    }
}
