//! Rows of the debug pages for one level.

use std::sync::Arc;
use std::time::Duration;

use super::entries::{Entry, State};
use super::load::LoadHistograms;
use super::{DeferredWork, QueueSet};
use crate::request::Request;
use crate::schema::Schema;
use crate::seat_seconds::SeatSeconds;
use crate::snapshot::QueueState;

/// Queues from this index on are dumped only if they are not empty.
const EMPTY_ROWS_MAX: u32 = 65_536;

/// Totals of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) active_queues: usize,
    pub(crate) waiting: u64,
    pub(crate) executing: u64,
    pub(crate) seats_in_use: u64,
    pub(crate) seats_waiting: u64,
    pub(crate) dispatched: u64,
    pub(crate) rejected: u64,
    pub(crate) cancelled: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueueRow {
    pub(crate) index: u32,
    pub(crate) waiting: u32,
    pub(crate) executing: u32,
    pub(crate) seats_in_use: u64,
    pub(crate) next_dispatch: SeatSeconds,
    pub(crate) initial_seats: u64,
    pub(crate) max_seats: u64,
    pub(crate) total_work: SeatSeconds,
}

/// A waiting or executing request.
pub(crate) struct RequestRow {
    pub(crate) schema: Arc<Schema>,
    /// `None` if the request was never queued.
    pub(crate) queue: Option<u32>,
    /// Position in the queue; `None` if the request does not wait.
    pub(crate) queue_position: Option<usize>,
    pub(crate) request: Request,
    pub(crate) arrived: Duration,
    /// `None` if the request waits.
    pub(crate) started: Option<Duration>,
}

/// Virtual time as metrics show it, in seat-seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct VirtualTimes {
    pub(crate) current: f64,
    /// Virtual time of the last dispatch, and the virtual start that was due for that request.
    pub(crate) last_dispatch: Option<(f64, f64)>,
    /// Smallest and largest virtual start of queues with waiting requests. `discounted` is the same without
    /// the work of executing requests.
    pub(crate) starts: Option<[f64; 2]>,
    pub(crate) discounted: Option<[f64; 2]>,
}

impl QueueSet {
    pub(crate) fn summary(&self) -> Summary {
        let load = &self.load;
        Summary {
            active_queues: self.queues.waiting(),
            waiting: load.waiting,
            executing: load.executing,
            seats_in_use: load.seats_in_use,
            seats_waiting: load.seats_waiting,
            dispatched: load.dispatched,
            rejected: load.rejected,
            cancelled: load.cancelled,
        }
    }

    /// Returns the longest queues with waiting requests, at most `max`.
    pub(crate) fn waiting_queues(&self, max: usize) -> Vec<QueueState> {
        let waiting = self.queues.used().filter(|queue| queue.length > 0);
        let mut queues: Vec<_> = waiting
            .map(|queue| QueueState {
                index: queue.index,
                waiting: queue.length,
                executing: queue.executing,
                seats_waiting: queue.seats_waiting,
            })
            .collect();
        queues.sort_unstable_by_key(|queue| (std::cmp::Reverse(queue.waiting), queue.index));
        queues.truncate(max);
        queues
    }

    /// Returns the queues by index.
    pub(crate) fn queue_rows(&self) -> Vec<QueueRow> {
        let shown = u32::try_from(self.queues.len()).unwrap_or(u32::MAX).min(EMPTY_ROWS_MAX);
        let beyond = self.queues.used().map(|queue| queue.index).filter(|index| *index >= shown);
        let mut indexes: Vec<u32> = (0..shown).chain(beyond).collect();
        indexes.sort_unstable();
        let row = |index| {
            let Some(queue) = self.queues.get(index) else {
                return QueueRow { index, ..QueueRow::default() };
            };
            QueueRow {
                index,
                waiting: queue.length,
                executing: queue.executing,
                seats_in_use: queue.seats_in_use,
                next_dispatch: queue.next_dispatch,
                initial_seats: queue.initial_seats,
                max_seats: queue.seats_waiting,
                total_work: queue.work_waiting,
            }
        };
        indexes.into_iter().map(row).collect()
    }

