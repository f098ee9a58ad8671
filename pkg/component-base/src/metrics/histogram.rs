//! A histogram with fixed bounds, counted without locks, as metrics pages show it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts by upper bound, and beyond the last one.
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
    /// Counts `value`, which is in the unit of the bounds, and adds `amount` to the sum.
    pub fn observe(&self, bounds: &[(&str, u64); N], value: u64, amount: u64) {
        let bucket = bounds.partition_point(|&(_, bound)| bound < value);
        self.counts.get(bucket).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum.fetch_add(amount, Relaxed);
    }

    /// Writes the histogram without the buckets below the bound number `from`. `unit` of the sum is
    /// one. `labels` may be empty.
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

    /// Adds what another one with the same bounds has counted.
    pub fn absorb(&self, other: &Self) {
        let mine = self.counts.iter().chain([&self.beyond, &self.sum]);
        let theirs = other.counts.iter().chain([&other.beyond, &other.sum]);
        for (mine, more) in mine.zip(theirs) {
            mine.fetch_add(more.load(Relaxed), Relaxed);
        }
    }

    /// How often something was observed.
    pub fn count(&self) -> u64 {
        self.counts.iter().chain([&self.beyond]).map(|count| count.load(Relaxed)).sum()
    }

    /// Whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A sum as metrics have it, to the precision of a float.
fn as_float(sum: u64) -> f64 {
    const HALF: f64 = 4_294_967_296.0;
    // Neither half is longer than that.
    let half = |bits: u64| u32::try_from(bits).map_or(HALF, f64::from);
    half(sum >> 32) * HALF + half(sum & u64::from(u32::MAX))
}
