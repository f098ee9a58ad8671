//! Statistics of a run: latency histogram, counters shared by the tasks of a workload, medians.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::process::Usage;

/// Significant decimal digits of a recorded duration: values are off by less than 1 %.
const DIGITS: u8 = 2;

/// Histogram of durations, shared by tasks. Its size does not depend on the length of a run.
#[derive(Debug)]
pub(crate) struct Histogram {
    durations: Mutex<hdrhistogram::Histogram<u64>>,
    max: AtomicU64,
}

impl Default for Histogram {
    #[allow(clippy::expect_used, reason = "the precision is a constant; a test creates a histogram")]
    fn default() -> Self {
        let durations = hdrhistogram::Histogram::new(DIGITS).expect("0 to 5 digits are valid");
        Self { durations: Mutex::new(durations), max: AtomicU64::new(0) }
    }
}

impl Histogram {
    fn lock(&self) -> MutexGuard<'_, hdrhistogram::Histogram<u64>> {
        self.durations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // The histogram grows to the value, so that this only fails without memory for at most 64 KiB.
        let _ = self.lock().record(nanos);
        self.max.fetch_max(nanos, Relaxed);
    }

    /// Returns the number of durations.
    pub(crate) fn count(&self) -> u64 {
        self.lock().len()
    }

    /// Returns the quantiles; `None` if there are no durations.
    pub(crate) fn latency(&self) -> Option<Latency> {
        let histogram = self.lock();
        let max = self.max.load(Relaxed);
        let at = |q: f64| ms(histogram.value_at_quantile(q).min(max));
        (!histogram.is_empty()).then(|| Latency {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: ms(max),
        })
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Quantiles of a latency in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Latency {
    /// Median.
    pub(crate) p50: f64,
    /// 90th percentile.
    pub(crate) p90: f64,
    /// 99th percentile.
    pub(crate) p99: f64,
    /// 99.9th percentile.
    pub(crate) p999: f64,
    /// Maximum; exact.
    pub(crate) max: f64,
}

/// Counters shared by the tasks of one measurement; the progress line reads them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Successful operations.
    pub(crate) operations: AtomicU64,
    /// Failed operations.
    errors: AtomicU64,
    first_error: Mutex<Option<String>>,
    /// Received body bytes.
    pub(crate) bytes: AtomicU64,
    /// Latencies of successful operations.
    pub(crate) latency: Histogram,
}

impl Tally {
    /// Counts a successful operation.
    pub(crate) fn success(&self, duration: Duration, bytes: u64) {
        self.operations.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.latency.add(duration);
    }

    /// Counts `count` failed operations; the first error text is stored.
    pub(crate) fn failure(&self, count: u64, error: impl std::fmt::Display) {
        self.errors.fetch_add(count, Relaxed);
        // A poisoned lock only means that another task panicked while it wrote its text.
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| error.to_string());
    }

    /// Combines these counters and `usage` into a measurement.
    pub(crate) fn measured(&self, usage: Usage) -> Measured {
        let first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        Measured {
            operations: self.operations.load(Relaxed),
            errors: self.errors.load(Relaxed),
            first_error: first.clone(),
            bytes: self.bytes.load(Relaxed),
            latency_ms: self.latency.latency(),
            seconds: usage.seconds,
            cpu_ms: usage.cpu_ms,
            rss_before_kib: usage.rss_before_kib,
            rss_after_kib: usage.rss_after_kib,
            rss_peak_kib: usage.rss_peak_kib,
            client_cpu_ms: usage.client_cpu_ms,
            ..Measured::default()
        }
    }

    /// Adds errors to `measured` that occurred after its clock was stopped.
    pub(crate) fn with_errors(&self, measured: Measured) -> Measured {
        let Measured { errors, first_error, .. } = self.measured(Usage::default());
        Measured { errors, first_error, ..measured }
    }
}

/// One workload on one server in one round. Part of the JSON output.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Measured {
    /// Successful operations.
    pub(crate) operations: u64,
    /// Failed operations.
    pub(crate) errors: u64,
    /// Text of the first error.
    pub(crate) first_error: Option<String>,
    /// Reason why the server could not be measured.
    pub(crate) skipped: Option<String>,
    /// Duration of the timed part in seconds.
    pub(crate) seconds: f64,
    /// Received body bytes.
    pub(crate) bytes: u64,
    /// Latency of successful operations.
    pub(crate) latency_ms: Option<Latency>,
    /// Server CPU in the timed part, in milliseconds.
    pub(crate) cpu_ms: Option<f64>,
    /// Resident memory of the server at the start.
    pub(crate) rss_before_kib: Option<u64>,
    /// Resident memory of the server at the end.
    pub(crate) rss_after_kib: Option<u64>,
    /// Maximum sampled resident memory.
    pub(crate) rss_peak_kib: Option<u64>,
    /// CPU of apibench in the timed part. If it is close to the machine's cores, apibench was the bottleneck.
    pub(crate) client_cpu_ms: Option<f64>,
    /// Metrics over time, for workloads that measure change over time.
    pub(crate) windows: Vec<Window>,
    /// Metrics specific to the workload.
    pub(crate) extra: BTreeMap<&'static str, f64>,
}

