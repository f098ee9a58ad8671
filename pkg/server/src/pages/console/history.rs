//! Ten minutes of counters, recorded also while no console is open.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::metrics::{Buckets, Distribution, buckets};
use jsontree::{Value, json};

/// Interval between points.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of points: ten minutes, and the point before them.
const POINTS_MAX: usize = 121;

/// Bounds of the durations: 100 µs to 52 s.
pub(super) const BOUNDS: &Buckets = &buckets::HUNDRED_MICROSECONDS_DOUBLED_20;

/// Counters of a server since its start, at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Point {
    /// Unix time in seconds.
    pub(super) at: i64,
    pub(super) requests: usize,
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
    /// Active requests without watches.
    pub(super) in_flight: usize,
    /// Responses with a code of 500 and higher.
    pub(super) failed: u64,
    /// Responses with code 429.
    pub(super) rejected: u64,
    /// Durations of requests that are not long-running.
    pub(super) durations: Durations,
}

/// Changes between two points.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) requests_per_second: f64,
    pub(super) cpu: f64,
    pub(super) failed: u64,
    pub(super) rejected: u64,
    /// Median and 99th percentile of the duration in seconds; `None` without requests.
    pub(super) p50: Option<f64>,
    pub(super) p99: Option<f64>,
}

impl Point {
    /// Returns the changes since an earlier point.
    pub(super) fn since(&self, before: &Point) -> Change {
        let seconds = (self.at.saturating_sub(before.at)).max(1) as f64;
        Change {
            requests_per_second: self.requests.saturating_sub(before.requests) as f64 / seconds,
            cpu: (self.cpu_seconds - before.cpu_seconds).max(0.0) / seconds,
            failed: self.failed.saturating_sub(before.failed),
            rejected: self.rejected.saturating_sub(before.rejected),
            p50: self.durations.quantile_since(&before.durations, 0.5),
            p99: self.durations.quantile_since(&before.durations, 0.99),
        }
    }
}

/// Number of durations up to each bound of [`BOUNDS`], then the number of all. Numbers wrap: only differences count.
#[derive(Debug, Clone, Default)]
pub(super) struct Durations(Box<[u32]>);

impl Durations {
    pub(super) fn new(distribution: &Distribution) -> Self {
        let counts = distribution.buckets.iter().map(|(_, count)| *count).chain([distribution.count]);
        Durations(counts.map(|count| count as u32).collect())
    }

    /// Estimates a quantile of the durations since an earlier moment, in seconds, by linear interpolation in the bucket that
    /// contains it. Beyond the last bound, returns that bound. `None` without durations.
    fn quantile_since(&self, before: &Durations, q: f64) -> Option<f64> {
        let earlier = before.0.iter().copied().chain(std::iter::repeat(0));
        let counts: Vec<u32> = self.0.iter().zip(earlier).map(|(now, then)| now.wrapping_sub(then)).collect();
        let rank = q * f64::from(counts.last().copied().filter(|total| *total > 0)?);
        let mut last_bound = 0.0;
        let mut last_count = 0;
        for (bound, count) in BOUNDS.bounds().zip(&counts) {
            if f64::from(*count) >= rank {
                let inside = count.saturating_sub(last_count).max(1);
                let share = (rank - f64::from(last_count)) / f64::from(inside);
                return Some(last_bound + (bound - last_bound) * share);
            }
            last_bound = bound;
            last_count = *count;
        }
        Some(last_bound)
    }
}

/// The most recent points, oldest first.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<Point>>);

impl History {
    fn points(&self) -> MutexGuard<'_, VecDeque<Point>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a point; drops the oldest one of a full history.
    pub(super) fn record(&self, point: Point) {
        let mut points = self.points();
        if points.len() >= POINTS_MAX {
            points.pop_front();
        }
        points.push_back(point);
    }

