//! The watch cache of one resource: its current state, which serves reads without a lock, and the log of its
//! changes, which serves watches. This is the shell around the pure [core]: it publishes snapshots, locks the
//! log, and wakes waiting watches.
//!
//! The driver is the only writer. It calls [`Cache::fill`] once and [`Cache::apply`] for each batch. After a
//! gap in the store's watch it calls [`Cache::reset`] and fills the cache again. [`Cache::retire`] can be
//! called from anywhere and is final.
//!
//! [core]: crate::core

mod metrics;
mod past_states;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use arc_swap::ArcSwapOption;
use storage::Revision;
use tokio::time::Instant;

use crate::core::{Arrival, ChangeBatch, Mark, Position, ReadOutcome, Selection, State, advance, rewind};
use crate::memo::Budget;
use crate::watch::{CachedWatch, Lag, Start};
use crate::{Element, Error, Watch, WatchQuery, WatchStart};

pub use crate::core::{KeyChange, Limits, Snapshot};
pub use metrics::CacheStats;
pub(crate) use metrics::{CacheMetrics, DispatchMetrics};
use past_states::PastStates;

#[derive(Clone)]
pub struct CacheConfig {
    /// Prefix of all keys of the resource; ends in `/`.
    pub prefix: String,
    /// The header field to index.
    pub index: Option<usize>,
    /// Bounds of the change log.
    pub limits: Limits,
    /// Memory budget for the frames of live events, shared by all resources.
    pub frames: Arc<Budget>,
    /// The freshness revision: all caches are complete up to it. It is advanced (sequentially consistent)
    /// only after a batch has been applied to all caches.
    pub fresh_revision: Arc<AtomicI64>,
}

impl CacheConfig {
    /// Configuration for a prefix and an index, with default limits, its own freshness revision and 16 MiB of
    /// frames.
    pub fn new(prefix: &str, index: Option<usize>) -> Self {
        CacheConfig {
            prefix: prefix.to_owned(),
            index,
            limits: Limits::default(),
            frames: Budget::new(16 << 20),
            fresh_revision: Arc::default(),
        }
    }
}

pub struct Cache {
    config: CacheConfig,
    /// The current state; `None` while the cache is not ready. Stored under the lock of `state`, so that the
    /// snapshot and the end of the log match.
    snapshot: ArcSwapOption<Snapshot>,
    /// The log and its watches.
    state: Mutex<State>,
    /// Held by a writer from reading the current snapshot until the next one is published.
    writer: Mutex<()>,
    /// True if the cache must not be filled again. Set before the last reset; read under the lock of
    /// `writer`.
    retired: AtomicBool,
    past_states: Mutex<PastStates>,
    pub(crate) metrics: CacheMetrics,
}

impl Cache {
    /// A cache that is not ready.
    pub fn new(config: CacheConfig, now: Instant) -> Self {
        let state = State::new(config.prefix.clone(), config.index, config.limits, now);
        Cache {
            config,
            snapshot: ArcSwapOption::empty(),
            state: Mutex::new(state),
            writer: Mutex::default(),
            retired: AtomicBool::new(false),
            past_states: Mutex::default(),
            metrics: CacheMetrics::default(),
        }
    }

    /// Fills the cache with the complete state at `revision`, sorted by key, and with the later changes that
    /// are available (as for [`apply`](Self::apply)). The cache is ready when this returns. Watches of a
    /// former state end.
    ///
    /// `later` must contain all changes after `revision` up to the freshness revision. Does nothing after
    /// [`retire`](Self::retire).
    pub fn fill(&self, elements: Vec<Arc<Element>>, revision: Revision, later: Vec<KeyChange>, now: Instant) {
        self.fill_from_snapshot(Snapshot::from_elements(elements, revision, self.config.index), later, now);
    }

