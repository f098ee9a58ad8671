//! Requests that wait for memory: a fair queue per class of claims. Within a class, users get memory in turns.
//! If the first claim of a class does not fit, those of the next class are tried.

use std::array;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endpoints::fair_queue::{FairQueue, Place, QueueBounds};
use tokio::sync::oneshot;

use super::Claim;

/// Maximum number of waiting claims per class.
pub(super) const WAITING_MAX: usize = 1024;
/// Waiting claims of a class retain at most this fraction of the limit (1/n).
const RETAINED_DIVISOR: u64 = 16;

pub(super) struct WaitQueue {
    /// Number of waiting claims. Read without the lock, so that a release without waiters takes none.
    waiting: AtomicUsize,
    classes: Mutex<[FairQueue<Waiter>; Claim::CLASSES]>,
}

struct Waiter {
    claim: Claim,
    granted: oneshot::Sender<()>,
}

/// Claim that waits for its memory.
pub(super) struct WaitingClaim {
    claim: Claim,
    place: Place,
    granted: oneshot::Receiver<()>,
}

impl WaitingClaim {
    /// Waits until the claim was added to the reserved memory.
    pub(super) async fn granted(&mut self) {
        // The sender is dropped only after sending, or with the place.
        let _ = (&mut self.granted).await;
    }
}

impl WaitQueue {
    /// Creates a queue for a memory limit in bytes.
    pub(super) fn new(limit: u64) -> Self {
        let bounds = QueueBounds { items_max: WAITING_MAX, bytes_max: limit / RETAINED_DIVISOR };
        let classes = Mutex::new(array::from_fn(|_| FairQueue::new(bounds)));
        WaitQueue { waiting: AtomicUsize::new(0), classes }
    }

    /// Number of waiting claims.
    pub(super) fn len(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// Adds a claim, and grants what fits. Returns `None` if the queue is full.
    pub(super) fn push(
        &self,
        claim: Claim,
        user: &str,
        retained_bytes: u64,
        add: impl Fn(Claim) -> bool,
    ) -> Option<WaitingClaim> {
        let (sender, granted) = oneshot::channel();
        let mut classes = self.classes();
        let class = classes.get_mut(claim.class())?;
        let place = class.push(user, retained_bytes, Waiter { claim, granted: sender }).ok()?;
        // Before the memory is checked. A release checks in the opposite order, so it cannot miss this claim.
        self.waiting.fetch_add(1, SeqCst);
        self.grant_locked(&mut *classes, &add);
        Some(WaitingClaim { claim, place, granted })
    }

    /// Grants waiting claims as long as `add` finds memory for them.
    pub(super) fn grant(&self, add: impl Fn(Claim) -> bool) {
        if self.len() > 0 {
            self.grant_locked(&mut *self.classes(), &add);
        }
    }

    /// Removes a claim. Returns false if its memory was already added.
    pub(super) fn remove(&self, waiting: &WaitingClaim) -> bool {
        let mut classes = self.classes();
        let class = classes.get_mut(waiting.claim.class());
        let is_removed = class.is_some_and(|class| class.remove(&waiting.place));
        self.waiting.fetch_sub(usize::from(is_removed), SeqCst);
        is_removed
    }

    fn grant_locked(&self, classes: &mut [FairQueue<Waiter>], add: &impl Fn(Claim) -> bool) {
        for class in classes.iter_mut().rev() {
            while class.front().is_some_and(|waiter| add(waiter.claim)) {
                let Some(served) = class.pop() else { break };
                self.waiting.fetch_sub(1, SeqCst);
                // If the wait ends at this moment, its drop releases the memory, because its place is gone.
                let _ = served.value.granted.send(());
            }
        }
    }

    fn classes(&self) -> MutexGuard<'_, [FairQueue<Waiter>; Claim::CLASSES]> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
