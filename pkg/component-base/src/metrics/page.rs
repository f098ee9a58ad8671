//! Metric families in the Prometheus text format 0.0.4.
//!
//! A [`Family`] is a constant with name, stability and help text. Its header is written before the first
//! sample, so a family without samples has no header.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Histogram;

/// Stability guarantee of a family, as defined by upstream (component-base `metrics/opts.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Name, type and labels do not change.
    Stable,
    /// Labels may be added.
    Beta,
    /// Anything may change.
    Alpha,
    /// Without a guarantee: not an upstream family, or one of the process collector.
    Unlevelled,
}

impl Stability {
    fn prefix(self) -> &'static str {
        match self {
            Stability::Stable => "[STABLE] ",
            Stability::Beta => "[BETA] ",
            Stability::Alpha => "[ALPHA] ",
            Stability::Unlevelled => "",
        }
    }
}

/// Metric family: name, type, stability and help text of its samples.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    name: &'static str,
    kind: &'static str,
    stability: Stability,
    help: &'static str,
}

impl Family {
    /// Creates a family of counters, which only grow until the process restarts.
    pub const fn counter(stability: Stability, name: &'static str, help: &'static str) -> Self {
        Family { name, kind: "counter", stability, help }
    }

    /// Creates a family of gauges, which can grow and shrink.
    pub const fn gauge(stability: Stability, name: &'static str, help: &'static str) -> Self {
        Family { name, kind: "gauge", stability, help }
    }

    /// Creates a family of [`Histogram`]s.
    pub const fn histogram(stability: Stability, name: &'static str, help: &'static str) -> Self {
        Family { name, kind: "histogram", stability, help }
    }

    /// Starts to append samples to a page. All samples of a family must be written together.
    pub fn write<'o>(&'o self, out: &'o mut String) -> Samples<'o> {
        Samples { family: self, out, begun: false, labels: String::new() }
    }
}

/// Label names and values, sorted by name.
pub type Labels<'l> = [(&'l str, &'l str)];

/// Writer for the samples of a family.
pub struct Samples<'o> {
    family: &'o Family,
    out: &'o mut String,
    begun: bool,
    /// Scratch buffer for the text of labels.
    labels: String,
}

impl Samples<'_> {
    /// Writes one sample.
    pub fn add(&mut self, labels: &Labels<'_>, value: impl Display) {
        self.begin(labels);
        let (name, labels) = (self.family.name, &self.labels);
        let _ = if labels.is_empty() {
            writeln!(self.out, "{name} {value}")
        } else {
            writeln!(self.out, "{name}{{{labels}}} {value}")
        };
    }

    /// Writes a counter, unless it is 0. Upstream's counters with labels exist only after their first count.
    pub fn counted(&mut self, labels: &Labels<'_>, count: &AtomicU64) {
        let count = count.load(Relaxed);
        if count > 0 {
            self.add(labels, count);
        }
    }

    /// Writes a histogram, even an empty one. `unit` is the amount that counts as one in the sum.
    pub fn histogram<const N: usize>(
        &mut self,
        labels: &Labels<'_>,
        histogram: &Histogram<N>,
        bounds: &[(&str, u64); N],
        unit: f64,
    ) {
        self.histogram_from(0, labels, histogram, bounds, unit);
    }

    /// As [`histogram`](Self::histogram), without the buckets below index `from`.
    pub fn histogram_from<const N: usize>(
        &mut self,
        from: usize,
        labels: &Labels<'_>,
        histogram: &Histogram<N>,
        bounds: &[(&str, u64); N],
        unit: f64,
    ) {
        self.begin(labels);
        histogram.write(self.out, self.family.name, &self.labels, from, bounds, unit);
    }

    /// Writes a histogram, unless it is empty.
    pub fn observed<const N: usize>(
        &mut self,
        labels: &Labels<'_>,
        histogram: &Histogram<N>,
        bounds: &[(&str, u64); N],
        unit: f64,
    ) {
        if !histogram.is_empty() {
            self.histogram(labels, histogram, bounds, unit);
        }
    }

    /// Writes the header before the first sample, and stores the text of the labels.
    fn begin(&mut self, labels: &Labels<'_>) {
        if !self.begun {
            self.begun = true;
            let Family { name, kind, stability, help } = self.family;
            let _ = writeln!(self.out, "# HELP {name} {}{help}\n# TYPE {name} {kind}", stability.prefix());
        }
        self.labels.clear();
        for (at, (name, value)) in labels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(self.labels, "{comma}{name}=\"");
            escape(&mut self.labels, value);
            self.labels.push('"');
        }
    }
}

fn escape(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Family = Family::counter(Stability::Alpha, "a_total", "Things.");

    #[test]
    fn family_without_samples_is_omitted() {
        let mut page = String::new();
        COUNTER.write(&mut page).counted(&[("x", "y")], &AtomicU64::new(0));
        assert_eq!(page, "");
    }

    #[test]
    fn header_is_written_once_and_labels_escaped() {
        let mut page = String::new();
        let mut samples = COUNTER.write(&mut page);
        samples.add(&[], 1);
        samples.counted(&[("x", "a\"b\\\nü"), ("y", "")], &AtomicU64::new(2));
        assert_eq!(
            page,
            "# HELP a_total [ALPHA] Things.\n# TYPE a_total counter\na_total 1\na_total{x=\"a\\\"b\\\\\\nü\",y=\"\"} 2\n"
        );
    }

    #[test]
    fn a_histogram_has_its_labels_before_its_bounds() {
        const SIZES: Family = Family::histogram(Stability::Unlevelled, "sizes", "Sizes.");
        let (mut page, bounds, sizes) = (String::new(), [("1", 1), ("10", 10)], Histogram::<2>::default());
        sizes.observe(&bounds, 5, 5);
        let mut samples = SIZES.write(&mut page);
        samples.observed(&[("x", "y")], &sizes, &bounds, 1.0);
        samples.observed(&[("x", "z")], &Histogram::default(), &bounds, 1.0);
        let expected = [
            "# HELP sizes Sizes.",
            "# TYPE sizes histogram",
            "sizes_bucket{x=\"y\",le=\"1\"} 0",
            "sizes_bucket{x=\"y\",le=\"10\"} 1",
            "sizes_bucket{x=\"y\",le=\"+Inf\"} 1",
            "sizes_sum{x=\"y\"} 5",
            "sizes_count{x=\"y\"} 1",
        ];
        assert_eq!(page.lines().collect::<Vec<_>>(), expected);
    }
}
