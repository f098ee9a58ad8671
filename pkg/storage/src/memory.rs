//! In-memory implementation: [`Mvcc`] behind a mutex, [`Feed`] for its watches and a task that expires keys.
//! For tests and for data that may be lost with the process. Stores created from one [`Image`] share all
//! unchanged objects; a store over an [`Archive`] reads its parts on demand. Time is tokio's, so a paused
//! clock works.

mod unread;

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::feed::{Batch, Cursor, Feed, History};
use crate::mvcc::{Archive, Image, LogRead, Millis, Mvcc, Scan, ScanPage, Write};
use crate::{
    DeleteResult, Error, KeyValue, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchOptions,
    WatchStream,
};
use unread::UnreadParts;

/// Maximum size of a value in bytes: etcd's default for a request.
pub const VALUE_BYTES_MAX: usize = 1_572_864;

/// Maximum memory for history in bytes. When it is exceeded, half of it is compacted, even if watches still
/// need it.
const HISTORY_BYTES_MAX: usize = 256 << 20;

/// Maximum number of threads that read parts for one call, and the minimum number of parts per thread.
const READERS_MAX: usize = 4;
const READER_PARTS_MIN: usize = 8;

/// Number of changes that are swept at a time.
const SWEEP_STEP: usize = 4_096;

/// An in-memory store. Dropping it ends its watches.
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
    /// The task that expires keys, started with the first expiring key.
    expiry: OnceLock<AbortHandle>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    feed: Feed,
    /// Deadlines are relative to this instant.
    epoch: Instant,
    /// Notifies that the earliest deadline may have changed.
    deadline_set: Notify,
}

