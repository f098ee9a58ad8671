//! The contract in memory: [`Mvcc`] behind a mutex, [`Feed`] for its watches and a task that lets
//! keys expire. For tests and for whatever may be lost with the process. Stores made of one [`Image`] share what
//! neither changes. Time is tokio's, so a paused
//! clock works.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::feed::{Batch, Cursor, Feed, History};
use crate::mvcc::{Image, LogRead, Millis, Mvcc, Scan, Write};
use crate::{
    Deleted, Error, KeyValue, ListOptions, Listing, Lookup, Revision, Storage, WatchOptions, WatchStream,
    Written,
};

/// The largest value, in bytes: etcd's default for a request.
pub const VALUE_BYTES_MAX: usize = 1_572_864;

/// What history may take in memory, in bytes. When it takes more, half of it is compacted, whoever still wants it.
const HISTORY_BYTES_MAX: usize = 256 << 20;

/// How many changes are looked at in one go while history is forgotten.
const SWEEP_STEP: usize = 4_096;

/// A store in memory. Dropping it ends its watches.
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
    /// The task that expires keys, started with the first key that can.
    expiry: OnceLock<AbortHandle>,
}

#[derive(Debug)]
struct Shared {
    mvcc: Mutex<Mvcc>,
    feed: Feed,
    /// Deadlines count from here.
    epoch: Instant,
    /// The earliest deadline may have changed.
    deadline_set: Notify,
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Memory::of(&Image::default())
    }

    /// A store that begins with what another one held, and shares it as long as neither changes it.
    pub fn of(image: &Image) -> Self {
        let mvcc = Mvcc::of(image, 0);
        let feed = Feed::new(mvcc.revision(), mvcc.compacted());
        let shared =
            Shared { mvcc: Mutex::new(mvcc), feed, epoch: Instant::now(), deadline_set: Notify::new() };
        Memory { shared: Arc::new(shared), expiry: OnceLock::new() }
    }

    /// What is here now.
    pub fn image(&self) -> Image {
        self.shared.mvcc().image(self.shared.now())
    }

    /// Makes sure that keys expire that an image brought along. Within a tokio runtime.
    pub fn start_expiring(&self) {
        if self.shared.mvcc().deadlines().next().is_some() {
            self.expire_keys();
        }
    }

    fn expire_keys(&self) {
        self.expiry.get_or_init(|| tokio::spawn(expire_keys(self.shared.clone())).abort_handle());
        self.shared.deadline_set.notify_one();
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(task) = self.expiry.get() {
            task.abort();
        }
        self.shared.feed.close();
    }
}

/// Sleeping longer than that could overflow the timer.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 3600);

async fn expire_keys(shared: Arc<Shared>) {
    loop {
        let next = shared.mvcc().deadlines().next();
        let changed = shared.deadline_set.notified();
        match next {
            None => changed.await,
            Some(at) => {
                let wait = Duration::from_millis(at.saturating_sub(shared.now())).min(SLEEP_MAX);
                // Woken early by a change or by the bound, it only looks again.
                let _ = tokio::time::timeout(wait, changed).await;
                shared.expire_due();
            }
        }
    }
}

impl Shared {
    /// Nothing panics while it holds the lock, and every change of the state is one call that
    /// completes, so a poisoned lock is still good.
    fn mvcc(&self) -> MutexGuard<'_, Mvcc> {
        self.mvcc.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.epoch.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    fn expire_due(&self) {
        let now = self.now();
        let mut mvcc = self.mvcc();
        let due: Vec<Arc<str>> = mvcc.deadlines().due(now).cloned().collect();
        for key in due {
            let expected = mvcc.current(&key).map_or(0, |(revision, _)| revision);
            let _ = self.write(&mut mvcc, Write { key, value: None, expected, expires_at: None });
        }
    }

    fn write(&self, mvcc: &mut Mvcc, write: Write) -> Written {
        let revision = mvcc.revision() + 1;
        let current = mvcc.current(&write.key);
        match write.decide(current, revision) {
            Ok(change) => {
                mvcc.apply(change);
                self.feed.advance(revision);
                if let Some(oldest) = mvcc.crowded(HISTORY_BYTES_MAX) {
                    // It is one of the store's own revisions.
                    let _ = mvcc.compact(oldest);
                    while mvcc.sweep(SWEEP_STEP).1 {}
                    self.feed.compact(oldest);
                }
                Written::Done(revision)
            }
            Err(current) => Written::Stale { current, revision: mvcc.revision() },
        }
    }
}

#[async_trait]
impl History for Shared {
    async fn read(&self, cursor: &Cursor) -> Result<Batch, Error> {
        let mvcc = self.mvcc();
        match mvcc.changes(cursor.next)? {
            LogRead::Changes(changes) => Ok(cursor.read(changes)),
            LogRead::Trimmed { until } => Err(Error::Compacted { oldest: until }),
        }
    }
}

#[async_trait]
impl Storage for Memory {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        let mvcc = self.shared.mvcc();
        Ok(Lookup { revision: mvcc.revision(), kv: mvcc.get(key) })
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let mvcc = self.shared.mvcc();
        let scanned = mvcc.scan(&Scan {
            prefix,
            start: options.start.as_deref().map_or(Bound::Unbounded, Bound::Included),
            at: mvcc.readable(options.revision)?,
            take: if options.limit == 0 { usize::MAX } else { options.limit },
            visit_max: usize::MAX,
            uncounted: options.uncounted,
        });
        // The memory store never trims, so every value found is here.
        let kvs = scanned
            .found
            .into_iter()
            .filter_map(|found| Some(KeyValue::new(found.key.as_ref(), found.value?, found.mod_revision)));
        Ok(Listing { kvs: kvs.collect(), count: scanned.count, revision: mvcc.revision() })
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        let mvcc = self.shared.mvcc();
        let at = mvcc.revision();
        let start = Bound::Unbounded;
        let scan = Scan { prefix, start, at, take: 0, visit_max: usize::MAX, uncounted: false };
        Ok(mvcc.scan(&scan).count)
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<Written, Error> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(Error::Refused("etcdserver: request is too large".to_owned()));
        }
        let expires_at = ttl.map(|ttl| {
            let ttl = Millis::try_from(ttl.as_millis()).unwrap_or(Millis::MAX);
            self.shared.now().saturating_add(ttl)
        });
        let write = Write { key: key.into(), value: Some(value), expected, expires_at };
        let written = self.shared.write(&mut self.shared.mvcc(), write);
        if expires_at.is_some() {
            self.expire_keys();
        }
        Ok(written)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error> {
        let write = Write { key: key.into(), value: None, expected, expires_at: None };
        Ok(self.shared.write(&mut self.shared.mvcc(), write))
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let mvcc = self.shared.mvcc();
        let next = mvcc.watch_start(options.start)?;
        Ok(self.shared.feed.watch(self.shared.clone(), prefix, next, &options))
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.shared.feed.request_progress();
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        Ok(self.shared.mvcc().revision())
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.shared.mvcc().compact(revision)?;
        self.shared.feed.compact(revision);
        while self.shared.mvcc().sweep(SWEEP_STEP).1 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.shared.feed.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
