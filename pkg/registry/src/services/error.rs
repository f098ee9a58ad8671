//! Errors of repairs and of stored node ports.

use apimachinery::status::Status;
use schema::proto;

/// Error of stored node ports that cannot be decoded or encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AllocationError {
    /// The value is invalid Protobuf.
    #[error(transparent)]
    Protobuf(#[from] proto::Error),
    /// The value is an object of another kind.
    #[error("{api_version} {kind} is no RangeAllocation")]
    OtherKind {
        /// Version of the value.
        api_version: String,
        /// Kind of the value.
        kind: String,
    },
    /// The bitmap is invalid.
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
}

/// Error of a repair. Later repairs can succeed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Services or addresses cannot be read or written.
    #[error(transparent)]
    Status(#[from] Box<Status>),
    /// The stored node ports cannot be read or written.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The stored node ports cannot be decoded.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The stored range of node ports is invalid.
    #[error("{0:?} is no range of ports")]
    Range(String),
    /// Other servers changed the node ports in every attempt.
    #[error("the node ports changed while they were repaired")]
    Conflict,
    /// The address of a service cannot be allocated.
    #[error("{0}")]
    Address(String),
}
