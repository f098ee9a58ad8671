//! Queue of the CPU pool. The next task is one of the user with the fewest running tasks. So a user's
//! requests delay other users only by that user's running tasks, and no user can fill the queue alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Overloaded;
use crate::fair_queue::{FairQueue, Place, QueueBounds};

/// Bounds of the waiting requests. Each retains its head and its body. Bodies that are still being received are not counted:
/// seats bound their number.
pub(super) const BOUNDS: QueueBounds = QueueBounds { items_max: 4096, bytes_max: 192 << 20 };

pub(super) struct Queue {
    /// Maximum number of running tasks.
    running_max: usize,
    state: Mutex<State>,
}

struct State {
    running: usize,
    waiting: FairQueue<oneshot::Sender<()>>,
}

/// Place in the queue, and then the permit to run, until it is dropped.
pub(super) struct QueueSlot {
    queue: Arc<Queue>,
    place: Place,
    started: oneshot::Receiver<()>,
}

impl Queue {
    pub(super) fn new(running_max: usize) -> Self {
        Queue { running_max, state: Mutex::new(State { running: 0, waiting: FairQueue::new(BOUNDS) }) }
    }

    /// Adds a request of a user to the queue. It retains `bytes` while it waits.
    pub(super) fn enqueue(self: &Arc<Self>, user: &str, bytes: u64) -> Result<QueueSlot, Overloaded> {
        let (begin, started) = oneshot::channel();
        let mut state = self.state();
        let place = state.waiting.push(user, bytes, begin).map_err(|_| Overloaded)?;
        state.start_next(self.running_max);
        drop(state);
        Ok(QueueSlot { queue: Arc::clone(self), place, started })
    }

    /// True if a request of this user can start or wait.
    pub(super) fn has_room(&self, user: &str, bytes: u64) -> bool {
        self.state().waiting.has_room(user, bytes)
    }

    /// Returns the number of running and waiting requests.
    pub(super) fn current(&self) -> (usize, usize) {
        let state = self.state();
        (state.running, state.waiting.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Starts as many tasks as allowed.
    fn start_next(&mut self, running_max: usize) {
        while self.running < running_max {
            let Some(next) = self.waiting.pop() else { return };
            self.waiting.occupy(&next.user);
            self.running = self.running.saturating_add(1);
            // A waiter that has just given up releases its permit when its place is dropped.
            let _ = next.value.send(());
        }
    }
}

impl QueueSlot {
    /// Waits until the task may start.
    pub(super) async fn wait_for_start(&mut self) {
        // The sender is dropped only after sending, or with the place.
        let _ = (&mut self.started).await;
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if !state.waiting.remove(&self.place) {
            state.running = state.running.saturating_sub(1);
            state.waiting.release(self.place.user());
        }
        state.start_next(self.queue.running_max);
    }
}
