//! The requests of one priority level: who waits, who is served, and who is next.
//!
//! Fair queuing in virtual time as KEP-1040 has it, with upstream's numbers (`fairqueuing/queueset`). Virtual time is a
//! meter of how many seat-seconds each queue has been due since the beginning. A queue knows at which reading its next
//! request would begin if seats could be had in any fraction; that request's virtual finish is this and its work, and the
//! queue with the least is served next. How long a request will take is guessed when it begins and put right when it ends.
//!
//! Only queues with somebody in them exist, so that the work of an operation does not depend on how many there may be:
//! an ordered set has the queues with somebody waiting, by virtual finish. Time is an argument, and whom to wake a result.

mod dump;
mod entries;
mod load;
mod queues;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use crate::demand::PeriodStats;
use crate::level::{Rejection, Request};
use crate::request_counts::RequestCounter;
use crate::schema::Schema;
use crate::seat_seconds::SeatSeconds;
use crate::shuffle_sharding::{Dealer, Hand};

pub(crate) use dump::{RequestRow, VirtualTimes};
pub(crate) use entries::Key;
use entries::{Entries, Entry, State};
use load::LevelLoad;
pub(crate) use load::LoadHistograms;
use queues::Queues;

/// How long a request is guessed to take before it is known (upstream's G).
const ESTIMATED_SERVICE: Duration = Duration::from_millis(3);

/// What is left to do when the lock is given back. To wake somebody, or to let go of a request and what is known of it, is
/// not known to be quick, and may lead back here.
#[derive(Default)]
pub(crate) struct DeferredWork {
    woken: SmallVec<[Waker; 4]>,
    gone: SmallVec<[Entry; 1]>,
}

impl DeferredWork {
    /// Does it.
    pub(crate) fn run_deferred(self) {
        self.woken.into_iter().for_each(Waker::wake);
    }
}

/// What becomes of those who ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// They are served.
    Exempt,
    /// They are served if there are seats, and turned away otherwise.
    Reject,
    /// They wait, so many at most in each queue.
    Queue(Dealer, u32),
}

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeatResult {
    Seated(Key),
    Waits(Key),
    Rejected(Rejection),
}

/// See the module.
pub(crate) struct QueueSet {
    discipline: Discipline,
    /// Seats, for now.
    limit: u32,
    entries: Entries,
    queues: Queues,
    /// The meter.
    virtual_time: SeatSeconds,
    /// Up to when it has been moved on.
    now: Duration,
    /// The queue that was served last.
    robin: u32,
    /// How many requests were ever put into a queue.
    enqueued: u64,
    /// When requests stop to linger.
    lingering: BinaryHeap<Reverse<(Duration, Key)>>,
    load: LevelLoad,
}

impl QueueSet {
    /// Nobody, and no seats, from `now` on.
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

    /// Those who come from now on are treated like this. Who waits stays, also in queues that would not be there any more.
    pub(crate) fn set_discipline(&mut self, discipline: Discipline, now: Duration) {
        if let Discipline::Queue(dealer, length_limit) = discipline {
            self.queues.reserve(dealer.deck());
            let room = f64::from(length_limit.max(1)) * f64::from(dealer.deck());
            self.load.set_capacity(Some(room), None, now);
        }
        self.discipline = discipline;
    }

    /// From now on there are `limit` seats. In metrics, loads are parts of `denominator`.
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

