//! The log and its watches: the data behind the lock of a cache.

use std::sync::Arc;
use std::task::Waker;

use smallvec::SmallVec;
use storage::Revision;
use tokio::time::Instant;

use super::log::Log;
use super::topics::{Layout, Subscription, Topics};
use super::{Change, Interest, Limits, Selection};
use crate::Error;
use crate::watch::Lag;

/// Maximum number of changes that a watch takes at once.
const BATCH_MAX: usize = 32;

/// Changes that a watch has taken but not delivered. One or two need no allocation; more occur only in
/// bursts.
pub(crate) type ChangeBatch = SmallVec<[Arc<Change>; 2]>;

#[derive(Debug)]
pub(crate) struct Position {
    /// The next change to read.
    next: u64,
    /// `None` while the watch is so far behind that it scans the log instead of waiting for a topic.
    subscription: Option<Subscription>,
}

/// The position of a watch at its last read, for observers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    next: u64,
    subscription: Option<Subscription>,
}

impl Position {
    pub(crate) fn mark(&self) -> Mark {
        Mark { next: self.next, subscription: self.subscription }
    }
}

/// Size of a resource's log and number of its watches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) log_length: usize,
    pub(crate) log_capacity: usize,
    /// Position of the next change.
    pub(crate) log_end: u64,
    /// Size of superseded objects in bytes.
    pub(crate) log_bytes: usize,
    pub(crate) watches: usize,
}

/// The result of a log read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// Some changes, or none among the scanned ones. Read again.
    More,
    /// No changes up to this revision. The waker is registered.
    Idle(Revision),
    /// An unread change was dropped from the log.
    Overrun,
    /// The cache was reset.
    Closed,
}

/// Work to do after the lock has been released.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    wakers: Vec<Waker>,
    /// Dropped changes; freeing them may take a while.
    dropped: Vec<Arc<Change>>,
}

impl Effects {
    pub(crate) fn merge(&mut self, other: Effects) {
        self.wakers.extend(other.wakers);
        self.dropped.extend(other.dropped);
    }

    pub(crate) fn run(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }
}

/// Time and reason of a cache's being not ready.
#[derive(Debug)]
struct Downtime {
    since: Instant,
    reason: Option<String>,
}

/// The log of a resource and its watches.
#[derive(Debug)]
pub(crate) struct State {
    limits: Limits,
    log: Log,
    topics: Topics,
    downtime: Option<Downtime>,
    /// The newest revision to which storage has been compacted.
    compacted: Revision,
    watches: usize,
    /// The frames of changes before this position have been dropped.
    frames_dropped_until: u64,
    /// The end of the log at the last sweep.
    sweep_position: u64,
}

impl State {
    pub(crate) fn new(prefix: String, index: Option<usize>, limits: Limits, now: Instant) -> Self {
        State {
            limits: Limits { scan_max: limits.scan_max.max(1), ..limits },
            log: Log::new(),
            topics: Topics::new(Layout { prefix, index }),
            downtime: Some(Downtime { since: now, reason: None }),
            compacted: 0,
            watches: 0,
            frames_dropped_until: 0,
            sweep_position: 0,
        }
    }

    /// Starts with the state at `revision`.
    pub(crate) fn open(&mut self, revision: Revision) -> Effects {
        let effects = self.restart(revision);
        self.downtime = None;
        effects
    }

    /// Marks the cache as not ready. If it is not ready already, only the reason changes.
    pub(crate) fn close(&mut self, reason: Option<String>, now: Instant) -> Effects {
        let since = self.downtime.as_ref().map_or(now, |down| down.since);
        self.downtime = Some(Downtime { since, reason });
        self.restart(0)
    }

    fn restart(&mut self, revision: Revision) -> Effects {
        let mut effects = Effects { dropped: self.log.open(revision), ..Effects::default() };
        self.topics.close(&mut effects.wakers);
        effects
    }

    /// The error for reads while the cache is not ready.
    pub(crate) fn not_ready(&self, now: Instant) -> Error {
        let down = self.downtime.as_ref();
        let seconds = down.map_or(0.0, |down| now.saturating_duration_since(down.since).as_secs_f64());
        let retry_after_seconds = (0.06 * seconds).exp().clamp(1.0, 30.0) as u32;
        Error::NotReady { retry_after_seconds, reason: down.and_then(|down| down.reason.clone()) }
    }