    /// Like [`fill`](Self::fill), with a prepared snapshot.
    pub(crate) fn fill_from_snapshot(&self, filled: Snapshot, later: Vec<KeyChange>, now: Instant) {
        let _writer = lock(&self.writer);
        if self.retired.load(SeqCst) {
            return;
        }
        let revision = filled.revision();
        let (snapshot, changes) = advance(&filled, later, &self.config.frames, Arrival::at(now));
        let (former, effects) = {
            let mut state = lock(&self.state);
            let mut effects = state.open(revision);
            effects.merge(state.append(changes, now));
            (self.snapshot.swap(Some(snapshot.with_position(state.end()))), effects)
        };
        drop(former);
        lock(&self.past_states).clear();
        effects.run();
    }

    /// Clears the cache. It is no longer ready, and its watches end. `reason` is reported to clients. If the
    /// cache is not ready, only the reason changes.
    pub fn reset(&self, reason: Option<String>, now: Instant) {
        let _writer = lock(&self.writer);
        let (former, effects) = {
            let mut state = lock(&self.state);
            (self.snapshot.swap(None), state.close(reason, now))
        };
        drop(former);
        lock(&self.past_states).clear();
        effects.run();
    }

    /// Clears the cache permanently.
    pub fn retire(&self, now: Instant) {
        self.retired.store(true, SeqCst);
        self.reset(Some("it is not served any more".to_owned()), now);
    }

    /// Applies the next changes in order. A batch must contain all changes of its last revision. Changes that
    /// are not newer than the state, and deletions of missing keys, are skipped. Does nothing while the cache
    /// is not ready.
    pub fn apply(&self, batch: Vec<KeyChange>, now: Instant) {
        self.apply_received(batch, Arrival::at(now));
    }

    /// Like [`apply`](Self::apply), for changes that were received earlier.
    pub(crate) fn apply_received(&self, batch: Vec<KeyChange>, arrival: Arrival) {
        let _writer = lock(&self.writer);
        let Some(current) = self.snapshot() else { return };
        let (snapshot, changes) = advance(&current, batch, &self.config.frames, arrival);
        if changes.is_empty() {
            return;
        }
        self.metrics.events.add(changes.len() as u64);
        let superseded: Vec<_> = changes.iter().filter_map(|change| change.prev.clone()).collect();
        let (effects, old_end) = {
            let mut state = lock(&self.state);
            let old_end = state.end();
            let effects = state.append(changes, arrival.cached);
            self.snapshot.store(Some(snapshot.with_position(state.end())));
            (effects, old_end)
        };
        effects.run();
        superseded.iter().for_each(|element| element.memo().close());
        self.trim_frames(old_end);
    }

    /// The current state; `None` while the cache is not ready. It is complete up to its own revision and up
    /// to any value of [`fresh_revision`](Self::fresh_revision) that was loaded before.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The freshness revision: every cache contains all changes up to it.
    pub fn fresh_revision(&self) -> Revision {
        self.config.fresh_revision.load(SeqCst)
    }

    /// The error for reads while the cache is not ready. Its retry delay is upstream's: e^(0.06·seconds) of
    /// not being ready, between 1 s and 30 s.
    pub fn not_ready(&self, now: Instant) -> Error {
        lock(&self.state).not_ready(now)
    }

    /// Returns the state at a revision that has been reached (see [`fresh_revision`](Self::fresh_revision)). `None` if the
    /// cache is not ready, later changes are no longer in the log, or storage has been compacted to a later
    /// revision.
    ///
    /// Past states are rebuilt by undoing changes. A few are kept, so that the pages of one list share a
    /// state.
    pub fn snapshot_at(&self, revision: Revision) -> Option<Arc<Snapshot>> {
        let (current, (position, last)) = {
            let state = lock(&self.state);
            (self.snapshot()?, state.boundary(revision)?)
        };
        if position == current.next() {
            return Some(current);
        }
        let nearest = lock(&self.past_states).nearest(position);
        let nearest = nearest.unwrap_or(current);
        if nearest.next() == position {
            return Some(nearest);
        }
        if nearest.next().saturating_sub(position) > self.config.limits.rewind_max as u64 {
            return None;
        }
        let mut snapshot = Snapshot::clone(&nearest);
        let mut end = nearest.next();
        while end > position {
            let changes = lock(&self.state).changes_to_undo(position, end)?;
            end = end.saturating_sub(changes.len() as u64);
            snapshot = rewind(&snapshot, changes.iter().map(|change| &**change), last);
        }
        let snapshot = snapshot.with_position(position);
        lock(&self.past_states).insert(Arc::clone(&snapshot));
        Some(snapshot)
    }

