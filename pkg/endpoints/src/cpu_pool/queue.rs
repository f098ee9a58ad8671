//! Queue of the CPU pool. The next task is one of the user with the fewest running tasks. So a user's
//! requests delay other users only by that user's running tasks, and no user can fill the queue alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Full;

/// Maximum number of waiting requests. Each holds its body, so this limits memory to less than 200 MiB.
pub(super) const WAITING_MAX: usize = 64;

/// Maximum number of waiting requests per user.
pub(super) const WAITING_OF_USER_MAX: usize = 16;

pub(super) struct Queue {
    /// Maximum number of running tasks.
    running_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Number of running tasks by user; zero entries are removed.
    running_by_user: HashMap<Arc<str>, usize>,
    /// In order of arrival.
    waiting: Vec<Waiter>,
    next: u64,
}

struct Waiter {
    user: Arc<str>,
    number: u64,
    begin: oneshot::Sender<()>,
}

/// Place in the queue, and then the permit to run, until it is dropped.
pub(super) struct QueueSlot {
    queue: Arc<Queue>,
    user: Arc<str>,
    number: u64,
    started: oneshot::Receiver<()>,
}

impl Queue {
    pub(super) fn new(running_max: usize) -> Self {
        Queue { running_max, state: Mutex::default() }
    }

    /// Adds a request of a user to the queue.
    pub(super) fn enqueue(self: &Arc<Self>, user: &str) -> Result<QueueSlot, Full> {
        let mut state = self.state();
        let of_user = state.waiting.iter().filter(|waiter| *waiter.user == *user).count();
        let must_wait = state.running >= self.running_max;
        if must_wait && (state.waiting.len() >= WAITING_MAX || of_user >= WAITING_OF_USER_MAX) {
            return Err(Full);
        }
        let user = Arc::<str>::from(user);
        let number = state.next;
        let (begin, started) = oneshot::channel();
        state.next = number.wrapping_add(1);
        state.waiting.push(Waiter { user: Arc::clone(&user), number, begin });
        state.start_next(self.running_max);
        drop(state);
        Ok(QueueSlot { queue: Arc::clone(self), user, number, started })
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
    fn start_next(&mut self, begun_max: usize) {
        while self.running < begun_max {
            let begun_of = |waiter: &Waiter| self.running_by_user.get(&waiter.user).copied().unwrap_or(0);
            let next = self.waiting.iter().enumerate().min_by_key(|(_, waiter)| begun_of(waiter));
            let Some((at, _)) = next else { return };
            let Waiter { user, begin, .. } = self.waiting.remove(at);
            let count = self.running_by_user.entry(user).or_default();
            *count = count.saturating_add(1);
            self.running = self.running.saturating_add(1);
            // A waiter that has just given up releases its permit when its place is dropped.
            let _ = begin.send(());
        }
    }

    /// Removes a place and its permit.
    fn remove(&mut self, user: &Arc<str>, number: u64) {
        if let Some(at) = self.waiting.iter().position(|waiter| waiter.number == number) {
            self.waiting.remove(at);
            return;
        }
        self.running = self.running.saturating_sub(1);
        if let Some(count) = self.running_by_user.get_mut(user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running_by_user.remove(user);
            }
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
        state.remove(&self.user, self.number);
        state.start_next(self.queue.running_max);
    }
}
