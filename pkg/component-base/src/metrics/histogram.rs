//! Lock-free histogram with fixed buckets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::buckets::as_float;
use super::{Buckets, Metric, Samples};

/// Histogram: counts by upper bound, and their sum. Clones share the counts. An observation is a search in
/// the bounds and two relaxed atomic additions.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: &'static Buckets,
    /// The sum, the count of each bucket, and the count of values above the last bound.
    cells: Arc<[AtomicU64]>,
}

/// Contents of a histogram at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distribution {
    /// Upper bounds, each with the number of observations at or below it.
    pub buckets: Vec<(f64, u64)>,
    /// Number of observations.
    pub count: u64,
    /// Sum of the observations, in the unit of the family.
    pub sum: f64,
}

impl Histogram {
    /// Counts a value in the unit of the buckets, such as bytes. Durations have
    /// [`observe_duration`](Self::observe_duration).
    pub fn observe(&self, value: u64) {
        let bucket = self.buckets.bounds.partition_point(|&(_, bound)| bound < value);
        let mut cells = self.cells.iter();
        if let Some(sum) = cells.next() {
            sum.fetch_add(value, Relaxed);
        }
        if let Some(count) = cells.nth(bucket) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Counts a duration. The buckets must be in nanoseconds: [`Buckets::seconds`].
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.cells.iter().skip(1).map(|count| count.load(Relaxed)).sum()
    }

    /// Adds the counts of another histogram with the same buckets.
    pub fn add_all(&self, other: &Self) {
        for (mine, more) in self.cells.iter().zip(&*other.cells) {
            mine.fetch_add(more.load(Relaxed), Relaxed);
        }
    }

    /// Returns a copy that does not share the counts.
    #[must_use]
    pub fn deep_clone(&self) -> Self {
        let copy = Histogram::new(self.buckets);
        copy.add_all(self);
        copy
    }

    /// Returns the current contents.
    pub fn distribution(&self) -> Distribution {
        let (below, count) = self.cumulative();
        Distribution { buckets: self.buckets.bounds().zip(below).collect(), count, sum: self.sum() }
    }

    /// Returns the number of observations at or below each bound, and the total, which is never lower.
    fn cumulative(&self) -> (Vec<u64>, u64) {
        let mut total: u64 = 0;
        let mut below: Vec<u64> = Vec::with_capacity(self.cells.len());
        for count in self.cells.iter().skip(1) {
            total = total.wrapping_add(count.load(Relaxed));
            below.push(total);
        }
        // The last cell has no bound.
        below.pop();
        (below, total)
    }

    fn sum(&self) -> f64 {
        self.cells.first().map_or(0.0, |sum| as_float(sum.load(Relaxed)) / self.buckets.unit)
    }
}

impl Metric for Histogram {
    type Options = &'static Buckets;

    fn new(buckets: &'static Buckets) -> Self {
        let cells = buckets.bounds.len().saturating_add(2);
        Histogram { buckets, cells: (0..cells).map(|_| AtomicU64::new(0)).collect() }
    }

    fn is_unused(&self) -> bool {
        self.cells.iter().skip(1).all(|count| count.load(Relaxed) == 0)
    }

    fn reset(&self) {
        self.cells.iter().for_each(|cell| cell.store(0, Relaxed));
    }

    fn write<const N: usize>(&self, labels: [&str; N], samples: &mut Samples<'_, Self, N>) {
        let (below, count) = self.cumulative();
        let bounds = self.buckets.bounds.iter().map(|(text, _)| *text);
        samples.add_distribution(labels, bounds.zip(below), count, self.sum());
    }
}
