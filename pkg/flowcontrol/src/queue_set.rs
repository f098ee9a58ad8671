//! The requests of one priority level: waiting, executing, and their order.
//!
//! Implements KEP-1040's fair queuing in virtual time with upstream's constants (`fairqueuing/queueset`).
//! Virtual time measures the seat-seconds that each active queue has been entitled to since the beginning.
//! For each queue it is known when its next request would start if seats were divisible. That start plus the
//! request's work is the virtual finish; the queue with the smallest virtual finish is served next. The
//! duration of a request is estimated at its start and corrected at its end.
//!
//! Only non-empty queues exist, so the cost of an operation does not depend on the number of configured
//! queues. An ordered set holds the queues with waiting requests, by virtual finish. Time is an argument, and
//! wakers are part of the result.

mod dump;
mod entries;
mod load;
mod queues;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use crate::demand::PeriodStats;
use crate::discipline::Discipline;
use crate::request::{Rejection, Request};
use crate::request_counts::RequestCounter;
use crate::schema::Schema;
use crate::seat_seconds::SeatSeconds;
use crate::shuffle_sharding::Hand;

pub(crate) use dump::{RequestRow, VirtualTimes};
pub(crate) use entries::Key;
use entries::{Entries, Entry, State};
use load::LevelLoad;
pub(crate) use load::LoadHistograms;
use queues::Queues;

/// Estimated service time of a request before it finishes (upstream's G).
const ESTIMATED_SERVICE: Duration = Duration::from_millis(3);

/// Work to do after the lock is released. Waking a task or dropping a request can be slow, and can lead back
/// here.
#[derive(Default)]
pub(crate) struct DeferredWork {
    wakers: SmallVec<[Waker; 4]>,
    removed: SmallVec<[Entry; 1]>,
}

impl DeferredWork {
    /// Runs the deferred work.
    pub(crate) fn run_deferred(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }
}

/// Result of a request for seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeatResult {
    Seated(Key),
    Queued(Key),
    Rejected(Rejection),
}

/// The requests of one level. See the module.
pub(crate) struct QueueSet {
    discipline: Discipline,
    /// Current seats.
    limit: u32,
    entries: Entries,
    queues: Queues,
    /// Virtual time (upstream's R).
    virtual_time: SeatSeconds,
    /// Real time up to which virtual time has advanced.
    now: Duration,
    /// Index of the queue that was served last.
    robin: u32,
    /// Number of requests enqueued so far.
    enqueued: u64,
    /// Release times of final seats.
    lingering: BinaryHeap<Reverse<(Duration, Key)>>,
    load: LevelLoad,
}

impl QueueSet {
    /// Creates an empty level without seats, at `now`.
    pub(crate) fn new(discipline: Discipline, kinds: Arc<RequestCounter>, now: Duration) -> Self {
        let mut set = QueueSet {
            discipline,
            limit: 0,
            entries: Entries::default(),
            queues: Queues::default(),
            virtual_time: SeatSeconds::default(),
            now,
            robin: 0,
            enqueued: 0,
            lingering: BinaryHeap::new(),
            load: LevelLoad::new(discipline == Discipline::Exempt, kinds, now),
        };
        set.set_discipline(discipline, now);
        set
    }

    /// Sets the discipline for new requests. Waiting requests stay, even in queues beyond the new number.
    pub(crate) fn set_discipline(&mut self, discipline: Discipline, now: Duration) {
        if let Discipline::Queue(dealer, length_limit) = discipline {
            self.queues.reserve(dealer.deck());
            let capacity = f64::from(length_limit.max(1)) * f64::from(dealer.deck());
            self.load.set_capacity(Some(capacity), None, now);
        }
        self.discipline = discipline;
    }

    /// Sets the number of seats. `denominator` is the base of load ratios in metrics.
    pub(crate) fn set_limit(
        &mut self,
        limit: u32,
        denominator: u32,
        now: Duration,
        after: &mut DeferredWork,
    ) {
        self.change(now, after, |set, _| {
            set.limit = limit;
            set.load.set_capacity(None, Some(denominator.into()), set.now);
        });
    }

    /// Requests seats. `hash` determines the flow's queues.
    pub(crate) fn request_seats(
        &mut self,
        schema: &Arc<Schema>,
        hash: u64,
        request: Request,
        now: Duration,
        after: &mut DeferredWork,
    ) -> SeatResult {
        let placed = self.change(now, after, |set, after| {
            let entry = Entry::new(Arc::clone(schema), request, set.virtual_time, set.now);
            match set.discipline {
                Discipline::Queue(dealer, length_limit) => {
                    set.enqueue(entry, &dealer.deal(hash), length_limit, after)
                }
                Discipline::Reject if !set.has_seats_for(entry.width()) => {
                    Err(set.reject(entry, Rejection::ConcurrencyLimit, after))
                }
                Discipline::Reject | Discipline::Exempt => Ok(set.start_execution(entry)),
            }
        });
        match placed {
            Ok(key) if self.entries.state(key) == Some(State::Waiting) => SeatResult::Queued(key),
            Ok(key) => SeatResult::Seated(key),
            Err(rejection) => SeatResult::Rejected(rejection),
        }
    }

    fn start_execution(&mut self, mut entry: Entry) -> Key {
        self.load.admitted(&entry, self.now);
        self.load.record_start(&mut entry, self.now);
        self.entries.insert(entry)
    }

    fn reject(&mut self, entry: Entry, rejection: Rejection, after: &mut DeferredWork) -> Rejection {
        self.load.rejected(&entry, rejection);
        after.removed.push(entry);
        rejection
    }

