//! Work queue without duplicates, with back-off per item. Pure: times are parameters.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// First and longest delay after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(60));

/// Item of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Work {
    /// Namespace by name: its default objects, or its deletion.
    Namespace(Arc<str>),
    /// Object by storage key: its owners and dependents.
    Object(Arc<str>),
}

/// Result of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing to do until the next event.
    Done,
    /// Retry with back-off.
    Failed,
    /// Look again after this time, even without an event.
    After(Duration),
}

#[derive(Default)]
struct ItemState {
    queued: bool,
    running: bool,
    failures: u32,
    delayed_until: Option<Instant>,
}

/// The queue. It holds each item at most once, so its size is at most the number of stored objects.
#[derive(Default)]
pub(super) struct WorkQueue {
    items: HashMap<Work, ItemState>,
    namespaces: VecDeque<Work>,
    objects: VecDeque<Work>,
    delayed: BTreeSet<(Instant, Work)>,
    running_namespaces: usize,
    running_objects: usize,
}

impl WorkQueue {
    /// Adds an item. An item that is running is queued again when it ends.
    pub(super) fn add(&mut self, work: Work) {
        let state = self.items.entry(work.clone()).or_default();
        if state.queued {
            return;
        }
        state.queued = true;
        let running = state.running;
        if let Some(at) = state.delayed_until.take() {
            self.delayed.remove(&(at, work.clone()));
        }
        if !running {
            self.push(work);
        }
    }

    fn push(&mut self, work: Work) {
        match work {
            Work::Namespace(_) => self.namespaces.push_back(work),
            Work::Object(_) => self.objects.push_back(work),
        }
    }

    /// Starts the next namespace, if fewer than `running_max` are running.
    pub(super) fn start_namespace(&mut self, running_max: usize) -> Option<Work> {
        if self.running_namespaces >= running_max {
            return None;
        }
        let work = self.namespaces.pop_front()?;
        self.running_namespaces += 1;
        self.start(work)
    }

    /// Starts the next object, if fewer than `running_max` are running.
    pub(super) fn start_object(&mut self, running_max: usize) -> Option<Work> {
        if self.running_objects >= running_max {
            return None;
        }
        let work = self.objects.pop_front()?;
        self.running_objects += 1;
        self.start(work)
    }

    fn start(&mut self, work: Work) -> Option<Work> {
        let state = self.items.entry(work.clone()).or_default();
        state.queued = false;
        state.running = true;
        Some(work)
    }

    /// Ends an item that was started.
    pub(super) fn finish(&mut self, work: Work, outcome: Outcome, now: Instant) {
        match &work {
            Work::Namespace(_) => self.running_namespaces = self.running_namespaces.saturating_sub(1),
            Work::Object(_) => self.running_objects = self.running_objects.saturating_sub(1),
        }
        let Some(state) = self.items.get_mut(&work) else { return };
        state.running = false;
        let delay = match outcome {
            Outcome::Done => None,
            Outcome::After(delay) => Some(delay),
            Outcome::Failed => {
                let delay = BACKOFF.0.saturating_mul(2_u32.saturating_pow(state.failures)).min(BACKOFF.1);
                state.failures = state.failures.saturating_add(1);
                Some(delay)
            }
        };
        if outcome != Outcome::Failed {
            state.failures = 0;
        }
        // An event during the run starts the next one at once, but not faster than failures may repeat.
        let waits_anyway = outcome == Outcome::Failed;
        match delay {
            Some(delay) if waits_anyway || !state.queued => {
                let at = now + delay;
                state.queued = false;
                state.delayed_until = Some(at);
                self.delayed.insert((at, work));
            }
            _ if state.queued => self.push(work),
            _ => _ = self.items.remove(&work),
        }
    }

    /// Returns the time at which the next delayed item is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, _)| *at)
    }

    /// Queues the delayed items that are due.
    pub(super) fn release_due(&mut self, now: Instant) {
        while let Some((at, work)) = self.delayed.first().cloned()
            && at <= now
        {
            self.delayed.remove(&(at, work.clone()));
            if let Some(state) = self.items.get_mut(&work) {
                state.delayed_until = None;
            }
            self.add(work);
        }
    }

    /// Drops everything that is not running.
    pub(super) fn clear(&mut self) {
        self.namespaces.clear();
        self.objects.clear();
        self.delayed.clear();
        self.items.retain(|_, state| state.running);
        self.items
            .values_mut()
            .for_each(|state| *state = ItemState { running: true, ..ItemState::default() });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn object(key: &str) -> Work {
        Work::Object(key.into())
    }

    #[test]
    fn items_are_queued_once() {
        let mut queue = WorkQueue::default();
        queue.add(object("a"));
        queue.add(object("a"));
        assert_eq!(queue.start_object(9), Some(object("a")));
        assert_eq!(queue.start_object(9), None);
    }

    #[test]
    fn running_item_is_repeated_after_event() {
        let mut queue = WorkQueue::default();
        let now = Instant::now();
        queue.add(object("a"));
        queue.start_object(9).unwrap();
        queue.add(object("a"));
        assert_eq!(queue.start_object(9), None, "one run at a time");
        queue.finish(object("a"), Outcome::Done, now);
        assert_eq!(queue.start_object(9), Some(object("a")));
        queue.finish(object("a"), Outcome::Done, now);
        assert!(queue.items.is_empty());
    }

    #[test]
    fn failures_back_off() {
        let mut queue = WorkQueue::default();
        let mut now = Instant::now();
        queue.add(object("a"));
        let mut delays = Vec::new();
        for _ in 0..16 {
            let work = queue.start_object(9).unwrap();
            queue.add(work.clone());
            queue.finish(work, Outcome::Failed, now);
            let due = queue.next_due().unwrap();
            delays.push((due - now).as_millis());
            now = due;
            queue.release_due(now);
        }
        assert_eq!(delays[..4], [5, 10, 20, 40]);
        assert_eq!(delays[14..], [60_000, 60_000]);
    }

    #[test]
    fn event_ends_a_delay() {
        let mut queue = WorkQueue::default();
        let now = Instant::now();
        let work = Work::Namespace("ns".into());
        queue.add(work.clone());
        queue.start_namespace(1).unwrap();
        queue.finish(work.clone(), Outcome::After(Duration::from_secs(15)), now);
        queue.release_due(now);
        assert_eq!(queue.start_namespace(1), None);
        queue.add(work.clone());
        assert_eq!(queue.next_due(), None);
        assert_eq!(queue.start_namespace(1), Some(work));
    }

    #[test]
    fn running_items_are_limited() {
        let mut queue = WorkQueue::default();
        ["a", "b", "c"].into_iter().for_each(|key| queue.add(object(key)));
        assert!(queue.start_object(2).is_some() && queue.start_object(2).is_some());
        assert_eq!(queue.start_object(2), None);
        queue.finish(object("a"), Outcome::Done, Instant::now());
        assert_eq!(queue.start_object(2), Some(object("c")));
    }

    #[test]
    fn clear_keeps_running_items() {
        let mut queue = WorkQueue::default();
        ["a", "b"].into_iter().for_each(|key| queue.add(object(key)));
        queue.start_object(9).unwrap();
        queue.add(object("a"));
        queue.clear();
        assert_eq!(queue.start_object(9), None);
        queue.finish(object("a"), Outcome::Done, Instant::now());
        assert!(queue.items.is_empty());
    }
}
