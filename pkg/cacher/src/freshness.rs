//! The progress of the caches of one store, and waiting for it.
//!
//! All caches are fed by one watch, so they share one number: every change of a cached resource up to the
//! [`Frontier`] is in its cache. A reader that needs more waits here.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use storage::{Revision, Storage};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Maximum time a reader waits for the caches (upstream's `blockTimeout`).
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(3);

/// Time for the watch to deliver a revision before a progress notification is requested from the store: the
/// last write may be to an unwatched key. It exceeds the usual delivery time, so a busy store gets no
/// requests. Much shorter than upstream's 100 ms.
const PROGRESS_DELAY: Duration = Duration::from_millis(5);

/// Interval of further progress requests while readers wait.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(75);

/// The revision up to which all caches are complete. It never decreases.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    revision: Arc<AtomicI64>,
    advanced: Notify,
    /// The greatest awaited revision that is known to exist.
    awaited_revision: AtomicI64,
    /// Number of readers that wait for a revision that exists, and for a revision given by a client.
    existing_waiters: AtomicUsize,
    requested_waiters: AtomicUsize,
    waiter_added: Notify,
    /// Notified when the store rejects a progress request.
    progress_rejected: Notify,
}

/// Counts a waiting reader until it is dropped.
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
    /// The current revision. A snapshot that is loaded afterwards is complete up to it.
    pub(crate) fn load(&self) -> Revision {
        self.revision.load(Ordering::SeqCst)
    }

    /// Read-only handle for the caches.
    pub(crate) fn handle(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.revision)
    }

    /// Advances the frontier: every cache is now complete up to `revision`.
    pub(crate) fn publish(&self, revision: Revision) {
        if self.revision.fetch_max(revision, Ordering::SeqCst) < revision {
            self.advanced.notify_waiters();
        }
    }

    /// Waits until `revision`, which exists in the store, is reached. Gives up after [`WAIT_MAX`], or if the
    /// store rejects progress requests. (Upstream does not wait at all if etcd is too old for reliable
    /// progress.) Returns true if the revision was reached.
    pub(crate) async fn wait_for_existing(&self, revision: Revision) -> bool {
        if self.load() >= revision {
            return true;
        }
        self.awaited_revision.fetch_max(revision, Ordering::SeqCst);
        tokio::select! {
            biased;
            reached = self.wait(&self.existing_waiters, revision) => reached,
            () = self.progress_rejected.notified() => self.load() >= revision,
        }
    }

    /// Like [`wait_for_existing`](Self::wait_for_existing), for a revision given by a client. It may be far in the
    /// future.
    pub(crate) async fn wait_for_requested(&self, revision: Revision) -> bool {
        self.load() >= revision || self.wait(&self.requested_waiters, revision).await
    }

    async fn wait(&self, count: &AtomicUsize, revision: Revision) -> bool {
        let _waiting = WaiterGuard::new(count);
        self.waiter_added.notify_one();
        timeout(WAIT_MAX, self.wait_until_reached(revision)).await.is_ok()
    }

    async fn wait_until_reached(&self, revision: Revision) {
        loop {
            let mut moved = pin!(self.advanced.notified());
            // Registers for notifications before the check, so that none is missed.
            moved.as_mut().enable();
            if self.load() >= revision {
                return;
            }
            moved.await;
        }
    }

    /// Requests progress from the store while readers wait without success. Runs forever.
    pub(crate) async fn poll_progress(&self, store: &dyn Storage) {
        loop {
            self.waiter_added.notified().await;
            while self.has_lagging_readers().await {
                if let Err(error) = store.request_progress().await {
                    tracing::debug!(%error, "progress request failed; readers keep waiting");
                    if matches!(error, storage::Error::Rejected(_)) {
                        self.progress_rejected.notify_waiters();
                    }
                }
                let target = self.awaited_revision.load(Ordering::SeqCst);
                if self.load() < target {
                    let _ = timeout(PROGRESS_INTERVAL, self.wait_until_reached(target)).await;
                } else {
                    let _ = timeout(PROGRESS_INTERVAL, self.waiter_added.notified()).await;
                }
            }
        }
    }

    /// Gives the watch time to deliver, then returns true if readers still wait. Revisions that appear
    /// meanwhile get their own time.
    async fn has_lagging_readers(&self) -> bool {
        let target = self.awaited_revision.load(Ordering::SeqCst);
        let reached = async {
            self.wait_until_reached(target).await;
            self.requested_waiters.load(Ordering::SeqCst) > 0
        };
        tokio::select! {
            biased;
            named = reached => if named { sleep(PROGRESS_DELAY).await },
            () = sleep(PROGRESS_DELAY) => {}
        }
        let has_existing = self.load() < target && self.existing_waiters.load(Ordering::SeqCst) > 0;
        has_existing || self.requested_waiters.load(Ordering::SeqCst) > 0
    }
}

#[cfg(test)]
mod tests;
