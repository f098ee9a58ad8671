//! Accounting of a level: waiting and executing requests, their seats, and the metrics of both.

use std::sync::Arc;
use std::time::Duration;

use component_base::metrics::buckets;

use super::entries::{Entry, State};
use crate::demand::{PeriodStats, TimeIntegrator};
use crate::ratio::Ratio;
use crate::request::Rejection;
use crate::request_counts::{Phase, RequestCounter};
use crate::schema_metrics::RejectReason;
use crate::seat_seconds::SeatSeconds;

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
    request_counter: Arc<RequestCounter>,
}

impl LevelLoad {
    pub(super) fn new(exempt: bool, request_counter: Arc<RequestCounter>, now: Duration) -> Self {
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
                requests_waiting: Ratio::new(&buckets::REQUEST_UTILIZATION_RATIOS, now),
                requests_executing: Ratio::new(&buckets::REQUEST_UTILIZATION_RATIOS, now),
                seats_executing: Ratio::new(&buckets::SEAT_UTILIZATION_RATIOS, now),
                seats_wanted: Ratio::new(&buckets::SEAT_DEMAND_RATIOS, now),
            },
            demand: TimeIntegrator::new(now),
            exempt,
            request_counter,
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
        entry.schema.metrics.rejected(match rejection {
            Rejection::ConcurrencyLimit => RejectReason::ConcurrencyLimit,
            Rejection::QueueFull => RejectReason::QueueFull,
        });
        entry.schema.metrics.observe_wait(false, Duration::ZERO);
    }

    pub(super) fn queued(&mut self, entry: &Entry, length: u32, now: Duration) {
        let width = entry.width();
        self.waiting += 1;
        self.seats_waiting += width;
        let metrics = &entry.schema.metrics;
        metrics.waiting(1, width as i64);
        metrics.queue_length.observe(length.into());
        self.request_counter.move_request(entry.request.mutating, None, Some(Phase::Waiting), now);
    }

    fn unqueued(&mut self, entry: &Entry) {
        let width = entry.width();
        self.waiting -= 1;
        self.seats_waiting -= width;
        entry.schema.metrics.waiting(-1, -(width as i64));
    }

    pub(super) fn record_timeout(&mut self, entry: &Entry, now: Duration) {
        self.unqueued(entry);
        self.rejected += 1;
        self.cancelled += 1;
        entry.schema.metrics.rejected(RejectReason::TimeOut);
        // Upstream counts these as dispatched.
        entry.schema.metrics.observe_wait(true, now.saturating_sub(entry.arrived));
        self.request_counter.move_request(entry.request.mutating, Some(Phase::Waiting), None, now);
    }

    /// Records that the first request of a queue leaves it to execute.
    pub(super) fn dispatched(&mut self, entry: &Entry, now: Duration) {
        self.unqueued(entry);
        self.request_counter.move_request(
            entry.request.mutating,
            Some(Phase::Waiting),
            Some(Phase::Executing),
            now,
        );
    }

    /// Records that a request executes without having been queued.
    pub(super) fn admitted(&mut self, entry: &Entry, now: Duration) {
        self.request_counter.move_request(entry.request.mutating, None, Some(Phase::Executing), now);
    }

    pub(super) fn record_start(&mut self, entry: &mut Entry, now: Duration) {
        entry.state = State::Executing;
        entry.started = now;
        let width = entry.width();
        self.executing += 1;
        self.dispatched += 1;
        self.seats_in_use += width;
        let metrics = &entry.schema.metrics;
        metrics.dispatched.increment();
        metrics.executing_requests.add(1);
        metrics.executing_seats.add(width as i64);
        if !self.exempt {
            metrics.observe_wait(true, now.saturating_sub(entry.arrived));
        }
    }

    pub(super) fn finished(&mut self, entry: &Entry, duration: Duration, now: Duration) {
        self.executing -= 1;
        entry.schema.metrics.executing_requests.add(-1);
        entry.schema.metrics.observe_execution(entry.request.watch, duration);
        self.request_counter.move_request(entry.request.mutating, Some(Phase::Executing), None, now);
    }

    pub(super) fn record_freed(&mut self, entry: &Entry) {
        let width = entry.width();
        self.seats_in_use -= width;
        entry.schema.metrics.executing_seats.add(-(width as i64));
    }

    /// Records the current load from `now` on.
    pub(super) fn observe(&mut self, now: Duration) {
        let seat_demand = (self.seats_in_use + self.seats_waiting) as f64;
        self.demand.set(seat_demand, now);
        self.meters.seats_wanted.set(seat_demand, now);
        self.meters.requests_waiting.set(self.waiting as f64, now);
        self.meters.requests_executing.set(self.executing as f64, now);
        self.meters.seats_executing.set(self.seats_in_use as f64, now);
    }

    /// Returns the seat demand since the last call.
    pub(super) fn take_demand(&mut self, now: Duration) -> PeriodStats {
        self.demand.reset(now)
    }
}