/// The state of the store. A key may be looked up in `mvcc` only when its part is no longer in `unread`.
#[derive(Debug)]
struct State {
    mvcc: Mvcc,
    unread: UnreadParts,
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl Memory {
    /// An empty store at [`REVISION_EMPTY`](crate::mvcc::REVISION_EMPTY).
    pub fn new() -> Self {
        Memory::from_image(&Image::default())
    }

    /// A store with the contents of an image. Unchanged objects are shared with it.
    pub fn from_image(image: &Image) -> Self {
        Memory::with_state(State { mvcc: Mvcc::of(image, 0), unread: UnreadParts::default() })
    }

    /// A store with the contents of an archive. A part is read on the first access to one of its keys. Long
    /// and blocking work runs on the blocking thread pool; needs a tokio runtime.
    ///
    /// An unreadable part is an error for each call that needs it; its contents remain unchanged.
    pub fn from_archive(archive: Arc<dyn Archive>) -> Self {
        let mvcc = Mvcc::beginning(archive.revision(), archive.last().cloned());
        Memory::with_state(State { mvcc, unread: UnreadParts::of(archive) })
    }

    fn with_state(state: State) -> Self {
        let feed = Feed::new(state.mvcc.revision(), state.mvcc.compacted());
        let state = Mutex::new(state);
        let epoch = Instant::now();
        let shared = Shared { state, feed, epoch, deadline_set: Notify::new() };
        Memory { shared: Arc::new(shared), expiry: OnceLock::new() }
    }

    /// The current contents. Unread parts of an archive are first read on this thread.
    ///
    /// # Errors
    /// [`Error::Internal`] if reading fails.
    pub fn image(&self) -> Result<Image, Error> {
        let (parts, archive) = {
            let state = self.shared.state();
            (state.unread.all_parts(), state.unread.archive().cloned())
        };
        if let Some(archive) = archive {
            self.shared.read(&*archive, &parts)?;
        }
        Ok(self.shared.state().mvcc.image(self.shared.now()))
    }

    /// Starts the expiry of initial keys. Needs a tokio runtime.
    pub fn start_expiring(&self) {
        if self.shared.state().next_deadline().is_some() {
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

/// Maximum sleep; longer ones could overflow the timer.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 3600);

async fn expire_keys(shared: Arc<Shared>) {
    loop {
        let next = shared.state().next_deadline();
        let changed = shared.deadline_set.notified();
        match next {
            None => changed.await,
            Some(at) => {
                let wait = Duration::from_millis(at.saturating_sub(shared.now())).min(SLEEP_MAX);
                // An early wake-up is harmless: the deadline is checked again.
                let _ = tokio::time::timeout(wait, changed).await;
                shared.expire_due().await;
            }
        }
    }
}

impl State {
    fn next_deadline(&self) -> Option<Millis> {
        [self.mvcc.deadlines().next(), self.unread.soonest()].into_iter().flatten().min()
    }
}

impl Shared {
    /// Ignores poisoning: no code panics while holding the lock, and every change of the state is complete.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state after the needed parts have been read.
    ///
    /// # Errors
    /// [`Error::Internal`] if a part is unreadable.
    async fn with_parts(
        self: &Arc<Self>,
        needs: impl FnOnce(&UnreadParts) -> Vec<usize>,
    ) -> Result<MutexGuard<'_, State>, Error> {
        let (parts, archive) = {
            let state = self.state();
            let Some(archive) = state.unread.archive() else { return Ok(state) };
            let parts = needs(&state.unread);
            if parts.is_empty() {
                return Ok(state);
            }
            (parts, Arc::clone(archive))
        };
        let readers: Vec<_> = parts
            .chunks(parts.len().div_ceil(READERS_MAX).max(READER_PARTS_MIN))
            .map(|parts| {
                let shared = Arc::clone(self);
                let archive = Arc::clone(&archive);
                let parts = parts.to_vec();
                tokio::task::spawn_blocking(move || shared.read(&*archive, &parts))
            })
            .collect();
        for reader in readers {
            reader.await.unwrap_or_else(|error| Err(Error::Internal(error.to_string())))?;
        }
        // Parts that are read stay read.
        Ok(self.state())
    }

    /// Reads parts, unless a concurrent call was faster.
    fn read(&self, archive: &dyn Archive, parts: &[usize]) -> Result<(), Error> {
        for part in parts {
            let keys = archive.read(*part).map_err(|error| Error::Internal(error.to_string()))?;
            let mut state = self.state();
            if state.unread.remove(*part) {
                state.mvcc.insert_initial(keys, 0);
                // Keys of a part that was unreadable at their deadline expire now.
                self.deadline_set.notify_one();
            }
        }
        Ok(())
    }

    /// Scans at a revision, 0 for the present. Also returns the store's revision.
    async fn scan(
        self: &Arc<Self>,
        scan: Scan<'_>,
        revision: Revision,
    ) -> Result<(ScanPage, Revision), Error> {
        let mut missing: Option<Vec<usize>> = None;
        loop {
            let state = self
                .with_parts(|unread| missing.take().unwrap_or_else(|| unread.parts_of_scan(&scan)))
                .await?;
            let State { mvcc, unread } = &*state;
            let mut scanned = mvcc.scan(&Scan { revision: mvcc.readable(revision)?, ..scan });
            let skipped = unread.skipped_parts(&scan, &scanned.keys);
            if !skipped.is_empty() {
                missing = Some(skipped);
                continue;
            }
            let unread_count = unread.unread_key_count(&scan);
            scanned.count = if !scan.uncounted {
                scanned.count + unread_count
            } else {
                scanned.count.max(scanned.keys.len() as u64 + unread_count.min(1))
            };
            return Ok((scanned, mvcc.revision()));
        }
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.epoch.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    async fn expire_due(self: &Arc<Self>) {
        let now = self.now();
        let due = self.state().unread.due(now);
        for part in due {
            // Keys of an unreadable part cannot expire. Calls that access it get the error.
            if self.with_parts(|_| vec![part]).await.is_err() {
                self.state().unread.forget_deadlines(part);
            }
        }
        let mut state = self.state();
        let due: Vec<Arc<str>> = state.mvcc.deadlines().due(now).cloned().collect();
        for key in due {
            let expected = state.mvcc.current(&key).map_or(0, |(revision, _)| revision);
            let _ = self.write(&mut state.mvcc, Write { key, value: None, expected, expires_at: None });
        }
    }

    fn write(&self, mvcc: &mut Mvcc, write: Write) -> PutResult {
        let revision = mvcc.revision() + 1;
        let current = mvcc.current(&write.key);
        match write.decide(current, revision) {
            Ok(change) => {
                mvcc.apply(change);
                self.feed.advance(revision);
                if let Some(oldest) = mvcc.overflow_revision(HISTORY_BYTES_MAX) {
                    // Cannot fail: it is one of the store's own revisions.
                    let _ = mvcc.compact(oldest);
                    while mvcc.sweep(SWEEP_STEP).1 {}
                    self.feed.compact(oldest);
                }
                PutResult::Done(revision)
            }
            Err(current) => PutResult::Stale { current, revision: mvcc.revision() },
        }
    }
}

#[async_trait]
impl History for Shared {
    async fn read(&self, cursor: &Cursor) -> Result<Batch, Error> {
        let state = self.state();
        match state.mvcc.changes(cursor.next)? {
            LogRead::Changes(changes) => Ok(cursor.read(changes)),
            LogRead::Trimmed { until } => Err(Error::Compacted { oldest: until }),
        }
    }
}

#[async_trait]
impl Storage for Memory {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        let state = self.shared.with_parts(|unread| unread.with_key(key)).await?;
        Ok(Lookup { revision: state.mvcc.revision(), kv: state.mvcc.get(key) })
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let scan = Scan {
            prefix,
            start: options.start.as_deref().map_or(Bound::Unbounded, Bound::Included),
            revision: 0,
            limit: if options.limit == 0 { usize::MAX } else { options.limit },
            visit_max: usize::MAX,
            uncounted: options.uncounted,
        };
        let (scanned, revision) = self.shared.scan(scan, options.revision).await?;
        // The memory store never trims, so every value is available.
        let kvs = scanned
            .keys
            .into_iter()
            .filter_map(|found| Some(KeyValue::new(found.key.as_ref(), found.value?, found.mod_revision)));
        Ok(Listing { kvs: kvs.collect(), count: scanned.count, revision })
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        let start = Bound::Unbounded;
        let visit_max = usize::MAX;
        let scan = Scan { prefix, start, revision: 0, limit: 0, visit_max, uncounted: false };
        Ok(self.shared.scan(scan, 0).await?.0.count)
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(Error::Rejected("etcdserver: request is too large".to_owned()));
        }
        let expires_at = ttl.map(|ttl| {
            let ttl = Millis::try_from(ttl.as_millis()).unwrap_or(Millis::MAX);
            self.shared.now().saturating_add(ttl)
        });
        let write = Write { key: key.into(), value: Some(value), expected, expires_at };
        let written = {
            let mut state = self.shared.with_parts(|unread| unread.with_key(key)).await?;
            self.shared.write(&mut state.mvcc, write)
        };
        if expires_at.is_some() {
            self.expire_keys();
        }
        Ok(written)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        let write = Write { key: key.into(), value: None, expected, expires_at: None };
        let mut state = self.shared.with_parts(|unread| unread.with_key(key)).await?;
        Ok(self.shared.write(&mut state.mvcc, write))
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let state = self.shared.state();
        let next = state.mvcc.watch_start(options.start)?;
        Ok(self.shared.feed.watch(self.shared.clone(), prefix, next, &options))
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.shared.feed.request_progress();
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        Ok(self.shared.state().mvcc.revision())
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.shared.state().mvcc.compact(revision)?;
        self.shared.feed.compact(revision);
        while self.shared.state().mvcc.sweep(SWEEP_STEP).1 {
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
