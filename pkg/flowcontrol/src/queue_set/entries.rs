//! Slab of requests: waiting, executing, or holding final seats.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use slab::Slab;

use super::ESTIMATED_SERVICE;
use crate::request::Request;
use crate::schema::Schema;
use crate::seat_seconds::SeatSeconds;

/// Slab index of a request. It is reused after the request is removed, so holders must drop it then.
pub(crate) type Key = usize;

/// Lifecycle state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Executing,
    /// Finished, but its final seats are still held.
    Lingering,
}

/// A request.
pub(crate) struct Entry {
    pub(crate) schema: Arc<Schema>,
    pub(crate) request: Request,
    pub(crate) state: State,
    /// The queue of the request, also after it left the queue.
    pub(crate) queue: Option<u32>,
    /// Neighbours in the queue.
    pub(super) before: Option<Key>,
    pub(super) after: Option<Key>,
    /// Estimated total work.
    pub(super) total_work: SeatSeconds,
    pub(super) arrived_virtual: SeatSeconds,
    pub(crate) arrived: Duration,
    /// Start of execution; meaningless before that.
    pub(crate) started: Duration,
    pub(super) waker: Option<Waker>,
}

impl Entry {
    pub(super) fn new(
        schema: Arc<Schema>,
        mut request: Request,
        virtual_time: SeatSeconds,
        now: Duration,
    ) -> Self {
        let work = &mut request.work;
        work.initial_seats = work.initial_seats.max(1);
        let total_work = SeatSeconds::of(work.initial_seats.into(), ESTIMATED_SERVICE) + final_work(work);
        Entry {
            schema,
            request,
            state: State::Waiting,
            queue: None,
            before: None,
            after: None,
            total_work,
            arrived_virtual: virtual_time,
            arrived: now,
            started: now,
            waker: None,
        }
    }

    /// Returns the maximum number of seats, which the request occupies from start to end.
    pub(crate) fn width(&self) -> u64 {
        self.request.work.width().into()
    }

    /// Limits the final seats to the available seats and extends the additional latency accordingly.
    pub(super) fn fit_final_seats(&mut self, limit: u32) {
        let work = &mut self.request.work;
        if work.final_seats > limit {
            work.additional_latency = final_work(work).time_for(limit.into());
            work.final_seats = limit;
        }
    }
}

fn final_work(work: &crate::request::WorkEstimate) -> SeatSeconds {
    SeatSeconds::of(work.final_seats.into(), work.additional_latency)
}

/// All requests of a level.
#[derive(Default)]
pub(crate) struct Entries(Slab<Entry>);

impl Entries {
    pub(super) fn insert(&mut self, entry: Entry) -> Key {
        self.0.insert(entry)
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Entry> {
        self.0.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self.0.get_mut(key)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Entry> {
        self.0.try_remove(key)
    }

    pub(crate) fn state(&self, key: Key) -> Option<State> {
        self.get(key).map(|entry| entry.state)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn poll(&mut self, key: Key, waker: &Waker) -> Result<Duration, Option<Waker>> {
        let entry = self.get_mut(key).ok_or(None)?;
        if entry.state != State::Waiting {
            return Ok(entry.started.saturating_sub(entry.arrived));
        }
        match &entry.waker {
            Some(registered) if registered.will_wake(waker) => Err(None),
            _ => Err(entry.waker.replace(waker.clone())),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().map(|(_, entry)| entry)
    }
}