    pub(crate) fn append(&mut self, changes: Vec<Arc<Change>>, now: Instant) -> Effects {
        let mut effects = Effects::default();
        for change in changes {
            let position = self.log.push(Arc::clone(&change), now);
            self.topics.publish(position, &change, &mut effects.wakers);
        }
        self.evict(now, &mut effects.dropped);
        effects
    }

    /// Drops old changes and releases memory. Returns the end of the log at the previous call: frames of
    /// older changes are dropped first.
    pub(crate) fn sweep(&mut self, now: Instant) -> (Effects, u64) {
        let mut effects = Effects::default();
        self.evict(now, &mut effects.dropped);
        self.log.shrink();
        (effects, std::mem::replace(&mut self.sweep_position, self.log.end()))
    }

    fn evict(&mut self, now: Instant, dropped: &mut Vec<Arc<Change>>) {
        while let Some((position, change)) = self.log.evict(&self.limits, now) {
            self.topics.remove_oldest(position, &change);
            dropped.push(change);
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.log.end()
    }

    /// Starts a watch with the next change.
    pub(crate) fn start_from_now(&mut self, selection: &Selection) -> Position {
        self.start(selection, self.log.end())
    }

    /// Starts a watch with the first change after `revision`.
    ///
    /// # Errors
    /// [`Error::TooOld`] if later changes are no longer in the log.
    pub(crate) fn resume(&mut self, selection: &Selection, revision: Revision) -> Result<Position, Error> {
        let oldest = self.log.oldest();
        if revision < oldest {
            return Err(Error::TooOld { requested: revision, oldest });
        }
        Ok(self.start(selection, self.log.after(revision)))
    }

    fn start(&mut self, selection: &Selection, next: u64) -> Position {
        self.watches += 1;
        Position { next, subscription: self.subscribe(selection, next) }
    }

    /// Subscribes a watch to its topic if building the topic's queue requires a short scan only.
    fn subscribe(&mut self, selection: &Selection, next: u64) -> Option<Subscription> {
        let interest = self.topics.layout().interest(selection);
        let end = self.log.end();
        let near = end.saturating_sub(next) <= self.limits.scan_max as u64;
        (near || interest == Interest::All)
            .then(|| self.topics.subscribe(interest, next, self.log.range(next..end)))
    }

    pub(crate) fn end_watch(&mut self, position: &mut Position) {
        self.watches = self.watches.saturating_sub(1);
        if let Some(subscription) =
            position.subscription.take().filter(|_| !self.log.is_before_opening(position.next))
        {
            self.topics.unsubscribe(subscription);
        }
    }

    /// Moves the next changes of possible interest to `taken`, or registers the waker if there are none.
    pub(crate) fn read(
        &mut self,
        selection: &Selection,
        position: &mut Position,
        waker: &Waker,
        batch: &mut ChangeBatch,
    ) -> ReadOutcome {
        if self.log.is_before_opening(position.next) {
            return ReadOutcome::Closed;
        }
        if position.subscription.is_none() {
            if position.next < self.log.first() {
                return ReadOutcome::Overrun;
            }
            position.subscription = self.subscribe(selection, position.next);
        }
        let Some(subscription) = position.subscription else {
            self.catch_up(selection, position, batch);
            return ReadOutcome::More;
        };
        let next = match subscription.topic() {
            None => self.read_all_topics(position.next, batch),
            Some(topic) => self.read_topic(topic, position.next, batch),
        };
        let Some(next) = next else { return ReadOutcome::Overrun };
        position.next = next;
        if !batch.is_empty() {
            return ReadOutcome::More;
        }
        self.topics.arm(subscription, waker);
        ReadOutcome::Idle(self.log.revision())
    }

    /// Scans a part of the log for a watch that is far behind.
    fn catch_up(&self, selection: &Selection, position: &mut Position, batch: &mut ChangeBatch) {
        let until = position.next + self.limits.scan_max as u64;
        let layout = self.topics.layout();
        let interest = layout.interest(selection);
        for (at, change) in self.log.range(position.next..until) {
            position.next = at + 1;
            if layout.matches(change, interest) {
                batch.push(Arc::clone(change));
                if batch.len() == BATCH_MAX {
                    return;
                }
            }
        }
    }

    /// Takes the next changes of any topic. Returns the next position, or `None` after an overrun.
    fn read_all_topics(&self, from: u64, batch: &mut ChangeBatch) -> Option<u64> {
        if from < self.log.first() {
            return None;
        }
        let changes = self.log.range(from..from + BATCH_MAX as u64);
        batch.extend(changes.map(|(_, change)| Arc::clone(change)));
        Some(from + batch.len() as u64)
    }

    /// Takes the next changes of a topic. Returns the next position, or `None` after an overrun.
    fn read_topic(&self, topic: u32, from: u64, batch: &mut ChangeBatch) -> Option<u64> {
        let mut next = self.log.end();
        for at in self.topics.queue(topic, from)? {
            if batch.len() == BATCH_MAX {
                next = at;
                break;
            }
            batch.push(Arc::clone(self.log.get(at)?));
        }
        Some(next)
    }

    /// Records a compaction of storage.
    pub(crate) fn compacted(&mut self, revision: Revision) {
        self.compacted = self.compacted.max(revision);
    }

    /// The position of the first change after `revision` and the revision of the change before it. `None` if
    /// the state at `revision` must not be served or cannot be rebuilt from the log.
    pub(crate) fn boundary(&self, revision: Revision) -> Option<(u64, Revision)> {
        if self.downtime.is_some() || revision < self.log.oldest() || revision < self.compacted {
            return None;
        }
        let position = self.log.after(revision);
        Some((position, self.log.revision_before(position)))
    }

    /// Returns a bounded number of the last changes before `end`, newest first, but none before `begin`.
    /// `None` if `begin` is no longer in the log.
    pub(crate) fn changes_to_undo(&self, begin: u64, end: u64) -> Option<Vec<Arc<Change>>> {
        if begin < self.log.first() || end > self.log.end() {
            return None;
        }
        let begin = begin.max(end.saturating_sub(self.limits.scan_max as u64));
        Some(self.log.range(begin..end).rev().map(|(_, change)| Arc::clone(change)).collect())
    }

    /// Returns the oldest changes before a position that may still have frames: a few per call, each only
    /// once.
    pub(crate) fn take_changes_with_frames(&mut self, until: u64) -> Vec<Arc<Change>> {
        let begin = self.frames_dropped_until.max(self.log.first());
        let end = until.min(begin + BATCH_MAX as u64);
        self.frames_dropped_until = self.frames_dropped_until.max(end);
        self.log.range(begin..end).map(|(_, change)| Arc::clone(change)).collect()
    }

    /// Number of watches of everything, of a namespace and of an object, given by their keys.
    pub(crate) fn watch_count(&self, namespace: Option<&str>, object: &str) -> usize {
        let namespace = namespace.map(Interest::Namespace);
        let interests = [Some(Interest::All), namespace, Some(Interest::Object(object))];
        interests.into_iter().flatten().map(|interest| self.topics.subscription_count(interest)).sum()
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let (log_length, log_capacity) = self.log.size();
        let log_end = self.log.end();
        let log_bytes = self.log.bytes();
        Sizes { log_length, log_capacity, log_end, log_bytes, watches: self.watches }
    }

    /// The lag of a watch at a mark: the later changes of its topic, or all later changes if it has no topic.
    pub(crate) fn lag(&self, mark: Mark, now: Instant) -> Lag {
        if self.log.is_before_opening(mark.next) {
            return Lag::default();
        }
        let topic = mark.subscription.and_then(Subscription::topic);
        let queued = topic.and_then(|topic| {
            let mut queue = self.topics.queue(topic, mark.next)?;
            let first = queue.next();
            Some((first.map_or(0, |_| 1 + queue.count() as u64), first))
        });
        let all = self.log.end().saturating_sub(mark.next);
        let (changes, first) = queued.unwrap_or((all, (all > 0).then_some(mark.next)));
        let since = first.and_then(|first| self.log.time_of(first.max(self.log.first())));
        Lag { changes, age: since.map(|since| now.saturating_duration_since(since)) }
    }
}

#[cfg(test)]
impl State {
    /// The position of the first change in the log.
    pub(crate) fn first(&self) -> u64 {
        self.log.first()
    }

    pub(crate) fn topics(&self) -> usize {
        self.topics.len()
    }
}

#[cfg(test)]
impl Position {
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn is_subscribed(&self) -> bool {
        self.subscription.is_some()
    }
}
