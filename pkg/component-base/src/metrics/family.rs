//! Descriptors of metric families.

use std::marker::PhantomData;

use super::{Buckets, Counter, Gauge, Histogram};
use crate::features::Release;

/// Stability guarantee of a family, as defined by upstream (component-base `metrics/opts.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Name, type and labels do not change.
    Stable,
    /// Labels may be added.
    Beta,
    /// Anything may change.
    Alpha,
    /// As [`Stability::Alpha`], with a type that upstream marks as experimental.
    Experimental,
    /// Without a guarantee: not an upstream family, or one of the process collector.
    Internal,
}

impl Stability {
    /// Returns the start of the help text.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Stability::Stable => "[STABLE] ",
            Stability::Beta => "[BETA] ",
            Stability::Alpha => "[ALPHA] ",
            Stability::Experimental => "EXPERIMENTAL: [ALPHA] ",
            Stability::Internal => "",
        }
    }

    /// Number of minor releases between the deprecation of a family and the first one that hides it.
    fn deprecation_period(self) -> u32 {
        match self {
            Stability::Stable => 3,
            Stability::Beta => 1,
            Stability::Alpha | Stability::Experimental | Stability::Internal => 0,
        }
    }
}

/// Type of a family on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows until the process restarts.
    Counter,
    /// Grows and shrinks.
    Gauge,
    /// Counts by upper bound.
    Histogram,
    /// Sum and count, without quantiles.
    Summary,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Summary => "summary",
        }
    }
}

/// Name, type, stability and help text of a family.
#[derive(Debug, Clone, Copy)]
pub struct Desc {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) stability: Stability,
    pub(super) help: &'static str,
    /// Minor release that deprecated the family; `None` if it is not deprecated.
    pub(super) deprecated: Option<u32>,
}

impl Desc {
    const fn new(kind: Kind, stability: Stability, name: &'static str, help: &'static str) -> Self {
        Desc { name, kind, stability, help, deprecated: None }
    }

    /// True if this release omits the family, because it was deprecated long enough ago.
    pub(super) fn is_hidden(&self) -> bool {
        self.deprecated.is_some_and(|minor| {
            minor.saturating_add(self.stability.deprecation_period()) <= Release::THIS.minor
        })
    }

    /// Returns the release that deprecated the family; empty if it is not deprecated.
    pub(super) fn deprecated_version(&self) -> String {
        self.deprecated.map_or_else(String::new, |minor| format!("{}.0", Release::minor_of_1(minor)))
    }
}

/// Handle of a series that a family can have.
pub trait Metric: Clone + Send + Sync + Sized + 'static {
    /// Settings from the family: the buckets of a histogram.
    type Options: Copy + std::fmt::Debug + Send + Sync + 'static;

    /// Creates a metric at zero.
    fn new(options: Self::Options) -> Self;

    /// True before the first count. A series of a [`MetricVec`](super::MetricVec) is not written before it.
    fn is_unused(&self) -> bool;

    /// Sets counts to zero. A gauge keeps its value, because the next change is relative to it.
    fn reset(&self);

    /// Writes the samples of this metric.
    fn write<const N: usize>(&self, labels: [&str; N], samples: &mut super::Samples<'_, Self, N>);
}

/// Metric family: name, stability, help text, label names and buckets of its series. `N` is the number of
/// labels.
///
/// ```
/// use component_base::metrics::{Counter, Family, MetricsRegistry, Stability};
///
/// const LOADS: Family<Counter, 1> =
///     Family::counter(Stability::Alpha, "loads_total", "Loaded files, by result.", ["result"]);
///
/// let registry = MetricsRegistry::default();
/// let loads = registry.register_vec(&LOADS);
/// loads.with(["success"]).increment();
/// assert_eq!(
///     registry.to_string(),
///     "# HELP loads_total [ALPHA] Loaded files, by result.\n# TYPE loads_total counter\n\
///      loads_total{result=\"success\"} 1\n"
/// );
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Family<M: Metric, const N: usize> {
    pub(super) desc: Desc,
    /// Label names in the order of the page, which is alphabetical.
    pub(super) labels: [&'static str; N],
    pub(super) options: M::Options,
    metric: PhantomData<fn() -> M>,
}

impl<M: Metric, const N: usize> Family<M, N> {
    /// Marks a family that release 1.`minor` deprecated. It is hidden three releases later if it is stable, one release
    /// later if it is beta, and at once otherwise (component-base `metrics/registry.go`).
    #[must_use]
    pub const fn deprecated(self, minor: u32) -> Self {
        let desc = Desc { deprecated: Some(minor), ..self.desc };
        Family { desc, ..self }
    }
}

impl<const N: usize> Family<Counter, N> {
    /// Creates a family of counters, which only grow until the process restarts.
    pub const fn counter(
        stability: Stability,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
    ) -> Self {
        let desc = Desc::new(Kind::Counter, stability, name, help);
        Family { desc, labels, options: (), metric: PhantomData }
    }
}

impl<const N: usize> Family<Gauge, N> {
    /// Creates a family of gauges, which can grow and shrink.
    pub const fn gauge(
        stability: Stability,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
    ) -> Self {
        let desc = Desc::new(Kind::Gauge, stability, name, help);
        Family { desc, labels, options: (), metric: PhantomData }
    }
}

impl<const N: usize> Family<Histogram, N> {
    /// Creates a family of histograms with these buckets.
    pub const fn histogram(
        stability: Stability,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        buckets: &'static Buckets,
    ) -> Self {
        let desc = Desc::new(Kind::Histogram, stability, name, help);
        Family { desc, labels, options: buckets, metric: PhantomData }
    }

    /// Returns the buckets.
    pub const fn buckets(&self) -> &'static Buckets {
        self.options
    }
}

/// Sum and count of observations, read on each scrape.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    /// Sum of the observations, in the unit of the family.
    pub sum: f64,
    /// Number of observations.
    pub count: u64,
}

impl Metric for Summary {
    type Options = ();

    fn new((): ()) -> Self {
        Summary { sum: 0.0, count: 0 }
    }

    fn is_unused(&self) -> bool {
        self.count == 0
    }

    /// Has no effect: the values are read on each scrape.
    fn reset(&self) {}

    fn write<const N: usize>(&self, labels: [&str; N], samples: &mut super::Samples<'_, Self, N>) {
        samples.add(labels, *self);
    }
}

impl<const N: usize> Family<Summary, N> {
    /// Creates a family of summaries without quantiles.
    pub const fn summary(
        stability: Stability,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
    ) -> Self {
        let desc = Desc::new(Kind::Summary, stability, name, help);
        Family { desc, labels, options: (), metric: PhantomData }
    }
}

/// Family of any type.
pub trait AnyFamily: Sync {
    /// Returns the descriptor without labels and buckets.
    fn desc(&self) -> &Desc;
}

impl<M: Metric, const N: usize> AnyFamily for Family<M, N> {
    fn desc(&self) -> &Desc {
        &self.desc
    }
}