    /// Returns the waiting requests by queue and position, then the executing ones.
    pub(crate) fn request_rows(&self) -> Vec<RequestRow> {
        let row = |entry: &Entry, queue_position| RequestRow {
            schema: Arc::clone(&entry.schema),
            queue: entry.queue,
            queue_position,
            request: entry.request.clone(),
            arrived: entry.arrived,
            started: (entry.state != State::Waiting).then_some(entry.started),
        };
        let mut indexes: Vec<u32> = self.queues.used().map(|queue| queue.index).collect();
        indexes.sort_unstable();
        let members = |index| self.queues.members(index, &self.entries).enumerate();
        let waiting = indexes
            .into_iter()
            .flat_map(members)
            .map(|(queue_position, entry)| row(entry, Some(queue_position)));
        let executing = self.entries.iter().filter(|entry| entry.state == State::Executing);
        waiting.chain(executing.map(|entry| row(entry, None))).collect()
    }

    /// Returns the load over time, up to `now`.
    pub(crate) fn meters(&mut self, now: Duration, after: &mut DeferredWork) -> &LoadHistograms {
        self.change(now, after, |_, _| ());
        &self.load.meters
    }

    /// Returns virtual time as of the last change.
    pub(crate) fn virtual_times(&self) -> VirtualTimes {
        let waiting = || self.queues.used().filter(|queue| queue.length > 0);
        let bounds = |start: &dyn Fn(&super::queues::Queue) -> SeatSeconds| {
            let least = waiting().map(start).min()?;
            let greatest = waiting().map(start).max()?;
            Some([least.as_f64(), greatest.as_f64()])
        };
        let under_way = |seats| SeatSeconds::of(seats, super::ESTIMATED_SERVICE);
        VirtualTimes {
            current: self.virtual_time.as_f64(),
            last_dispatch: self.load.last_dispatch.map(|(at, due)| (at.as_f64(), due.as_f64())),
            starts: bounds(&|queue| queue.next_dispatch),
            discounted: bounds(&|queue| queue.next_dispatch.saturating_sub(under_way(queue.seats_in_use))),
        }
    }
}

#[cfg(test)]
impl QueueSet {
    /// Asserts that the totals agree with the entries.
    pub(crate) fn check(&self) {
        let of = |state| self.entries.iter().filter(move |entry| entry.state == state);
        let width = |state| of(state).map(Entry::width).sum::<u64>();
        let load = &self.load;
        assert_eq!(load.waiting, of(State::Waiting).count() as u64);
        assert_eq!(load.executing, of(State::Executing).count() as u64);
        assert_eq!(load.seats_waiting, width(State::Waiting));
        assert_eq!(load.seats_in_use, width(State::Executing) + width(State::Lingering));
        assert_eq!(self.lingering.len(), of(State::Lingering).count());
        let mut through_queues = 0;
        for queue in self.queues.used() {
            let here = |state| of(state).filter(|entry| entry.queue == Some(queue.index));
            let width = |state| here(state).map(Entry::width).sum::<u64>();
            assert_eq!(u64::from(queue.length), here(State::Waiting).count() as u64);
            assert_eq!(queue.length as usize, self.queues.members(queue.index, &self.entries).count());
            assert_eq!(u64::from(queue.executing), here(State::Executing).count() as u64);
            assert_eq!(queue.seats_waiting, width(State::Waiting));
            assert_eq!(queue.seats_in_use, width(State::Executing) + width(State::Lingering));
            let work = here(State::Waiting).fold(SeatSeconds::default(), |sum, entry| sum + entry.total_work);
            assert_eq!(queue.work_waiting, work);
            through_queues += queue.seats_waiting + queue.seats_in_use;
        }
        assert_eq!(self.queues.seats_wanted(), through_queues);
        assert_eq!(self.queues.waiting(), self.queues.used().filter(|queue| queue.length > 0).count());
        let active = self.queues.used().filter(|queue| queue.length + queue.executing > 0).count();
        assert_eq!(self.queues.active(), active);
        // No request waits for a seat that is free.
        let next = self.queues.next(self.robin).and_then(|(_, key)| self.entries.get(key));
        let blocked =
            |next: &Entry| load.seats_in_use >= self.limit.into() || !self.has_seats_for(next.width());
        assert!(next.is_none_or(blocked));
    }
}
