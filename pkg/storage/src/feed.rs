//! Watches as cursors over one shared log. A watcher is a position, a filter and a waker: nothing is
//! copied into queues per watcher, a slow one holds up nobody, and one that falls behind the
//! history that is kept ends with an error instead of missing something.
//!
//! The backend supplies the log as a [`History`] and calls [`Feed::advance`] after each write.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream;
use tokio::sync::{Notify, watch};

use crate::mvcc::Change;
use crate::{Error, Revision, WatchEvent, WatchItem, WatchOptions, WatchStream};

/// How many events a read of the log hands over at most, so that a lock is held briefly and a
/// watcher that is not read holds little.
pub const EVENTS_PER_READ_MAX: usize = 128;

/// How many changes a read of the log looks at, matching or not.
pub const CHANGES_PER_READ_MAX: usize = 4096;

/// How often a quiet watch with `progress` set reports it.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// What a watcher wants and how far it has got.
#[derive(Debug, Clone)]
pub struct Cursor {
    /// The next revision to look at.
    pub next: Revision,
    prefix: String,
    exact: bool,
    prev_kv: bool,
}

impl Cursor {
    /// Whether the watcher wants changes of `key`.
    pub fn wants(&self, key: &str) -> bool {
        if self.exact { key == self.prefix } else { key.starts_with(&self.prefix) }
    }

    /// Whether its events carry the previous value.
    pub fn wants_previous(&self) -> bool {
        self.prev_kv
    }

    /// Turns consecutive changes, the first of which is at `self.next`, into what the watcher gets,
    /// within the limits of one read.
    pub fn read<'a>(&self, changes: impl Iterator<Item = &'a Change>) -> Batch {
        let mut batch = Batch { events: VecDeque::new(), next: self.next };
        for change in changes.take(CHANGES_PER_READ_MAX) {
            batch.next = change.revision + 1;
            if self.wants(&change.key) {
                batch.events.push_back(change.event(self.prev_kv));
                if batch.events.len() == EVENTS_PER_READ_MAX {
                    break;
                }
            }
        }
        batch
    }
}

/// The outcome of one read of the log.
#[derive(Debug)]
pub struct Batch {
    /// What the watcher gets, in order.
    pub events: VecDeque<WatchEvent>,
    /// Where to read on.
    pub next: Revision,
}

/// The log that watchers read.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// Reads on from `cursor.next`, which exists. At least one change is looked at.
    ///
    /// # Errors
    /// [`Error::Compacted`] when that part of the log is gone; any error ends the watch.
    async fn read(&self, cursor: &Cursor) -> Result<Batch, Error>;
}

/// What the watchers wait on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tip {
    /// Changes up to here can be read.
    revision: Revision,
    /// Counts the requests for progress.
    progress_requests: u64,
    /// The store is shut down.
    closed: bool,
}

/// The tip, and who waits for the next one. Watchers are woken in the order in which they began to wait, so that
/// what happens follows from what happened before: a `tokio::sync::watch` wakes in any order.
#[derive(Debug)]
struct TipSignal {
    now: Mutex<Tip>,
    moved: Notify,
}

impl TipSignal {
    fn now(&self) -> Tip {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Tip)) {
        change(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved.notify_waiters();
    }

    /// Waits until the tip is another one than `seen`.
    async fn later_than(&self, seen: Tip) {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            // Whoever is not registered before it looks would sleep through a change in between.
            moved.as_mut().enable();
            if self.now() != seen {
                return;
            }
            moved.await;
        }
    }
}

/// Tells every watcher how far the log goes, and whoever asks where it begins.
#[derive(Debug)]
pub struct Feed {
    tips: Arc<TipSignal>,
    compacted: watch::Sender<Revision>,
}

impl Drop for Feed {
    /// There is nobody left who could write: every watch ends.
    fn drop(&mut self) {
        self.close();
    }
}

impl Feed {
    /// A feed of a log that ends at `revision` and is compacted to `compacted`.
    pub fn new(revision: Revision, compacted: Revision) -> Self {
        Feed {
            tips: Arc::new(TipSignal {
                now: Mutex::new(Tip { revision, progress_requests: 0, closed: false }),
                moved: Notify::new(),
            }),
            compacted: watch::Sender::new(compacted),
        }
    }

