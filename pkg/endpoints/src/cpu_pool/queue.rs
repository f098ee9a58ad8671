//! Who may begin heavy work, and who is next: whoever has least of it under way. So one user's many requests delay
//! nobody else's by more than what of them has begun, and none fills the queue alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Full;

/// So many requests may wait for their turn. Each holds its body, so this bounds memory, to under 200 MiB.
pub(super) const WAITING_MAX: usize = 64;

/// So many of them may be one user's.
pub(super) const WAITING_OF_USER_MAX: usize = 16;

/// The queue.
pub(super) struct Queue {
    /// How many may have begun and not ended.
    begun_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: usize,
    /// By user, how many have begun; none is 0.
    begun_of: HashMap<Arc<str>, usize>,
    /// In the order of their arrival.
    waiting: Vec<Waiter>,
    /// The number of the next place.
    next: u64,
}

struct Waiter {
    user: Arc<str>,
    number: u64,
    begin: oneshot::Sender<()>,
}

/// A place in the queue, and then the right to work, until it is dropped.
pub(super) struct QueueSlot {
    queue: Arc<Queue>,
    user: Arc<str>,
    number: u64,
    turn: oneshot::Receiver<()>,
}

impl Queue {
    pub(super) fn new(begun_max: usize) -> Self {
        Queue { begun_max, state: Mutex::default() }
    }

    /// A place for one more request of a user.
    pub(super) fn enter(self: &Arc<Self>, user: &str) -> Result<QueueSlot, Full> {
        let mut state = self.state();
        let of_user = state.waiting.iter().filter(|waiter| *waiter.user == *user).count();
        let must_wait = state.begun >= self.begun_max;
        if must_wait && (state.waiting.len() >= WAITING_MAX || of_user >= WAITING_OF_USER_MAX) {
            return Err(Full);
        }
        let (user, number) = (Arc::<str>::from(user), state.next);
        let (begin, turn) = oneshot::channel();
        state.next = number.wrapping_add(1);
        state.waiting.push(Waiter { user: Arc::clone(&user), number, begin });
        state.begin_next(self.begun_max);
        drop(state);
        Ok(QueueSlot { queue: Arc::clone(self), user, number, turn })
    }

    /// How many have begun and how many wait, now.
    pub(super) fn current(&self) -> (usize, usize) {
        let state = self.state();
        (state.begun, state.waiting.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets as many begin as may.
    fn begin_next(&mut self, begun_max: usize) {
        while self.begun < begun_max {
            let begun_of = |waiter: &Waiter| self.begun_of.get(&waiter.user).copied().unwrap_or(0);
            let next = self.waiting.iter().enumerate().min_by_key(|(_, waiter)| begun_of(waiter));
            let Some((at, _)) = next else { return };
            let Waiter { user, begin, .. } = self.waiting.remove(at);
            let count = self.begun_of.entry(user).or_default();
            *count = count.saturating_add(1);
            self.begun = self.begun.saturating_add(1);
            // Who has just given up gives the turn back with their place.
            let _ = begin.send(());
        }
    }

    /// Takes back what a place has had.
    fn leave(&mut self, user: &Arc<str>, number: u64) {
        if let Some(at) = self.waiting.iter().position(|waiter| waiter.number == number) {
            self.waiting.remove(at);
            return;
        }
        self.begun = self.begun.saturating_sub(1);
        if let Some(count) = self.begun_of.get_mut(user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.begun_of.remove(user);
            }
        }
    }
}

impl QueueSlot {
    /// Waits until the work may begin.
    pub(super) async fn turn(&mut self) {
        // The sender goes only by sending, or with the place.
        let _ = (&mut self.turn).await;
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.leave(&self.user, self.number);
        state.begin_next(self.queue.begun_max);
    }
}
