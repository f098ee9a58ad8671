//! Accounting of a level: waiting and executing requests, their seats, and the metrics of both.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::entries::{Entry, State};
use crate::demand::{PeriodStats, TimeIntegrator};
use crate::figures::{LENGTH_BOUNDS, RejectReason};
use crate::ratio::{Bounds, Ratio};
use crate::request::Rejection;
use crate::request_counts::{Phase, RequestCounter};
use crate::seat_seconds::SeatSeconds;

const REQUEST_BOUNDS: &Bounds = &[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0];
const SEAT_BOUNDS: &Bounds = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
const DEMAND_BOUNDS: &Bounds = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0];

/// Load over time, relative to capacity.
#[derive(Debug, Clone)]
pub(crate) struct LoadHistograms {
    pub(crate) requests_waiting: Ratio,
    pub(crate) requests_executing: Ratio,
    pub(crate) seats_executing: Ratio,
    pub(crate) seats_wanted: Ratio,
}

/// Counters of a level. See the module.
pub(crate) struct LevelLoad {
    /// Queued requests.
    pub(crate) waiting: u64,
    /// Executing requests, without those that only hold final seats.
    pub(crate) executing: u64,
    /// Seats of executing requests and final seats.
    pub(crate) seats_in_use: u64,
    pub(crate) seats_waiting: u64,
    /// Requests so far. `rejected` includes `cancelled`: requests that left their queue before dispatch.
    pub(crate) dispatched: u64,
    pub(crate) rejected: u64,
    pub(crate) cancelled: u64,
    /// Virtual time of the last dispatch from a queue, and the virtual start that was due.
    pub(crate) last_dispatch: Option<(SeatSeconds, SeatSeconds)>,
    pub(crate) meters: LoadHistograms,
    demand: TimeIntegrator,
    /// True if the level is exempt.
    exempt: bool,
    kinds: Arc<RequestCounter>,
}

impl LevelLoad {
    pub(super) fn new(exempt: bool, kinds: Arc<RequestCounter>, now: Duration) -> Self {
        LevelLoad {
            waiting: 0,
            executing: 0,
            seats_in_use: 0,
            seats_waiting: 0,
            dispatched: 0,
            rejected: 0,
            cancelled: 0,
            last_dispatch: None,
            meters: LoadHistograms {
                requests_waiting: Ratio::new(REQUEST_BOUNDS, now),
                requests_executing: Ratio::new(REQUEST_BOUNDS, now),
                seats_executing: Ratio::new(SEAT_BOUNDS, now),
                seats_wanted: Ratio::new(DEMAND_BOUNDS, now),
            },
            demand: TimeIntegrator::new(now),
            exempt,
            kinds,
        }
    }

    /// Sets the capacity for waiting requests and for seats.
    pub(super) fn set_capacity(&mut self, waiting: Option<f64>, seats: Option<f64>, now: Duration) {
        let meters = &mut self.meters;
        if let Some(waiting) = waiting {
            meters.requests_waiting.set_denominator(waiting, now);
        }
        if let Some(seats) = seats {
            for meter in
                [&mut meters.requests_executing, &mut meters.seats_executing, &mut meters.seats_wanted]
            {
                meter.set_denominator(seats, now);
            }
        }
    }

    pub(super) fn rejected(&mut self, entry: &Entry, rejection: Rejection) {
        self.rejected += 1;
        entry.schema.figures.rejected(match rejection {
            Rejection::ConcurrencyLimit => RejectReason::ConcurrencyLimit,
            Rejection::QueueFull => RejectReason::QueueFull,
        });
        entry.schema.figures.observe_wait(false, Duration::ZERO);
    }

    pub(super) fn queued(&mut self, entry: &Entry, length: u32, now: Duration) {
        let width = entry.width();
        self.waiting += 1;
        self.seats_waiting += width;
        let figures = &entry.schema.figures;
        figures.waiting(1, width as i64);
        figures.queue_length.observe(&LENGTH_BOUNDS, length.into(), length.into());
        self.kinds.moved(entry.request.mutating, None, Some(Phase::Waiting), now);
    }

    fn unqueued(&mut self, entry: &Entry) {
        let width = entry.width();
        self.waiting -= 1;
        self.seats_waiting -= width;
        entry.schema.figures.waiting(-1, -(width as i64));
    }

    pub(super) fn gave_up(&mut self, entry: &Entry, now: Duration) {
        self.unqueued(entry);
        self.rejected += 1;
        self.cancelled += 1;
        entry.schema.figures.rejected(RejectReason::TimeOut);
        // Upstream counts these as dispatched.
        entry.schema.figures.observe_wait(true, now.saturating_sub(entry.arrived));
        self.kinds.moved(entry.request.mutating, Some(Phase::Waiting), None, now);
    }

    /// Records that the first request of a queue leaves it to execute.
    pub(super) fn dispatched(&mut self, entry: &Entry, now: Duration) {
        self.unqueued(entry);
        self.kinds.moved(entry.request.mutating, Some(Phase::Waiting), Some(Phase::Executing), now);
    }

    /// Records that a request executes without having been queued.
    pub(super) fn admitted(&mut self, entry: &Entry, now: Duration) {
        self.kinds.moved(entry.request.mutating, None, Some(Phase::Executing), now);
    }

    pub(super) fn began(&mut self, entry: &mut Entry, now: Duration) {
        entry.state = State::Executing;
        entry.started = now;
        let width = entry.width();
        self.executing += 1;
        self.dispatched += 1;
        self.seats_in_use += width;
        let figures = &entry.schema.figures;
        figures.dispatched.fetch_add(1, Relaxed);
        figures.executing_requests.fetch_add(1, Relaxed);
        figures.executing_seats.fetch_add(width as i64, Relaxed);
        if !self.exempt {
            figures.observe_wait(true, now.saturating_sub(entry.arrived));
        }
    }

    pub(super) fn finished(&mut self, entry: &Entry, took: Duration, now: Duration) {
        self.executing -= 1;
        entry.schema.figures.executing_requests.fetch_sub(1, Relaxed);
        entry.schema.figures.observe_execution(entry.request.watch, took);
        self.kinds.moved(entry.request.mutating, Some(Phase::Executing), None, now);
    }

    pub(super) fn freed(&mut self, entry: &Entry) {
        let width = entry.width();
        self.seats_in_use -= width;
        entry.schema.figures.executing_seats.fetch_sub(width as i64, Relaxed);
    }

    /// Records the current load from `now` on.
    pub(super) fn observe(&mut self, now: Duration) {
        let wanted = (self.seats_in_use + self.seats_waiting) as f64;
        self.demand.set(wanted, now);
        self.meters.seats_wanted.set(wanted, now);
        self.meters.requests_waiting.set(self.waiting as f64, now);
        self.meters.requests_executing.set(self.executing as f64, now);
        self.meters.seats_executing.set(self.seats_in_use as f64, now);
    }

    /// Returns the seat demand since the last call.
    pub(super) fn take_demand(&mut self, now: Duration) -> PeriodStats {
        self.demand.reset(now)
    }
}
