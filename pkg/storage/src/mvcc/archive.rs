//! The present of a store whose keys lie elsewhere, in parts that are read when somebody asks for one of their keys.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use super::{Change, Millis};
use crate::Revision;

/// What a store held at one revision, kept where reading it takes a while.
///
/// Keys are divided into parts in byte order. A part has all keys from its [`first`](Part::first) one on that are
/// before the next part's.
pub trait Archive: Debug + Send + Sync {
    /// The revision of the last write.
    fn revision(&self) -> Revision;

    /// The change that made the revision; `None` if nothing was ever written. Its key is in a part, unless it was deleted.
    fn last(&self) -> Option<&Change>;

    /// The parts, in order. None of them is empty.
    fn parts(&self) -> &[Part];

    /// Reads a part: its keys in ascending order. It may wait for a disk.
    ///
    /// # Errors
    /// What is wrong with it, for the log and for whoever asked.
    fn read(&self, part: usize) -> Result<Vec<ArchivedKey>, String>;
}

/// What is known of a part that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its first key.
    pub first: Box<str>,
    /// How many keys there are.
    pub keys: u64,
    /// How long the key has left that expires first.
    pub soonest: Option<Millis>,
}

/// A key in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedKey {
    /// The key.
    pub key: Arc<str>,
    /// The revision of the write that made the value.
    pub mod_revision: Revision,
    /// The value.
    pub value: Bytes,
    /// How long the key has left, if it expires.
    pub left: Option<Millis>,
}
