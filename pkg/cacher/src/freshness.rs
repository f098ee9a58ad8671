//! How far the caches of one store have come, and waiting for them to come further.
//!
//! All caches are fed by one watch, so one number says it for all of them: every change of a cached
//! resource up to the [`Frontier`] is in its cache. A reader that needs more waits here.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use storage::{Revision, Storage};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How long a reader waits for the caches at most (upstream's `blockTimeout`).
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(3);

/// How long the watch has to deliver a revision before the store is asked where it stands: the last
/// write may have been to a key that nobody watches. Longer than a delivery takes, so that a busy
/// store is not asked at all; much shorter than upstream's 100 ms.
const PROGRESS_AFTER: Duration = Duration::from_millis(5);

/// How often the store is asked again while somebody waits.
const PROGRESS_AGAIN: Duration = Duration::from_millis(75);

/// The revision up to which all caches are complete. It never goes back.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    revision: Arc<AtomicI64>,
    moved: Notify,
    /// The greatest revision known to exist that somebody waited for.
    known: AtomicI64,
    /// Those who wait for a revision known to exist, and those who wait for whatever they were told.
    waiting_known: AtomicUsize,
    waiting_named: AtomicUsize,
    arrived: Notify,
    /// The store will not say where it stands.
    refused: Notify,
}

/// Counts one who waits, while it lives.
struct WaiterGuard<'a>(&'a AtomicUsize);

impl<'a> WaiterGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        WaiterGuard(count)
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Frontier {
    /// Where it stands. A reader that loads it before a snapshot knows that the snapshot is complete
    /// up to here.
    pub(crate) fn load(&self) -> Revision {
        self.revision.load(Ordering::SeqCst)
    }

    /// For the caches, which only look at it.
    pub(crate) fn handle(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.revision)
    }

    /// Every cache is complete up to `revision` now.
    pub(crate) fn publish(&self, revision: Revision) {
        if self.revision.fetch_max(revision, Ordering::SeqCst) < revision {
            self.moved.notify_waiters();
        }
    }

    /// Waits until `revision`, which the store was seen to have, is reached. Gives up after
    /// [`WAIT_MAX`], or when the store refuses to say how far the watch is (upstream does not even begin to
    /// wait, where etcd is too old to be trusted about that); says whether it was reached.
    pub(crate) async fn wait_for_known(&self, revision: Revision) -> bool {
        if self.load() >= revision {
            return true;
        }
        self.known.fetch_max(revision, Ordering::SeqCst);
        tokio::select! {
            biased;
            reached = self.wait(&self.waiting_known, revision) => reached,
            () = self.refused.notified() => self.load() >= revision,
        }
    }

    /// As [`wait_for_known`](Self::wait_for_known), for a revision that a client named and that may
    /// lie far in the future.
    pub(crate) async fn wait_for_named(&self, revision: Revision) -> bool {
        self.load() >= revision || self.wait(&self.waiting_named, revision).await
    }

    async fn wait(&self, count: &AtomicUsize, revision: Revision) -> bool {
        let _waiting = WaiterGuard::new(count);
        self.arrived.notify_one();
        timeout(WAIT_MAX, self.reached(revision)).await.is_ok()
    }

    async fn reached(&self, revision: Revision) {
        loop {
            let mut moved = pin!(self.moved.notified());
            // From here on no move is missed; so look only now.
            moved.as_mut().enable();
            if self.load() >= revision {
                return;
            }
            moved.await;
        }
    }

    /// Asks the store for progress while somebody waits in vain. Runs for ever.
    pub(crate) async fn chase(&self, store: &dyn Storage) {
        loop {
            self.arrived.notified().await;
            while self.has_lagging_readers().await {
                if let Err(error) = store.request_progress().await {
                    tracing::debug!(%error, "no progress for readers that wait");
                    if matches!(error, storage::Error::Refused(_)) {
                        self.refused.notify_waiters();
                    }
                }
                let target = self.known.load(Ordering::SeqCst);
                if self.load() < target {
                    let _ = timeout(PROGRESS_AGAIN, self.reached(target)).await;
                } else {
                    let _ = timeout(PROGRESS_AGAIN, self.arrived.notified()).await;
                }
            }
        }
    }

    /// Gives the watch its time, then says whether there is somebody for whom to ask. What came into
    /// being while the watch had its time is given time of its own.
    async fn has_lagging_readers(&self) -> bool {
        let target = self.known.load(Ordering::SeqCst);
        let reached = async {
            self.reached(target).await;
            self.waiting_named.load(Ordering::SeqCst) > 0
        };
        tokio::select! {
            biased;
            named = reached => if named { sleep(PROGRESS_AFTER).await },
            () = sleep(PROGRESS_AFTER) => {}
        }
        let known = self.load() < target && self.waiting_known.load(Ordering::SeqCst) > 0;
        known || self.waiting_named.load(Ordering::SeqCst) > 0
    }
}

#[cfg(test)]
mod tests;