    /// Records a compaction of the storage. Older states are no longer served, as in storage itself.
    pub fn compacted(&self, revision: Revision) {
        lock(&self.state).compacted(revision);
    }

    /// Drops unused data: encoded objects in `budget` (the caller has advanced its epoch), frames if their
    /// budget is scarce, old changes, and past states. Must be called every few seconds. Returns the number of objects
    /// that were examined.
    pub fn sweep(&self, budget: &Budget) -> usize {
        let mut examined = 0;
        if budget.used() > 0
            && let Some(snapshot) = self.snapshot()
        {
            snapshot.iter().for_each(|element| element.memo().sweep(budget));
            examined = snapshot.len();
        }
        lock(&self.past_states).sweep();
        let (effects, last_time) = lock(&self.state).sweep(Instant::now());
        effects.run();
        self.trim_frames(last_time);
        examined
    }

    /// Starts a watch. The caller must first wait for the freshness that the query requires.
    ///
    /// # Errors
    /// [`Error::NotReady`]; [`Error::TooOld`]; [`Error::Corrupt`] if the watch starts with the state and an
    /// object in the scope is unreadable.
    pub fn watch(self: &Arc<Self>, query: WatchQuery) -> Result<Watch, Error> {
        self.start(query, false)
    }

    /// Like [`watch`](Self::watch). A lenient watch of everything also delivers unreadable objects.
    pub(crate) fn start(self: &Arc<Self>, query: WatchQuery, lenient: bool) -> Result<Watch, Error> {
        let selection = Selection { scope: query.scope, predicate: query.predicate, lenient };
        let fresh = self.fresh_revision();
        let (position, start) = {
            let mut state = lock(&self.state);
            let Some(snapshot) = self.snapshot() else { return Err(state.not_ready(Instant::now())) };
            match query.start {
                WatchStart::State(_) => (state.start_from_now(&selection), Start::Snapshot(snapshot, fresh)),
                WatchStart::After(0) => (state.start_from_now(&selection), Start::After(0)),
                WatchStart::After(after) => (state.resume(&selection, after)?, Start::After(after)),
            }
        };
        let cache = Arc::clone(self);
        let watch = CachedWatch::new(cache, selection, position, query.bookmarks, query.deadline);
        watch.starting(start).map(Watch::from_cache)
    }

    /// Reads more of the log: see [`State::read`].
    pub(crate) fn read(
        &self,
        selection: &Selection,
        position: &mut Position,
        waker: &Waker,
        batch: &mut ChangeBatch,
    ) -> ReadOutcome {
        lock(&self.state).read(selection, position, waker, batch)
    }

    pub(crate) fn end_watch(&self, position: &mut Position) {
        lock(&self.state).end_watch(position);
    }

    /// Number of watches that receive a change of the object with this key. `namespace` is the key prefix of
    /// its namespace. Watches that select by the indexed field are not counted.
    pub(crate) fn watch_count(&self, namespace: Option<&str>, object: &str) -> usize {
        lock(&self.state).watch_count(namespace, object)
    }

    /// Sizes and counters of the cache.
    pub fn stats(&self) -> CacheStats {
        let sizes = lock(&self.state).sizes();
        self.metrics.stats(sizes, self.snapshot().as_deref())
    }

    /// The lag of a watch that has reached a mark.
    pub(crate) fn lag(&self, mark: Mark, now: Instant) -> Lag {
        lock(&self.state).lag(mark, now)
    }

    /// Drops the oldest frames while their budget is scarce, but none of changes from `until` on.
    fn trim_frames(&self, until: u64) {
        let frames = &self.config.frames;
        while frames.used() > frames.limit() / 4 * 3 {
            let changes = lock(&self.state).take_changes_with_frames(until);
            if changes.is_empty() {
                return;
            }
            changes.iter().for_each(|change| change.frames.close());
        }
    }
}

/// Locks a mutex and ignores poisoning: every critical section leaves consistent data behind, even if another
/// one panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
