//! Which source answers a read.

use std::sync::Arc;

use storage::{KeyValue, Lookup, Revision, Storage};

/// How fresh an answer must be (KEP-2340 and the list semantics of the API).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// At least as new as everything acknowledged before the request.
    Consistent,
    /// Any state at or after this revision; 0 takes any state at all.
    NotOlderThan(Revision),
    /// Exactly the state at this revision.
    Exact(Revision),
}

/// Decides whether a stored pair is wanted. An error says that the value could not be read.
pub type Filter = Arc<dyn Fn(&KeyValue) -> Result<bool, String> + Send + Sync>;

/// Why a read failed.
#[derive(Debug, Clone)]
pub enum Error {
    /// The store's own failure.
    Storage(storage::Error),
    /// A revision was asked for that the store has not reached.
    FutureRevision {
        /// What was asked for.
        requested: Revision,
        /// What there is.
        current: Revision,
    },
    /// A stored value cannot be read.
    Corrupt {
        /// Its key.
        key: String,
        /// What is wrong with it.
        message: String,
    },
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Self {
        match error {
            storage::Error::FutureRevision { requested, current } => {
                Error::FutureRevision { requested, current }
            }
            other => Error::Storage(other),
        }
    }
}

/// Answers reads of one store.
#[derive(Clone)]
pub struct Delegator {
    pub(crate) store: Arc<dyn Storage>,
}

impl Delegator {
    /// Reads from `store`.
    pub fn new(store: Arc<dyn Storage>) -> Self {
        Delegator { store }
    }

    /// The store itself, for writes.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.store
    }

    /// Reads one key.
    ///
    /// # Errors
    /// [`Error::FutureRevision`] when the store is older than `freshness` demands.
    pub async fn get(&self, key: &str, freshness: Freshness) -> Result<Lookup, Error> {
        let lookup = self.store.get(key).await?;
        match freshness {
            Freshness::NotOlderThan(wanted) if wanted > lookup.revision => {
                Err(Error::FutureRevision { requested: wanted, current: lookup.revision })
            }
            _ => Ok(lookup),
        }
    }
}