    fn enqueue(
        &mut self,
        mut entry: Entry,
        hand: &Hand,
        length_limit: u32,
        after: &mut DeferredWork,
    ) -> Result<Key, Rejection> {
        let index = self.queues.least_loaded(hand, self.enqueued);
        self.enqueued = self.enqueued.wrapping_add(1);
        let full = self.queues.length(index) >= length_limit;
        if full && self.load.seats_in_use >= u64::from(self.limit) {
            return Err(self.reject(entry, Rejection::QueueFull, after));
        }
        entry.queue = Some(index);
        let key = self.entries.insert(entry);
        let length = self.queues.push(index, key, &mut self.entries, self.virtual_time);
        if let Some(entry) = self.entries.get(key) {
            self.load.queued(entry, length, self.now);
        }
        Ok(key)
    }

    /// Returns the wait time if the request has a seat. Otherwise stores `waker` and returns the previous
    /// waker.
    pub(crate) fn poll(&mut self, key: Key, waker: &Waker) -> Result<Duration, Option<Waker>> {
        self.entries.poll(key, waker)
    }

    /// Removes a request, waiting or executing.
    pub(crate) fn remove(&mut self, key: Key, now: Duration, after: &mut DeferredWork) {
        self.change(now, after, |set, after| match set.entries.state(key) {
            Some(State::Waiting) => set.cancel(key, after),
            Some(State::Executing) => set.finish(key, after),
            Some(State::Lingering) | None => {}
        });
    }

    fn cancel(&mut self, key: Key, after: &mut DeferredWork) {
        self.queues.remove(key, &mut self.entries);
        if let Some(entry) = self.entries.remove(key) {
            self.load.record_timeout(&entry, self.now);
            after.removed.push(entry);
        }
    }

    fn finish(&mut self, key: Key, after: &mut DeferredWork) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let work = entry.request.work;
        let queue = entry.queue;
        let duration = self.now.saturating_sub(entry.started);
        entry.state = State::Lingering;
        self.load.finished(entry, duration, self.now);
        if let Some(index) = queue {
            let in_time = |time| SeatSeconds::of(work.initial_seats.into(), time);
            self.queues.finished(index, in_time(ESTIMATED_SERVICE), in_time(duration), &self.entries);
        }
        match work.additional_latency {
            Duration::ZERO => self.free(key, after),
            latency => self.lingering.push(Reverse((self.now.saturating_add(latency), key))),
        }
    }

    /// Releases the seats of a finished request.
    fn free(&mut self, key: Key, after: &mut DeferredWork) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.load.record_freed(&entry);
        if let Some(index) = entry.queue {
            self.queues.freed(index, entry.width(), &self.entries);
        }
        after.removed.push(entry);
    }

    /// Releases final seats that are due at `now`. Returns the time of the next release.
    pub(crate) fn release(&mut self, now: Duration, after: &mut DeferredWork) -> Option<Duration> {
        if self.next_due().is_some_and(|due| due <= now) {
            self.change(now, after, |_, _| ());
        }
        self.next_due()
    }

    /// Returns the time of the next release of final seats.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.lingering.peek().map(|Reverse((due, _))| *due)
    }

    /// Returns true if the level has no requests.
    pub(crate) fn is_unused(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the seat demand since the last call.
    pub(crate) fn take_demand(&mut self, now: Duration, after: &mut DeferredWork) -> PeriodStats {
        self.change(now, after, |_, _| ());
        self.load.take_demand(self.now)
    }

    /// Applies a change at `now` and then dispatches as many requests as possible. Every mutation goes
    /// through this function.
    fn change<T>(
        &mut self,
        now: Duration,
        after: &mut DeferredWork,
        what: impl FnOnce(&mut Self, &mut DeferredWork) -> T,
    ) -> T {
        self.advance(now, after);
        let result = what(self, after);
        while self.load.waiting > 0 && self.load.seats_in_use < u64::from(self.limit) && self.dispatch(after)
        {
        }
        self.load.observe(self.now);
        result
    }

    /// Advances virtual time to `now`, and releases final seats that are due by then.
    fn advance(&mut self, now: Duration, after: &mut DeferredWork) {
        while let Some(&Reverse((due, key))) = self.lingering.peek()
            && due <= now
        {
            self.lingering.pop();
            self.advance_virtual_time(due);
            self.free(key, after);
            self.load.observe(self.now);
        }
        self.advance_virtual_time(now);
    }

    fn advance_virtual_time(&mut self, now: Duration) {
        let used = self.queues.seats_wanted().min(self.limit.into());
        let passed = now.saturating_sub(self.now);
        self.virtual_time += SeatSeconds::equal_part(used, passed, self.queues.active());
        self.now = now.max(self.now);
    }

    /// Returns true if a request of this width can get seats. A request wider than all seats must be alone.
    fn has_seats_for(&self, width: u64) -> bool {
        let limit = u64::from(self.limit);
        if width > limit { self.load.executing == 0 } else { self.load.seats_in_use + width <= limit }
    }

    /// Dispatches the next request if there are enough seats. Otherwise all other requests wait for it too,
    /// so that wide requests do not starve.
    fn dispatch(&mut self, after: &mut DeferredWork) -> bool {
        let Some((index, key)) = self.queues.next(self.robin) else { return false };
        let Some(entry) = self.entries.get(key) else { return false };
        if !self.has_seats_for(entry.width()) {
            entry.schema.metrics.no_accommodation.increment();
            return false;
        }
        self.load.dispatched(entry, self.now);
        let due = self.queues.serve(key, self.limit, &mut self.entries);
        self.load.last_dispatch = Some((self.virtual_time, due));
        self.robin = index;
        if let Some(entry) = self.entries.get_mut(key) {
            self.load.record_start(entry, self.now);
            after.wakers.extend(entry.waker.take());
        }
        true
    }
}

#[cfg(test)]
mod tests;
