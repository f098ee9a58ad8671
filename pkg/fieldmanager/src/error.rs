//! Errors of updates and applies.

use apimachinery::status::Status;

use super::structured_merge::UpdateError;

/// A failed update or apply. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The apply is rejected, or defaults cannot be set: the complete response.
    #[error("{}", .0.message)]
    Status(Box<Status>),
    /// Owners cannot be computed.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// Objects or their managed fields cannot be converted, decoded or encoded; upstream returns 500 with the
    /// text.
    #[error("{0}")]
    Failed(String),
}

impl From<Error> for Box<Status> {
    fn from(error: Error) -> Self {
        match error {
            Error::Status(status) => status,
            error => Box::new(Status::unmapped(error.to_string())),
        }
    }
}
