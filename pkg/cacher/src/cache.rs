//! The watch cache of one resource: its current state, from which reads are answered without a lock,
//! and the log of its changes, which watches follow. This is the shell around the pure [core]: it
//! publishes snapshots, guards the log, and wakes those who wait.
//!
//! There is one writer, the driver. It calls [`Cache::fill`] once and [`Cache::apply`] for each batch;
//! when it has lost track of storage it calls [`Cache::reset`] and fills anew. [`Cache::retire`] may come
//! from anywhere, and is the end.
//!
//! [core]: crate::core

mod counters;
mod past_states;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use arc_swap::ArcSwapOption;
use storage::Revision;
use tokio::time::Instant;

use crate::core::{Mark, Position, Read, Selection, State, Taken, advance, rewind};
use crate::memo::Budget;
use crate::watch::{CachedWatch, Lag, Start};
use crate::{Element, Error, Watch, WatchQuery, WatchStart};

pub use crate::core::{Incoming, Limits, Snapshot};
pub(crate) use counters::Counters;
pub use counters::Figures;
use past_states::PastStates;

/// What a [`Cache`] is made from.
#[derive(Clone)]
pub struct CacheConfig {
    /// What all keys of the resource begin with; ends in `/`.
    pub prefix: String,
    /// The header field to index by.
    pub index: Option<usize>,
    /// How much of the past is kept.
    pub limits: Limits,
    /// What the frames of live events may take, over all resources.
    pub frames: Arc<Budget>,
    /// The freshness revision: all caches are complete up to it. It is moved on (sequentially
    /// consistent) when a batch has been applied to all of them, and only then.
    pub fresh: Arc<AtomicI64>,
}

impl CacheConfig {
    /// For a resource with this prefix and index, with default limits and 16 MiB of frames, on its own.
    pub fn new(prefix: &str, index: Option<usize>) -> Self {
        CacheConfig {
            prefix: prefix.to_owned(),
            index,
            limits: Limits::default(),
            frames: Budget::new(16 << 20),
            fresh: Arc::default(),
        }
    }
}

/// The cache of one resource.
pub struct Cache {
    config: CacheConfig,
    /// The current state; `None` while the cache is not ready. Stored under the lock of `state`, where
    /// the log ends with it.
    snapshot: ArcSwapOption<Snapshot>,
    /// The log and who waits for it.
    state: Mutex<State>,
    /// Held by who writes, from reading the current state until the next one is published.
    writer: Mutex<()>,
    /// Never to be filled again. Set before the last reset, looked at under the lock of `writer`.
    retired: AtomicBool,
    rewound: Mutex<PastStates>,
    pub(crate) counters: Counters,
}

