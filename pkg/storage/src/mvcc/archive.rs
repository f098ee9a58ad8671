//! Contents of a store that are kept elsewhere, in parts that are read on demand.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use super::{Change, Millis};
use crate::Revision;

/// Error of an unreadable archive. The text is for the log and for the caller.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A part cannot be read, for this reason of the implementation.
    #[error(transparent)]
    Part(Box<dyn std::error::Error + Send + Sync>),
    /// The parts contradict each other.
    #[error("two keys have the same revision")]
    RepeatedRevision,
}

/// The contents of a store at one revision, in a place where reading takes a while.
///
/// Keys are divided into parts in byte order. A part contains all keys from its [`first`](Part::first) one up
/// to the next part's.
pub trait Archive: Debug + Send + Sync {
    /// The revision of the last write.
    fn revision(&self) -> Revision;

    /// The change at the revision; `None` if nothing was ever written. Its key is in a part, unless it was
    /// deleted.
    fn last(&self) -> Option<&Change>;

    /// The parts in order, none of them empty.
    fn parts(&self) -> &[PartInfo];

    /// Reads a part: its keys in ascending order. May block on a disk.
    ///
    /// # Errors
    /// [`ArchiveError`].
    fn read(&self, part: usize) -> Result<Vec<ArchivedKey>, ArchiveError>;
}

/// Metadata of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartInfo {
    /// First key of the part.
    pub first: Box<str>,
    /// Number of keys, at least 1.
    pub keys: u64,
    /// Remaining time of the key that expires first.
    pub first_expiry: Option<Millis>,
}

/// A key in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedKey {
    /// Full key.
    pub key: Arc<str>,
    /// The revision of the value's write.
    pub mod_revision: Revision,
    /// The stored bytes.
    pub value: Bytes,
    /// Remaining time, if the key expires.
    pub ttl: Option<Millis>,
}
