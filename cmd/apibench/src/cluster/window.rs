//! Counters of a measured step.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::kind::{Class, Kind};
use crate::stats::Histogram;

/// Counters of one step. A request belongs to the step in which it is due, regardless of when its response
/// arrives.
#[derive(Debug)]
pub(crate) struct Window {
    start: Instant,
    end: Instant,
    kinds: [Counts; Kind::ALL.len()],
    classes: [Histogram; Class::ALL.len()],
    /// Delay from the due time to sending, which the load generator caused.
    pub(crate) lag: Histogram,
    /// Watch bytes.
    pub(crate) event_bytes: AtomicU64,
    /// Watches that ended unexpectedly.
    pub(crate) watches_lost: AtomicU64,
    first_error: Mutex<Option<String>>,
}

/// Counters of one request kind.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Started requests.
    pub(crate) started: AtomicU64,
    /// Finished requests, including errors.
    pub(crate) ended: AtomicU64,
    /// Failed requests, including those not sent because too many were pending.
    pub(crate) errors: AtomicU64,
    /// Latency of all finished requests, including errors.
    pub(crate) latency: Histogram,
}

impl Window {
    /// Creates the counters for `start` to `end`.
    pub(crate) fn new(start: Instant, end: Instant) -> Self {
        Self {
            start,
            end,
            kinds: std::array::from_fn(|_| Counts::default()),
            classes: std::array::from_fn(|_| Histogram::default()),
            lag: Histogram::default(),
            event_bytes: AtomicU64::new(0),
            watches_lost: AtomicU64::new(0),
            first_error: Mutex::new(None),
        }
    }

    /// Returns true if a request due at `due` belongs to the window.
    pub(crate) fn holds(&self, due: Instant) -> bool {
        (self.start..self.end).contains(&due)
    }

    /// Returns the counters of `kind`.
    pub(crate) fn of(&self, kind: Kind) -> &Counts {
        let [first, ..] = &self.kinds;
        self.kinds.get(kind as usize).unwrap_or(first)
    }

    /// Returns the latencies of `class`.
    pub(crate) fn class(&self, class: Class) -> &Histogram {
        let [first, ..] = &self.classes;
        self.classes.get(class as usize).unwrap_or(first)
    }

    /// Counts a request of `kind` that finished `duration` after it was due.
    pub(crate) fn ended(&self, kind: Kind, duration: Duration, error: Option<String>) {
        let counts = self.of(kind);
        counts.ended.fetch_add(1, Relaxed);
        counts.latency.add(duration);
        self.class(kind.class()).add(duration);
        if let Some(error) = error {
            counts.errors.fetch_add(1, Relaxed);
            self.error(error);
        }
    }

    /// Counts a request of `kind` that was due but not sent.
    pub(crate) fn not_sent(&self, kind: Kind) {
        self.of(kind).started.fetch_add(1, Relaxed);
        self.ended(kind, kind.class().limit() * 2, Some("too many requests under way".to_owned()));
    }

    /// Stores the first error.
    pub(crate) fn error(&self, error: String) {
        let mut first = self.first_error.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        first.get_or_insert(error);
    }

    pub(crate) fn first_error(&self) -> Option<String> {
        self.first_error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Returns the number of pending requests.
    pub(crate) fn pending(&self) -> u64 {
        self.kinds.iter().map(Counts::pending).sum()
    }

    /// Counts pending requests as errors with a latency of at least `waited`.
    pub(crate) fn close(&self, waited: Duration) {
        for kind in Kind::ALL {
            for _ in 0..self.of(kind).pending() {
                self.ended(kind, waited, Some("no answer until the end of the step".to_owned()));
            }
        }
    }
}

impl Counts {
    fn pending(&self) -> u64 {
        self.started.load(Relaxed).saturating_sub(self.ended.load(Relaxed))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "instants to compare")]
mod tests {
    use super::*;

    #[test]
    fn unanswered_requests_count_as_errors() {
        let now = Instant::now();
        let window = Window::new(now, now + Duration::from_secs(9));
        window.of(Kind::PodCreate).started.fetch_add(2, Relaxed);
        window.ended(Kind::PodCreate, Duration::from_millis(5), None);
        assert_eq!(window.pending(), 1);
        window.close(Duration::from_secs(12));
        let latency = window.class(Class::Write).latency().unwrap();
        assert_eq!((latency.max, window.pending()), (12_000.0, 0));
        assert_eq!(window.of(Kind::PodCreate).errors.load(Relaxed), 1);
        assert!(window.first_error().is_some());
    }

    #[test]
    fn window_contains_requests_due_in_it() {
        let now = Instant::now();
        let window = Window::new(now, now + Duration::from_secs(1));
        assert!(window.holds(now) && !window.holds(now + Duration::from_secs(1)));
    }

    #[test]
    fn every_kind_has_separate_counters() {
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
        }
        for (at, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, at);
        }
    }
}
