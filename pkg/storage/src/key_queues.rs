//! Queues for contended keys: conflicting writers of a key proceed one after the other.
//!
//! n optimistic writers of one key that retry immediately need about n²/2 transactions, because each conflict
//! wastes one. In a queue each writer needs one, because it starts from its predecessor's result. A queue
//! exists from the first conflict until it is empty. It affects only performance: other processes can write
//! to the key at any time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::KeyValue;

/// The queues of a store's contended keys. They are bounded by the number of writers; a cancelled writer
/// leaves its queue.
#[derive(Debug, Default)]
pub struct KeyQueues {
    queues: Mutex<HashMap<Box<str>, Queue>>,
}

/// The key's value as written by the last writer of the queue. Locked in the order of arrival.
type Slot = Arc<tokio::sync::Mutex<Option<KeyValue>>>;

#[derive(Debug, Default)]
struct Queue {
    slot: Slot,
    /// Number of [`QueueGuard`]s, including waiting ones.
    guard_count: usize,
}

impl KeyQueues {
    /// Waits in the queue of `key` if there is one.
    pub(crate) async fn join<'t>(&'t self, key: &'t str) -> Option<QueueGuard<'t>> {
        let slot = self.queues().get_mut(key)?.enter();
        Some(QueueGuard::wait(self, key, slot).await)
    }

    /// Waits in the queue of `key`, creating it if necessary.
    pub(crate) async fn queue<'t>(&'t self, key: &'t str) -> QueueGuard<'t> {
        let slot = self.queues().entry(key.into()).or_default().enter();
        QueueGuard::wait(self, key, slot).await
    }

    /// Ignores poisoning: every change under the lock is complete.
    fn queues(&self) -> MutexGuard<'_, HashMap<Box<str>, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// The slot to wait for; the caller must create a [`QueueGuard`] for it immediately.
    fn enter(&mut self) -> Slot {
        self.guard_count += 1;
        Arc::clone(&self.slot)
    }
}

/// A place in a queue; dropping it admits the next writer.
#[derive(Debug)]
pub(crate) struct QueueGuard<'t> {
    key_queues: &'t KeyQueues,
    key: &'t str,
    /// `None` while waiting.
    slot: Option<OwnedMutexGuard<Option<KeyValue>>>,
}

impl<'t> QueueGuard<'t> {
    async fn wait(key_queues: &'t KeyQueues, key: &'t str, slot: Slot) -> Self {
        // Created before waiting, so that a cancelled writer leaves the queue.
        let mut turn = QueueGuard { key_queues, key, slot: None };
        turn.slot = Some(slot.lock_owned().await);
        turn
    }

    /// The predecessor's value, if it is newer than `current`.
    pub(crate) fn take_newer_value(&mut self, current: Option<&KeyValue>) -> Option<KeyValue> {
        let current_revision = current.map_or(0, |kv| kv.mod_revision);
        self.slot.as_deref_mut()?.take().filter(|kv| kv.mod_revision > current_revision)
    }

    /// Passes the written value to the next writer.
    pub(crate) fn hand_over(&mut self, written: KeyValue) {
        if let Some(slot) = self.slot.as_deref_mut() {
            *slot = Some(written);
        }
    }
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.slot = None;
        let mut queues = self.key_queues.queues();
        let Some(queue) = queues.get_mut(self.key) else { return };
        queue.guard_count = queue.guard_count.saturating_sub(1);
        if queue.guard_count == 0 {
            queues.remove(self.key);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::Bytes;
    use futures::FutureExt;

    use super::*;

    fn written(mod_revision: i64) -> KeyValue {
        KeyValue::new("/a", Bytes::new(), mod_revision)
    }

    #[test]
    fn join_without_a_queue_does_nothing() {
        let turns = KeyQueues::default();
        assert!(turns.join("/a").now_or_never().unwrap().is_none());
        let turn = turns.queue("/a").now_or_never().unwrap();
        assert!(turns.join("/b").now_or_never().unwrap().is_none());
        assert!(turns.join("/a").now_or_never().is_none(), "it waits");
        drop(turn);
        assert!(turns.queues().is_empty());
    }

    #[test]
    fn turns_are_ordered_and_pass_on_values() {
        let turns = KeyQueues::default();
        let mut first = turns.queue("/a").now_or_never().unwrap();
        let mut second = Box::pin(turns.join("/a"));
        let mut third = Box::pin(turns.queue("/a"));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        first.hand_over(written(7));
        drop(first);
        assert!(third.as_mut().now_or_never().is_none(), "the second comes first");
        let mut second = second.now_or_never().unwrap().unwrap();
        assert_eq!(second.take_newer_value(Some(&written(6))), Some(written(7)));
        second.hand_over(written(8));
        drop(second);
        let mut third = third.now_or_never().unwrap();
        assert_eq!(third.take_newer_value(Some(&written(8))), None, "it is known");
        drop(third);
        assert!(turns.queues().is_empty());
    }

    #[test]
    fn cancelled_writers_leave_the_queue() {
        let turns = KeyQueues::default();
        let first = turns.queue("/a").now_or_never().unwrap();
        let mut gives_up = Box::pin(turns.queue("/a"));
        let mut waits = Box::pin(turns.queue("/a"));
        assert!(gives_up.as_mut().now_or_never().is_none() && waits.as_mut().now_or_never().is_none());
        drop(first);
        drop(gives_up);
        drop(waits.now_or_never().unwrap());
        assert!(turns.queues().is_empty());
    }
}
