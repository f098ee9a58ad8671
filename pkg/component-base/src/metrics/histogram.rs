//! Lock-free histogram with fixed bucket bounds, for metrics.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts by upper bound, with one more for values above the last bound.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    counts: [AtomicU64; N],
    beyond: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Histogram {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            beyond: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts `value`, in the unit of the bounds, and adds `amount` to the sum.
    pub fn observe(&self, bounds: &[(&str, u64); N], value: u64, amount: u64) {
        let bucket = bounds.partition_point(|&(_, bound)| bound < value);
        self.counts.get(bucket).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum.fetch_add(amount, Relaxed);
    }

    /// Writes the histogram without the buckets below index `from`. `unit` is the amount that counts as one
    /// in the sum. `labels` may be empty.
    pub fn write(
        &self,
        out: &mut String,
        name: &str,
        labels: &str,
        from: usize,
        bounds: &[(&str, u64); N],
        unit: f64,
    ) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut below: u64 = 0;
        for (at, ((bound, _), count)) in bounds.iter().zip(&self.counts).enumerate() {
            below = below.wrapping_add(count.load(Relaxed));
            if at >= from {
                let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {below}");
            }
        }
        let total = below.wrapping_add(self.beyond.load(Relaxed));
        let sum = as_float(self.sum.load(Relaxed)) / unit;
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}_sum{labels} {sum}\n{name}_count{labels} {total}");
    }

    /// Adds the counts of another histogram with the same bounds.
    pub fn absorb(&self, other: &Self) {
        let mine = self.counts.iter().chain([&self.beyond, &self.sum]);
        let theirs = other.counts.iter().chain([&other.beyond, &other.sum]);
        for (mine, more) in mine.zip(theirs) {
            mine.fetch_add(more.load(Relaxed), Relaxed);
        }
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().chain([&self.beyond]).map(|count| count.load(Relaxed)).sum()
    }

    /// True before the first observation.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// Converts a sum to a float for the metrics format.
fn as_float(sum: u64) -> f64 {
    const HALF: f64 = 4_294_967_296.0;
    // Each half fits.
    let half = |bits: u64| u32::try_from(bits).map_or(HALF, f64::from);
    half(sum >> 32) * HALF + half(sum & u64::from(u32::MAX))
}
