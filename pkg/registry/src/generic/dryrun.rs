//! `dryRun=All`: the same checks, no write.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cacher::Delegator;
use storage::{
    Deleted, Error, KeyQueues, ListOptions, Listing, Lookup, Revision, Storage, WatchOptions, WatchStream,
    Written,
};
use tokio::sync::watch;

/// Store that returns the results of writes without doing them. A successful write returns the revision of
/// its precondition, so that the object keeps its old resource version (none for a create).
pub(crate) struct DryRun {
    below: Arc<dyn Storage>,
    /// Queues of this request alone, because other writes must not see the simulated state.
    turns: KeyQueues,
}

impl DryRun {
    /// Wraps the store of a delegator.
    pub(crate) fn of(delegator: &Delegator) -> Self {
        DryRun { below: Arc::clone(delegator.storage()), turns: KeyQueues::default() }
    }

    /// Returns the store and queues for a write.
    pub(crate) fn writer(&self) -> (&dyn Storage, &KeyQueues) {
        (self, &self.turns)
    }

    async fn check(&self, key: &str, expected: Revision) -> Result<Written, Error> {
        let lookup = self.below.get(key).await?;
        let found = lookup.kv.as_ref().map_or(0, |kv| kv.mod_revision);
        if found == expected {
            Ok(Written::Done(expected))
        } else {
            Ok(Written::Stale { current: lookup.kv, revision: lookup.revision })
        }
    }
}

#[async_trait]
impl Storage for DryRun {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.below.get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.below.list(prefix, options).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.below.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        _: Bytes,
        expected: Revision,
        _: Option<Duration>,
    ) -> Result<Written, Error> {
        self.check(key, expected).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error> {
        self.check(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.below.watch(prefix, options).await
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.below.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.below.current_revision().await
    }

    async fn compact(&self, _: Revision) -> Result<(), Error> {
        Ok(())
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.below.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.below.healthy().await
    }
}
