//! Metrics of one flow schema at its level.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use component_base::metrics::Histogram;

/// Buckets of wait and execution times, in nanoseconds.
pub(crate) const DURATION_BOUNDS: [(&str, u64); 13] = [
    ("0", 0),
    ("0.005", 5_000_000),
    ("0.02", 20_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.2", 200_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("2", 2_000_000_000),
    ("5", 5_000_000_000),
    ("10", 10_000_000_000),
    ("15", 15_000_000_000),
    ("30", 30_000_000_000),
];
/// Buckets of queue lengths.
pub(crate) const LENGTH_BOUNDS: [(&str, u64); 8] =
    [("0", 0), ("10", 10), ("25", 25), ("50", 50), ("100", 100), ("250", 250), ("500", 500), ("1000", 1000)];
/// Buckets of watch counts.
pub(crate) const WATCH_BOUNDS: [(&str, u64); 6] =
    [("0", 0), ("1", 1), ("10", 10), ("100", 100), ("1000", 1000), ("10000", 10_000)];
/// Buckets of seat counts.
pub(crate) const SEAT_BOUNDS: [(&str, u64); 8] =
    [("1", 1), ("2", 2), ("4", 4), ("8", 8), ("16", 16), ("32", 32), ("64", 64), ("100", 100)];

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
#[derive(Debug, Default)]
pub(crate) struct SchemaFigures {
    pub(crate) dispatched: AtomicU64,
    pub(crate) rejected: [AtomicU64; 3],
    pub(crate) no_accommodation: AtomicU64,
    pub(crate) waiting_requests: AtomicI64,
    pub(crate) waiting_seats: AtomicI64,
    pub(crate) executing_requests: AtomicI64,
    pub(crate) executing_seats: AtomicI64,
    pub(crate) queue_length: Histogram<8>,
    /// Wait times of rejected requests and of all others.
    pub(crate) waited: [Histogram<13>; 2],
    /// Execution times of watches (up to the end of the initial events) and of all other requests.
    pub(crate) executed: [Histogram<13>; 2],
    pub(crate) watchers: Histogram<6>,
    pub(crate) seats: Histogram<8>,
}

impl SchemaFigures {
    pub(crate) fn rejected(&self, why: RejectReason) {
        self.rejected[why as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn rejections(&self, why: RejectReason) -> u64 {
        self.rejected[why as usize].load(Relaxed)
    }

    /// Adds to the numbers of waiting requests and seats; negative values subtract.
    pub(crate) fn waiting(&self, requests: i64, seats: i64) {
        self.waiting_requests.fetch_add(requests, Relaxed);
        self.waiting_seats.fetch_add(seats, Relaxed);
    }

    pub(crate) fn observe_wait(&self, admitted: bool, waited: Duration) {
        observe(&self.waited[usize::from(admitted)], waited);
    }

    pub(crate) fn observe_execution(&self, watch: bool, took: Duration) {
        observe(&self.executed[usize::from(!watch)], took);
    }
}

fn observe(histogram: &Histogram<13>, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.observe(&DURATION_BOUNDS, nanos, nanos);
}