    /// Somebody asks for seats. `hash` says which queues the flow has been dealt.
    pub(crate) fn ask(
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
                Discipline::Reject | Discipline::Exempt => Ok(set.seat(entry)),
            }
        });
        match placed {
            Ok(key) if self.entries.state(key) == Some(State::Waiting) => SeatResult::Waits(key),
            Ok(key) => SeatResult::Seated(key),
            Err(rejection) => SeatResult::Rejected(rejection),
        }
    }

    fn seat(&mut self, mut entry: Entry) -> Key {
        self.load.admitted(&entry, self.now);
        self.load.began(&mut entry, self.now);
        self.entries.insert(entry)
    }

    fn reject(&mut self, entry: Entry, rejection: Rejection, after: &mut DeferredWork) -> Rejection {
        self.load.rejected(&entry, rejection);
        after.gone.push(entry);
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

    /// How long the request has waited, if it is seated. If not, keeps `waker` to be woken then, and gives back the one
    /// that it had before.
    pub(crate) fn poll(&mut self, key: Key, waker: &Waker) -> Result<Duration, Option<Waker>> {
        self.entries.poll(key, waker)
    }

    /// Who waits or is served does so no more.
    pub(crate) fn leave(&mut self, key: Key, now: Duration, after: &mut DeferredWork) {
        self.change(now, after, |set, after| match set.entries.state(key) {
            Some(State::Waiting) => set.cancel(key, after),
            Some(State::Executing) => set.finish(key, after),
            Some(State::Lingering) | None => {}
        });
    }

    fn cancel(&mut self, key: Key, after: &mut DeferredWork) {
        self.queues.remove(key, &mut self.entries);
        if let Some(entry) = self.entries.remove(key) {
            self.load.gave_up(&entry, self.now);
            after.gone.push(entry);
        }
    }

    fn finish(&mut self, key: Key, after: &mut DeferredWork) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (work, queue) = (entry.request.work, entry.queue);
        let took = self.now.saturating_sub(entry.started);
        entry.state = State::Lingering;
        self.load.finished(entry, took, self.now);
        if let Some(index) = queue {
            let in_time = |time| SeatSeconds::of(work.initial_seats.into(), time);
            self.queues.finished(index, in_time(ESTIMATED_SERVICE), in_time(took), &self.entries);
        }
        match work.additional_latency {
            Duration::ZERO => self.free(key, after),
            latency => self.lingering.push(Reverse((self.now.saturating_add(latency), key))),
        }
    }

    /// Gives back the seats of a request that is over.
    fn free(&mut self, key: Key, after: &mut DeferredWork) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.load.freed(&entry);
        if let Some(index) = entry.queue {
            self.queues.freed(index, entry.width(), &self.entries);
        }
        after.gone.push(entry);
    }

    /// Ends what has lingered up to `now`, and says when the next request will have.
    pub(crate) fn release(&mut self, now: Duration, after: &mut DeferredWork) -> Option<Duration> {
        if self.next_due().is_some_and(|due| due <= now) {
            self.change(now, after, |_, _| ());
        }
        self.next_due()
    }

    /// When the next request will have lingered.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.lingering.peek().map(|Reverse((due, _))| *due)
    }

    /// Whether nobody has anything to do with the level any more.
    pub(crate) fn is_unused(&self) -> bool {
        self.entries.is_empty()
    }

    /// What seats could have been used since the last time that this was asked.
    pub(crate) fn take_demand(&mut self, now: Duration, after: &mut DeferredWork) -> PeriodStats {
        self.change(now, after, |_, _| ());
        self.load.take_demand(self.now)
    }

    /// Changes something at `now`, and serves whom it can then. Everything that happens here happens in this.
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

    /// Moves virtual time on to `now`, and ends what has lingered up to then.
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
        self.virtual_time += SeatSeconds::shared(used, passed, self.queues.active());
        self.now = now.max(self.now);
    }

    /// Whether seats could be had by a request as wide as that. One that is wider than there are seats has to be alone.
    fn has_seats_for(&self, width: u64) -> bool {
        let limit = u64::from(self.limit);
        if width > limit { self.load.executing == 0 } else { self.load.seats_in_use + width <= limit }
    }

    /// Serves who is next, if there is room. If not, everybody else waits for it too: so nobody starves.
    fn dispatch(&mut self, after: &mut DeferredWork) -> bool {
        let Some((index, key)) = self.queues.next(self.robin) else { return false };
        let Some(entry) = self.entries.get(key) else { return false };
        if !self.has_seats_for(entry.width()) {
            entry.schema.figures.no_accommodation.fetch_add(1, Relaxed);
            return false;
        }
        self.load.dispatched(entry, self.now);
        let due = self.queues.serve(key, self.limit, &mut self.entries);
        self.load.last_dispatch = Some((self.virtual_time, due));
        self.robin = index;
        if let Some(entry) = self.entries.get_mut(key) {
            self.load.began(entry, self.now);
            after.woken.extend(entry.waker.take());
        }
        true
    }
}

#[cfg(test)]
mod tests;