impl Cache {
    /// A cache that is not ready yet.
    pub fn new(config: CacheConfig, now: Instant) -> Self {
        let state = State::new(config.prefix.clone(), config.index, config.limits, now);
        Cache {
            config,
            snapshot: ArcSwapOption::empty(),
            state: Mutex::new(state),
            writer: Mutex::default(),
            retired: AtomicBool::new(false),
            rewound: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// Takes the whole state as of `revision`, with `elements` sorted by key, and the changes since
    /// then that have come in meanwhile (as for [`apply`](Self::apply)). The cache is ready when this
    /// returns. Watches of a former state end.
    ///
    /// `later` must have all changes after `revision` up to the freshness revision. Does nothing after
    /// [`retire`](Self::retire).
    pub fn fill(&self, elements: Vec<Arc<Element>>, revision: Revision, later: Vec<Incoming>, now: Instant) {
        self.begin(Snapshot::filled(elements, revision, self.config.index), later, now);
    }

    /// As [`fill`](Self::fill), with a state that is put together already.
    pub(crate) fn begin(&self, filled: Snapshot, later: Vec<Incoming>, now: Instant) {
        let _writer = lock(&self.writer);
        if self.retired.load(SeqCst) {
            return;
        }
        let revision = filled.revision();
        let (snapshot, changes) = advance(&filled, later, &self.config.frames);
        let (former, effects) = {
            let mut state = lock(&self.state);
            let mut effects = state.open(revision);
            effects.merge(state.append(changes, now));
            (self.snapshot.swap(Some(snapshot.at(state.end()))), effects)
        };
        drop(former);
        lock(&self.rewound).clear();
        effects.run();
    }

    /// Forgets everything: the cache is not ready from now on, and its watches end. `reason` is what
    /// clients are told. While the cache is not ready anyhow, only the reason changes.
    pub fn reset(&self, reason: Option<String>, now: Instant) {
        let _writer = lock(&self.writer);
        let (former, effects) = {
            let mut state = lock(&self.state);
            (self.snapshot.swap(None), state.close(reason, now))
        };
        drop(former);
        lock(&self.rewound).clear();
        effects.run();
    }

    /// Forgets everything for good.
    pub fn retire(&self, now: Instant) {
        self.retired.store(true, SeqCst);
        self.reset(Some("it is not served any more".to_owned()), now);
    }

    /// Takes the next changes: in order, and with all changes of their last revision. What is not newer
    /// than the state, and deletions of what is not there, are skipped. Does nothing while the cache is
    /// not ready.
    pub fn apply(&self, batch: Vec<Incoming>, now: Instant) {
        let _writer = lock(&self.writer);
        let Some(current) = self.snapshot() else { return };
        let (snapshot, changes) = advance(&current, batch, &self.config.frames);
        if changes.is_empty() {
            return;
        }
        self.counters.events.add(changes.len());
        let superseded: Vec<_> = changes.iter().filter_map(|change| change.prev.clone()).collect();
        let (effects, before) = {
            let mut state = lock(&self.state);
            let before = state.end();
            let effects = state.append(changes, now);
            self.snapshot.store(Some(snapshot.at(state.end())));
            (effects, before)
        };
        effects.run();
        superseded.iter().for_each(|element| element.memo().close());
        self.trim_frames(before);
    }

    /// The current state; `None` while the cache is not ready. It is complete up to its own revision
    /// and, if that was loaded before, up to [`fresh`](Self::fresh).
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The freshness revision: every cache has all changes up to it.
    pub fn fresh(&self) -> Revision {
        self.config.fresh.load(SeqCst)
    }

    /// Why reads are refused while the cache is not ready, with upstream's advice when to come back:
    /// e^(0.06·seconds) of not being ready, between 1 s and 30 s.
    pub fn not_ready(&self, now: Instant) -> Error {
        lock(&self.state).not_ready(now)
    }

    /// The state at a revision that has been reached (see [`fresh`](Self::fresh)). `None` if that
    /// cannot or must not be told: the cache is not ready, has forgotten changes since then, or storage
    /// has been compacted to a later revision.
    ///
    /// States of the past are made by undoing changes, and a few are kept: the pages of one list are
    /// of one state.
    pub fn snapshot_at(&self, revision: Revision) -> Option<Arc<Snapshot>> {
        let (current, (position, last)) = {
            let state = lock(&self.state);
            (self.snapshot()?, state.boundary(revision)?)
        };
        if position == current.next() {
            return Some(current);
        }
        let nearest = lock(&self.rewound).nearest(position);
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
        let snapshot = snapshot.at(position);
        lock(&self.rewound).keep(Arc::clone(&snapshot));
        Some(snapshot)
    }

    /// Storage has been compacted to a revision: older states are not told any more, as storage would
    /// not.
    pub fn compacted(&self, revision: Revision) {
        lock(&self.state).compacted(revision);
    }

    /// Drops what was not used lately: encoded forms of objects, in `budget`, whose epoch the caller
    /// has moved on; frames, if room for them is getting scarce; changes that are old; states of the
    /// past. To be called every few seconds.
    pub fn sweep(&self, budget: &Budget) {
        if budget.used() > 0
            && let Some(snapshot) = self.snapshot()
        {
            snapshot.iter().for_each(|element| element.memo().sweep(budget));
        }
        lock(&self.rewound).sweep();
        let (effects, last_time) = lock(&self.state).tidy(Instant::now());
        effects.run();
        self.trim_frames(last_time);
    }

    /// Starts a watch. What its start demands of freshness is for the caller to wait for.
    ///
    /// # Errors
    /// [`Error::NotReady`]; [`Error::TooOld`]; [`Error::Corrupt`] when there is an object in the scope
    /// that cannot be read and the watch is to begin with the state.
    pub fn watch(self: &Arc<Self>, query: WatchQuery) -> Result<Watch, Error> {
        self.start(query, false)
    }

    /// As [`watch`](Self::watch); a lenient one of everything delivers also what cannot be read.
    pub(crate) fn start(self: &Arc<Self>, query: WatchQuery, lenient: bool) -> Result<Watch, Error> {
        let selection = Selection { scope: query.scope, predicate: query.predicate, lenient };
        let fresh = self.fresh();
        let (position, start) = {
            let mut state = lock(&self.state);
            let Some(snapshot) = self.snapshot() else { return Err(state.not_ready(Instant::now())) };
            match query.start {
                WatchStart::State(_) => (state.follow(&selection), Start::With(snapshot, fresh)),
                WatchStart::After(0) => (state.follow(&selection), Start::After(0)),
                WatchStart::After(after) => (state.resume(&selection, after)?, Start::After(after)),
            }
        };
        let cache = Arc::clone(self);
        let watch = CachedWatch::new(cache, selection, position, query.bookmarks, query.deadline);
        watch.starting(start).map(Watch::from_cache)
    }

    /// Reads on in the log: see [`State::read`].
    pub(crate) fn read(
        &self,
        selection: &Selection,
        position: &mut Position,
        waker: &Waker,
        taken: &mut Taken,
    ) -> Read {
        lock(&self.state).read(selection, position, waker, taken)
    }

    /// Ends a watch.
    pub(crate) fn leave(&self, position: &mut Position) {
        lock(&self.state).leave(position);
    }

    /// How many watches are told of a change of the object with this key, in the namespace that keys of `namespace`
    /// begin with. Those of indexed fields are not counted.
    pub(crate) fn watches_of(&self, namespace: Option<&str>, object: &str) -> usize {
        lock(&self.state).watches_of(namespace, object)
    }

    /// What there is and what has happened so far.
    pub fn figures(&self) -> Figures {
        let sizes = lock(&self.state).sizes();
        let revision = self.snapshot().map_or(0, |snapshot| snapshot.revision());
        self.counters.figures(sizes, revision)
    }

    /// How far a watch is behind that has come to a mark.
    pub(crate) fn lag(&self, mark: Mark, now: Instant) -> Lag {
        lock(&self.state).lag(mark, now)
    }

    /// Gives up the oldest frames while room is scarce, but none of changes from `until` on.
    fn trim_frames(&self, until: u64) {
        let frames = &self.config.frames;
        while frames.used() > frames.limit() / 4 * 3 {
            let changes = lock(&self.state).framed(until);
            if changes.is_empty() {
                return;
            }
            changes.iter().for_each(|change| change.frames.close());
        }
    }
}

/// Locks. A panic elsewhere has not left anything half done that matters: every section stores what it
/// has finished.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
