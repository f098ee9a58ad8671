//! Metrics of one flow schema at its level.

use std::time::Duration;

use component_base::metrics::{Counter, Gauge, Histogram, Metric, buckets};

/// Reason of a rejection, as metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectReason {
    ConcurrencyLimit,
    QueueFull,
    /// The request left its queue: its wait timed out or its client disconnected.
    TimeOut,
}

impl RejectReason {
    /// All reasons in label order.
    pub(crate) const ALL: [(RejectReason, &'static str); 3] = [
        (RejectReason::ConcurrencyLimit, "concurrency-limit"),
        (RejectReason::QueueFull, "queue-full"),
        (RejectReason::TimeOut, "time-out"),
    ];
}

/// Counters of a schema. Written under the lock of the level, read at any time.
#[derive(Debug)]
pub(crate) struct SchemaMetrics {
    pub(crate) dispatched: Counter,
    pub(crate) rejected: [Counter; 3],
    pub(crate) no_accommodation: Counter,
    pub(crate) waiting_requests: Gauge,
    pub(crate) waiting_seats: Gauge,
    pub(crate) executing_requests: Gauge,
    pub(crate) executing_seats: Gauge,
    pub(crate) queue_length: Histogram,
    /// Wait times of rejected requests and of all others.
    pub(crate) waited: [Histogram; 2],
    /// Execution times of watches (up to the end of the initial events) and of all other requests.
    pub(crate) executed: [Histogram; 2],
    pub(crate) watchers: Histogram,
    pub(crate) seats: Histogram,
}

impl Default for SchemaMetrics {
    fn default() -> Self {
        let seconds = || Histogram::new(&buckets::FLOW_CONTROL_SECONDS);
        SchemaMetrics {
            dispatched: Counter::default(),
            rejected: Default::default(),
            no_accommodation: Counter::default(),
            waiting_requests: Gauge::default(),
            waiting_seats: Gauge::default(),
            executing_requests: Gauge::default(),
            executing_seats: Gauge::default(),
            queue_length: Histogram::new(&buckets::QUEUE_LENGTHS),
            waited: [seconds(), seconds()],
            executed: [seconds(), seconds()],
            watchers: Histogram::new(&buckets::WATCHERS),
            seats: Histogram::new(&buckets::SEATS),
        }
    }
}

impl SchemaMetrics {
    pub(crate) fn rejected(&self, why: RejectReason) {
        self.rejected[why as usize].increment();
    }

    pub(crate) fn rejections(&self, why: RejectReason) -> u64 {
        self.rejected[why as usize].get()
    }

    /// Adds to the numbers of waiting requests and seats; negative values subtract.
    pub(crate) fn waiting(&self, requests: i64, seats: i64) {
        self.waiting_requests.add(requests);
        self.waiting_seats.add(seats);
    }

    pub(crate) fn observe_wait(&self, admitted: bool, waited: Duration) {
        self.waited[usize::from(admitted)].observe_duration(waited);
    }

    pub(crate) fn observe_execution(&self, watch: bool, duration: Duration) {
        self.executed[usize::from(!watch)].observe_duration(duration);
    }
}
