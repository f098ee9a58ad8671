//! Watches as cursors over a shared log. A watcher is a position, a filter and a waker. There are no queues
//! per watcher, a slow watcher blocks no other, and a watcher that falls behind the available history ends
//! with an error instead of missing events.
//!
//! The backend implements the log as a [`History`] and calls [`Feed::advance`] after each write.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream;
use tokio::sync::{Notify, watch};

use crate::mvcc::Change;
use crate::{Error, Revision, WatchEvent, WatchItem, WatchOptions, WatchStream};

/// Maximum number of events in a read of the log, so that locks are held briefly and an unread watcher holds
/// little memory.
pub const EVENTS_PER_READ_MAX: usize = 128;

/// Maximum number of changes that a read of the log scans, matching or not.
pub const CHANGES_PER_READ_MAX: usize = 4096;

/// Interval of progress on idle watches with `progress`.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// The filter and position of a watcher.
#[derive(Debug, Clone)]
pub struct Cursor {
    /// The next revision to read.
    pub next: Revision,
    prefix: String,
    exact: bool,
    prev_kv: bool,
}

impl Cursor {
    /// True if the watcher selects `key`.
    pub fn selects(&self, key: &str) -> bool {
        if self.exact { key == self.prefix } else { key.starts_with(&self.prefix) }
    }

    /// True if its events include the previous value.
    pub fn wants_previous(&self) -> bool {
        self.prev_kv
    }

    /// Converts consecutive changes, starting at `self.next`, to the watcher's events, within the limits of
    /// one read.
    pub fn read<'a>(&self, changes: impl Iterator<Item = &'a Change>) -> Batch {
        let mut batch = Batch { events: VecDeque::new(), next: self.next };
        for change in changes.take(CHANGES_PER_READ_MAX) {
            batch.next = change.revision + 1;
            if self.selects(&change.key) {
                batch.events.push_back(change.event(self.prev_kv));
                if batch.events.len() == EVENTS_PER_READ_MAX {
                    break;
                }
            }
        }
        batch
    }
}

/// The result of a read of the log.
#[derive(Debug)]
pub struct Batch {
    /// Events that the watcher selects, at most [`EVENTS_PER_READ_MAX`].
    pub events: VecDeque<WatchEvent>,
    /// Revision at which the next read starts.
    pub next: Revision,
}

/// The log that watchers read.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// Reads from `cursor.next`, which must exist. At least one change is scanned.
    ///
    /// # Errors
    /// [`Error::Compacted`] if that part of the log is no longer available; any error ends the watch.
    async fn read(&self, cursor: &Cursor) -> Result<Batch, Error>;
}

/// The state that watchers wait on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tip {
    /// Changes up to this revision are available.
    revision: Revision,
    progress_requests: u64,
    /// True after shutdown.
    closed: bool,
}

/// The tip, with its waiters. Watchers are woken in the order in which they started to wait, which makes
/// simulations deterministic: a `tokio::sync::watch` wakes in any order.
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

    /// Waits until the tip differs from `previous`.
    async fn wait_for_change(&self, previous: Tip) {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            // Registers before the check; otherwise a change in between would be missed.
            moved.as_mut().enable();
            if self.now() != previous {
                return;
            }
            moved.await;
        }
    }
}

/// Publishes the end of the log to watchers, and its compacted revision to receivers.
#[derive(Debug)]
pub struct Feed {
    tips: Arc<TipSignal>,
    compacted: watch::Sender<Revision>,
}

impl Drop for Feed {
    /// No more writes are possible: every watch ends.
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

    /// Publishes that the log ends at `revision`.
    pub fn advance(&self, revision: Revision) {
        self.tips.change(|tip| tip.revision = tip.revision.max(revision));
    }

    /// Publishes a compaction to `revision`, unless it is an older one.
    pub fn compact(&self, revision: Revision) {
        self.compacted.send_if_modified(|compacted| {
            let later = revision > *compacted;
            *compacted = revision.max(*compacted);
            later
        });
    }

    /// Receiver of the compacted revision.
    pub fn compacted(&self) -> watch::Receiver<Revision> {
        self.compacted.subscribe()
    }

    /// Makes every watch with `progress` report it after delivering all available events.
    pub fn request_progress(&self) {
        self.tips.change(|tip| tip.progress_requests += 1);
    }

    /// Ends every watch without an error.
    pub fn close(&self) {
        self.tips.change(|tip| tip.closed = true);
    }

    /// A watch from `next` on. The caller must have checked that this part of the log is available.
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
            pending_progress: None,
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
    /// The start of the watch, possibly in the future.
    start: Revision,
    progress: bool,
    progress_seen: u64,
    tips: Arc<TipSignal>,
    /// Events that are read but not yet delivered.
    ready: VecDeque<WatchEvent>,
    /// The progress to report after `ready`.
    pending_progress: Option<Revision>,
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<WatchItem, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(WatchItem::Event(event)));
            }
            if let Some(revision) = self.pending_progress.take() {
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
                        self.pending_progress = last.filter(|_| self.progress);
                        (self.ready, self.cursor.next) = (batch.events, batch.next);
                    }
                    // A gap in the log must cause neither a gap in the watch nor an endless loop.
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
                self.tips.wait_for_change(tip).await;
            } else if tokio::time::timeout(PROGRESS_INTERVAL, self.tips.wait_for_change(tip)).await.is_err()
                && let Some(progress) = self.report(tip)
            {
                return Some(Ok(progress));
            }
        }
    }

    /// Progress for the delivered log, which may go beyond `tip`. A watch that waits for a future revision
    /// reports none: progress below its start would send its reader back.
    fn report(&self, tip: Tip) -> Option<WatchItem> {
        (tip.revision >= self.start - 1).then_some(WatchItem::Progress(self.cursor.next - 1))
    }
}
