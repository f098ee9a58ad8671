//! Time-weighted histograms of a ratio, like upstream's "timing ratio histograms": one observation per
//! nanosecond.

use std::time::Duration;

use component_base::metrics::{Buckets, Histogram, Samples};

/// A varying numerator with a rarely changing denominator.
#[derive(Debug, Clone)]
pub(crate) struct Ratio {
    /// Upper bounds, ascending.
    bounds: Vec<f64>,
    /// Nanoseconds per bucket; the last bucket is above all bounds.
    nanos: Vec<u64>,
    /// Integral over time, in nanoseconds.
    sum: f64,
    last: Duration,
    numerator: f64,
    denominator: f64,
    /// Bucket of the current ratio.
    bucket: usize,
}

impl Ratio {
    /// Creates a ratio of zero to one at `now`.
    pub(crate) fn new(buckets: &Buckets, now: Duration) -> Self {
        let bounds: Vec<f64> = buckets.bounds().collect();
        let nanos = vec![0; bounds.len() + 1];
        let mut ratio =
            Ratio { bounds, nanos, sum: 0.0, last: now, numerator: 0.0, denominator: 1.0, bucket: 0 };
        ratio.select_bucket();
        ratio
    }

    /// Sets the numerator from `now` on.
    pub(crate) fn set(&mut self, numerator: f64, now: Duration) {
        self.advance(now);
        if numerator != self.numerator {
            self.numerator = numerator;
            self.select_bucket();
        }
    }

    /// Sets the denominator from `now` on, to at least one.
    pub(crate) fn set_denominator(&mut self, denominator: f64, now: Duration) {
        self.advance(now);
        self.denominator = denominator.max(1.0);
        self.select_bucket();
    }

    /// Accounts the time up to `now`.
    pub(crate) fn advance(&mut self, now: Duration) {
        let nanos = u64::try_from(now.saturating_sub(self.last).as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.nanos.get_mut(self.bucket) {
            *count = count.saturating_add(nanos);
        }
        self.sum += self.value() * nanos as f64;
        self.last = now.max(self.last);
    }

    fn value(&self) -> f64 {
        self.numerator / self.denominator
    }

    fn select_bucket(&mut self) {
        let value = self.value();
        self.bucket = self.bounds.partition_point(|bound| *bound < value);
    }

    /// Writes the histogram.
    pub(crate) fn write<const N: usize>(&self, labels: [&str; N], samples: &mut Samples<'_, Histogram, N>) {
        let mut below = 0_u64;
        let mut add = |count: &u64| {
            below = below.saturating_add(*count);
            below
        };
        let buckets: Vec<(f64, u64)> =
            self.bounds.iter().zip(&self.nanos).map(|(bound, count)| (*bound, add(count))).collect();
        let total = self.nanos.last().map_or(0, add);
        samples.add_distribution(labels, buckets, total, self.sum);
    }
}

#[cfg(test)]
mod tests {
    use component_base::metrics::{Family, Page, Selection, Stability};

    use super::*;

    static BUCKETS: Buckets = Buckets::ratios(&[("0", 0), ("0.5", 500), ("1", 1000)]);
    const X: Family<Histogram, 1> = Family::histogram(Stability::Internal, "x", "X.", ["a"], &BUCKETS);

    #[test]
    fn every_nanosecond_is_an_observation_of_the_ratio() {
        let at = Duration::from_nanos;
        let mut ratio = Ratio::new(&BUCKETS, at(10));
        ratio.set_denominator(4.0, at(20));
        ratio.set(2.0, at(25));
        ratio.set(3.0, at(28));
        ratio.set_denominator(2.0, at(30));
        ratio.advance(at(31));
        let selection = Selection::default();
        let mut page = Page::new(&selection);
        ratio.write(["b"], &mut page.family(&X));
        let expected = "# HELP x X.\n# TYPE x histogram\nx_bucket{a=\"b\",le=\"0\"} 15\nx_bucket{a=\"b\",le=\"0.5\"} 18\n\
                        x_bucket{a=\"b\",le=\"1\"} 20\nx_bucket{a=\"b\",le=\"+Inf\"} 21\n\
                        x_sum{a=\"b\"} 4.5\nx_count{a=\"b\"} 21\n";
        assert_eq!(page.into_text(), expected);
    }
}
