//! `dryRun=All`: the same checks, no write.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cacher::Delegator;
use storage::{
    DeleteResult, Error, KeyQueues, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchOptions,
    WatchStream,
};
use tokio::sync::watch;

/// Store that returns the results of writes without doing them. A successful write returns the revision of
/// its precondition, so that the object keeps its old resource version (none for a create).
pub(crate) struct DryRun {
    inner: Arc<dyn Storage>,
    /// Queues of this request alone, because other writes must not see the simulated state.
    write_queues: KeyQueues,
}

impl DryRun {
    /// Wraps the store of a delegator.
    pub(crate) fn of(delegator: &Delegator) -> Self {
        DryRun { inner: Arc::clone(delegator.storage()), write_queues: KeyQueues::default() }
    }

    /// Returns the store and queues for a write.
    pub(crate) fn writer(&self) -> (&dyn Storage, &KeyQueues) {
        (self, &self.write_queues)
    }

    async fn check(&self, key: &str, expected: Revision) -> Result<PutResult, Error> {
        let lookup = self.inner.get(key).await?;
        let revision = lookup.kv.as_ref().map_or(0, |kv| kv.mod_revision);
        if revision == expected {
            Ok(PutResult::Done(expected))
        } else {
            Ok(PutResult::Stale { current: lookup.kv, revision: lookup.revision })
        }
    }
}

#[async_trait]
impl Storage for DryRun {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.inner.get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.inner.list(prefix, options).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.inner.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        _: Bytes,
        expected: Revision,
        _: Option<Duration>,
    ) -> Result<PutResult, Error> {
        self.check(key, expected).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.check(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.inner.watch(prefix, options).await
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.inner.current_revision().await
    }

    async fn compact(&self, _: Revision) -> Result<(), Error> {
        Ok(())
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.inner.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.inner.healthy().await
    }
}
