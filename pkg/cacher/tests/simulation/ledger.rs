//! The reliable store: the in-memory store with a record of its history, and with transactions that delete
//! several keys at one revision, like etcd when a lease expires.
//!
//! The in-memory store assigns each deletion its own revision. Deletions of one transaction are presented
//! with the last of their revisions, and the revisions in between as if nothing had happened.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, future};
use storage::memory::Memory;
use storage::{
    DeleteResult, Error, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchItem, WatchOptions,
    WatchStream,
};
use tokio::sync::watch;
use tokio::time::Instant;

use super::history::History;

/// The first and the last revision of a transaction.
type Bundle = (Revision, Revision);

/// The store and its history.
pub struct Ledger {
    memory: Memory,
    history: Mutex<History>,
    bundles: Arc<Mutex<Vec<Bundle>>>,
    compactions: Mutex<Vec<(Instant, Revision)>>,
}

impl Ledger {
    pub fn new() -> Self {
        Ledger {
            memory: Memory::new(),
            history: Mutex::default(),
            bundles: Arc::default(),
            compactions: Mutex::default(),
        }
    }

    pub fn history<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.history.lock().unwrap())
    }

    pub fn compacted_to(&self) -> Revision {
        *self.memory.compacted().borrow()
    }

    /// The compacted revision at this time in the past.
    pub fn compacted_before(&self, time: Duration) -> Revision {
        let compactions = self.compactions.lock().unwrap();
        let before = compactions.iter().filter(|(at, _)| at.elapsed() >= time);
        before.map(|(_, revision)| *revision).max().unwrap_or(0)
    }

    /// Deletes the existing keys among `keys`, all at one revision. Returns their number.
    ///
    /// The in-memory store completes immediately, so the partial state is never visible.
    pub async fn expire(&self, keys: &[String]) -> usize {
        let mut expired = Vec::new();
        for key in keys {
            let Ok(Lookup { kv: Some(kv), .. }) = self.memory.get(key).await else { continue };
            if let Ok(PutResult::Done(revision)) = self.memory.delete(key, kv.mod_revision).await {
                expired.push((revision, key));
            }
        }
        if let (Some((first, _)), Some((last, _))) = (expired.first(), expired.last()) {
            self.bundles.lock().unwrap().push((*first, *last));
            let mut history = self.history.lock().unwrap();
            expired.iter().for_each(|(_, key)| history.record(*last, key, None, Instant::now()));
        }
        expired.len()
    }

    fn record(&self, result: &PutResult, key: &str, value: Option<Bytes>) {
        if let PutResult::Done(revision) = result {
            self.history.lock().unwrap().record(*revision, key, value, Instant::now());
        }
    }

    /// The last revision up to `revision` at which all transactions are complete.
    fn complete(&self, revision: Revision) -> Revision {
        match bundle(&self.bundles, revision) {
            Some((first, last)) if revision < last => first - 1,
            _ => revision,
        }
    }
}

/// The transaction that contains a revision.
fn bundle(bundles: &Mutex<Vec<Bundle>>, revision: Revision) -> Option<Bundle> {
    let bundles = bundles.lock().unwrap();
    let at = bundles.partition_point(|(_, last)| *last < revision);
    bundles.get(at).copied().filter(|(first, _)| *first <= revision)
}

/// Converts an item of the in-memory store for a watch from `start`.
fn shown(item: WatchItem, start: Revision, bundles: &Mutex<Vec<Bundle>>) -> Option<WatchItem> {
    match item {
        WatchItem::Event(mut event) => {
            if let Some((_, last)) = bundle(bundles, event.kv.mod_revision) {
                event.kv.mod_revision = last;
            }
            Some(event).filter(|event| event.kv.mod_revision >= start).map(WatchItem::Event)
        }
        WatchItem::Progress(revision) => {
            let complete = bundle(bundles, revision).is_none_or(|(_, last)| revision == last);
            (complete && revision >= start - 1).then_some(WatchItem::Progress(revision))
        }
    }
}

#[async_trait]
impl Storage for Ledger {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.memory.get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let revision = self.complete(options.revision);
        self.memory.list(prefix, ListOptions { revision, ..options }).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.memory.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        let result = self.memory.put(key, value.clone(), expected, ttl).await?;
        self.record(&result, key, Some(value));
        Ok(result)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        let result = self.memory.delete(key, expected).await?;
        self.record(&result, key, None);
        Ok(result)
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        // The start must include the whole of a transaction, also of a future one.
        let requested = options.start;
        let start = match bundle(&self.bundles, requested) {
            Some((first, _)) => first,
            None => requested.min(self.memory.current_revision().await? + 1),
        };
        let items = self.memory.watch(prefix, WatchOptions { start, ..options }).await?;
        let bundles = Arc::clone(&self.bundles);
        let visible = items.filter_map(move |item| {
            future::ready(item.map(|item| shown(item, requested, &bundles)).transpose())
        });
        Ok(visible.boxed())
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.memory.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.memory.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        let revision = self.complete(revision);
        self.memory.compact(revision).await?;
        self.compactions.lock().unwrap().push((Instant::now(), revision));
        Ok(())
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.memory.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.memory.healthy().await
    }
}