    /// Returns the changes of the last `seconds` until `now`. The base is the oldest point of that period, otherwise the
    /// newest point, otherwise the start of the server.
    pub(super) fn change(&self, now: &Point, seconds: i64) -> Change {
        let points = self.points();
        let is_recent = |point: &&Point| now.at.saturating_sub(point.at) <= seconds;
        let origin = Point::default();
        now.since(points.iter().find(is_recent).or(points.back()).unwrap_or(&origin))
    }

    /// Returns a series for each value. All have one element per interval.
    pub(super) fn document(&self) -> Value {
        let points = self.points();
        let changes: Vec<Change> =
            points.iter().zip(points.iter().skip(1)).map(|(before, point)| point.since(before)).collect();
        let ends = || points.iter().skip(1);
        let of = |value: fn(&Change) -> Value| changes.iter().map(value).collect::<Vec<_>>();
        json!({
            "intervalSeconds": INTERVAL.as_secs(),
            "at": ends().map(|point| Value::from(point.at)).collect::<Vec<_>>(),
            "requestsPerSecond": of(|change| change.requests_per_second.into()),
            "cpu": of(|change| change.cpu.into()),
            "residentBytes": ends().map(|point| Value::from(point.resident_bytes)).collect::<Vec<_>>(),
            "inFlight": ends().map(|point| Value::from(point.in_flight)).collect::<Vec<_>>(),
            "failed": of(|change| change.failed.into()),
            "rejected": of(|change| change.rejected.into()),
            "p50": of(|change| change.p50.into()),
            "p99": of(|change| change.p99.into()),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns durations with `count` of 0.1 ms.
    fn durations(count: u64) -> Durations {
        let buckets = BOUNDS.bounds().map(|bound| (bound, count)).collect();
        Durations::new(&Distribution { buckets, count, sum: 0.0 })
    }

    fn point(at: i64, requests: usize) -> Point {
        let count = requests as u64;
        let durations = durations(count);
        Point {
            at,
            requests,
            failed: count / 10,
            cpu_seconds: at as f64 / 2.0,
            durations,
            ..Point::default()
        }
    }

    #[test]
    fn history_is_bounded_to_ten_minutes() {
        let history = History::default();
        (0..1_000).for_each(|n| history.record(point(n * 5, 10)));
        let document = history.document();
        for series in
            ["at", "requestsPerSecond", "cpu", "residentBytes", "inFlight", "failed", "rejected", "p50"]
        {
            assert_eq!(document[series].as_array().map(Vec::len), Some(120), "{series}");
        }
        assert_eq!(document["at"][0], json!(880 * 5));
    }

    #[test]
    fn changes_are_rates() {
        let history = History::default();
        [point(100, 0), point(105, 50), point(110, 60)].into_iter().for_each(|point| history.record(point));
        let document = history.document();
        assert_eq!(document["requestsPerSecond"], json!([10.0, 2.0]));
        assert_eq!((&document["cpu"], &document["failed"]), (&json!([0.5, 0.5]), &json!([5, 1])));
        let change = history.change(&point(115, 60), 10);
        assert_eq!((change.requests_per_second, change.failed, change.p50), (1.0, 1, Some(0.000_05)));
        assert_eq!(history.change(&point(1_000, 60), 10).p99, None);
    }

    #[test]
    fn quantiles_are_interpolated() {
        // 50 durations up to 0.1 ms, 50 up to 0.2 ms, and the rest beyond the last bound.
        let of = |count| {
            let counts = std::iter::once(50).chain(std::iter::repeat(100));
            Durations::new(&Distribution { buckets: BOUNDS.bounds().zip(counts).collect(), count, sum: 0.0 })
        };
        let start = Durations::default();
        let all = of(100);
        assert_eq!(all.quantile_since(&start, 0.5), Some(0.000_1));
        let third_quarter = all.quantile_since(&start, 0.75).unwrap();
        assert!((third_quarter - 0.000_15).abs() < 1e-9, "{third_quarter}");
        assert_eq!(of(200).quantile_since(&start, 0.99), BOUNDS.bounds().last());
        assert_eq!(all.quantile_since(&all, 0.5), None);
    }
}
