//! Errors of address allocations.

use std::net::IpAddr;

use apimachinery::status::Status;

/// Error of an allocation, in upstream's wording.
#[derive(Debug, thiserror::Error)]
pub(super) enum AddressError {
    #[error("provided IP is already allocated")]
    Allocated,
    /// The address is in no range that is ready.
    #[error("the provided network does not match the current range")]
    NoRange,
    #[error("the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}")]
    NotInRange { address: IpAddr, range: String },
    #[error("allocator not ready")]
    NotReady,
    #[error("range is full")]
    Full,
    /// The IPAddress object could not be created.
    #[error(transparent)]
    Rejected(Box<Status>),
    /// A storage error, independent of the service.
    #[error(transparent)]
    Failed(Box<Status>),
}

impl From<Box<Status>> for AddressError {
    fn from(status: Box<Status>) -> Self {
        match status.code {
            429 | 500.. => AddressError::Failed(status),
            _ => AddressError::Rejected(status),
        }
    }
}