    /// The log now goes up to `revision`.
    pub fn advance(&self, revision: Revision) {
        self.tips.change(|tip| tip.revision = tip.revision.max(revision));
    }

    /// The log is now compacted to `revision`, if it was not before.
    pub fn compact(&self, revision: Revision) {
        self.compacted.send_if_modified(|compacted| {
            let later = revision > *compacted;
            *compacted = revision.max(*compacted);
            later
        });
    }

    /// What the log is compacted to.
    pub fn compacted(&self) -> watch::Receiver<Revision> {
        self.compacted.subscribe()
    }

    /// Every watch with `progress` set reports it once it has delivered all there is.
    pub fn request_progress(&self) {
        self.tips.change(|tip| tip.progress_requests += 1);
    }

    /// Ends every watch, without an error.
    pub fn close(&self) {
        self.tips.change(|tip| tip.closed = true);
    }

    /// A watch from `next` on. The caller has checked that this part of the log is still there.
    pub fn watch(
        &self,
        history: Arc<dyn History>,
        prefix: &str,
        next: Revision,
        options: &WatchOptions,
    ) -> WatchStream {
        let tips = Arc::clone(&self.tips);
        let progress_seen = tips.now().progress_requests;
        let watcher = Watcher {
            history,
            cursor: Cursor {
                next,
                prefix: prefix.to_owned(),
                exact: options.exact,
                prev_kv: options.prev_kv,
            },
            start: next,
            progress: options.progress,
            progress_seen,
            tips,
            ready: VecDeque::new(),
            covered: None,
        };
        Box::pin(stream::unfold(Some(watcher), |watcher| async move {
            let mut watcher = watcher?;
            match watcher.next().await {
                Some(Ok(item)) => Some((Ok(item), Some(watcher))),
                Some(Err(error)) => Some((Err(error), None)),
                None => None,
            }
        }))
    }
}

struct Watcher {
    history: Arc<dyn History>,
    cursor: Cursor,
    /// Where the watch began, maybe in the future.
    start: Revision,
    progress: bool,
    progress_seen: u64,
    tips: Arc<TipSignal>,
    /// Read but not yet delivered.
    ready: VecDeque<WatchEvent>,
    /// The progress to report behind `ready`.
    covered: Option<Revision>,
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<WatchItem, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(WatchItem::Event(event)));
            }
            if let Some(revision) = self.covered.take() {
                return Some(Ok(WatchItem::Progress(revision)));
            }
            let tip = self.tips.now();
            if tip.closed {
                return None;
            }
            if self.cursor.next <= tip.revision {
                match self.history.read(&self.cursor).await {
                    Ok(batch) if batch.next > self.cursor.next => {
                        let last = batch.events.back().map(|event| event.kv.mod_revision);
                        self.covered = last.filter(|_| self.progress);
                        (self.ready, self.cursor.next) = (batch.events, batch.next);
                    }
                    // A gap in the log must not become a gap in the watch, nor an endless loop.
                    Ok(batch) => {
                        let error = Error::Internal(format!("the log has nothing at {}", batch.next));
                        return Some(Err(error));
                    }
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            let due = self.progress && tip.progress_requests != self.progress_seen;
            self.progress_seen = tip.progress_requests;
            if due && let Some(progress) = self.report(tip) {
                return Some(Ok(progress));
            }
            if !self.progress {
                self.tips.later_than(tip).await;
            } else if tokio::time::timeout(PROGRESS_INTERVAL, self.tips.later_than(tip)).await.is_err()
                && let Some(progress) = self.report(tip)
            {
                return Some(Ok(progress));
            }
        }
    }

    /// All of the log is delivered, maybe more than `tip` tells already. A watch that waits for a
    /// future revision has nothing to report: progress below its start would send its reader back.
    fn report(&self, tip: Tip) -> Option<WatchItem> {
        (tip.revision >= self.start - 1).then_some(WatchItem::Progress(self.cursor.next - 1))
    }
}