/// A section of a run, with metrics of the successful operations that ended in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Window {
    /// End of the section, in seconds since the start of the run.
    pub(crate) until_s: f64,
    /// Returns operations per second.
    pub(crate) rate: f64,
    /// Latency in milliseconds; absent without operations.
    pub(crate) p50_ms: Option<f64>,
    /// Latency in milliseconds; absent without operations.
    pub(crate) p99_ms: Option<f64>,
    /// Resident memory of the server at the end.
    pub(crate) rss_kib: Option<f64>,
}

impl Window {
    /// Creates the section from `start` to `end` of a run.
    pub(crate) fn new(start: Duration, end: Duration, done: &Histogram, rss_kib: Option<u64>) -> Self {
        let seconds = end.saturating_sub(start).as_secs_f64();
        let latency = done.latency();
        Self {
            until_s: end.as_secs_f64(),
            rate: if seconds > 0.0 { done.count() as f64 / seconds } else { 0.0 },
            p50_ms: latency.map(|latency| latency.p50),
            p99_ms: latency.map(|latency| latency.p99),
            rss_kib: rss_kib.map(|kib| kib as f64),
        }
    }

    /// Returns the median of the same section of several runs, per metric.
    pub(crate) fn median<'a>(runs: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let of = |value: fn(&Self) -> Option<f64>| median(runs.clone().filter_map(value));
        Self {
            until_s: of(|w| Some(w.until_s)).unwrap_or_default(),
            rate: of(|w| Some(w.rate)).unwrap_or_default(),
            p50_ms: of(|w| w.p50_ms),
            p99_ms: of(|w| w.p99_ms),
            rss_kib: of(|w| w.rss_kib),
        }
    }
}

impl Measured {
    /// Returns operations per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.operations as f64 / self.seconds)
    }

    /// Returns server CPU per successful operation in milliseconds.
    pub(crate) fn cpu_ms_per_op(&self) -> Option<f64> {
        (self.operations > 0).then_some(self.cpu_ms?).map(|cpu| cpu / self.operations as f64)
    }

    /// Returns response body bytes per operation.
    pub(crate) fn bytes_per_op(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.bytes as f64 / self.operations as f64)
    }

    /// Returns the peak growth of resident memory during the run, in KiB.
    pub(crate) fn growth_kib(&self) -> Option<f64> {
        Some(self.rss_peak_kib?.saturating_sub(self.rss_before_kib?) as f64)
    }
}

/// Returns the median; for an even number of values the mean of the middle two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_sorted_list() {
        let histogram = Histogram::default();
        for ms in 1..=1000 {
            histogram.add(Duration::from_millis(ms));
        }
        let latency = histogram.latency().unwrap();
        let near =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.01, "{value} {expected}");
        near(latency.p50, 500.0);
        near(latency.p90, 900.0);
        near(latency.p99, 990.0);
        near(latency.p999, 999.0);
        assert_eq!(latency.max, 1000.0);
    }

    #[test]
    fn single_value_is_every_quantile() {
        assert_eq!(Histogram::default().latency(), None);
        let histogram = Histogram::default();
        histogram.add(Duration::from_millis(3));
        let latency = histogram.latency().unwrap();
        assert_eq!((latency.p50, latency.p999, latency.max), (3.0, 3.0, 3.0));
    }

    #[test]
    fn windows_have_their_own_metrics() {
        let histogram = Histogram::default();
        (0..10).for_each(|_| histogram.add(Duration::from_millis(4)));
        let window = |rss| Window::new(Duration::from_secs(5), Duration::from_secs(7), &histogram, Some(rss));
        let first = window(100);
        assert_eq!((first.until_s, first.rate, first.rss_kib), (7.0, 5.0, Some(100.0)));
        assert_eq!((first.p50_ms, first.p99_ms), (Some(4.0), Some(4.0)));
        assert_eq!(Window::median([first, window(300), window(200)].iter()).rss_kib, Some(200.0));
        let idle = Window::new(Duration::ZERO, Duration::from_secs(1), &Histogram::default(), None);
        assert_eq!((idle.rate, idle.p50_ms), (0.0, None));
    }

    #[test]
    fn medians() {
        assert_eq!(median([]), None);
        assert_eq!(median([5.0]), Some(5.0));
        assert_eq!(median([9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median([4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn tally_keeps_first_error_and_counts_successes() {
        let tally = Tally::default();
        tally.success(Duration::from_millis(1), 100);
        tally.failure(1, "first");
        tally.failure(2, "second");
        let usage = Usage { seconds: 2.0, cpu_ms: Some(6.0), ..Usage::default() };
        let measured = tally.measured(usage);
        assert_eq!((measured.operations, measured.errors, measured.bytes), (1, 3, 100));
        assert_eq!(measured.first_error.as_deref(), Some("first"));
        assert_eq!((measured.rate(), measured.cpu_ms_per_op()), (Some(0.5), Some(6.0)));
    }
}
