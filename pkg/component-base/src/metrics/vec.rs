//! Series of a family by label values.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Counter, Family, Gauge, Histogram, Metric, Page};

/// Maximum number of series of a family. Label values often come from stored objects, and series of deleted
/// objects remain, as in upstream. New series beyond the limit are not exported.
pub(super) const SERIES_MAX: usize = 32_768;

/// Counters by label values.
pub type CounterVec<const N: usize> = MetricVec<Counter, N>;
/// Gauges by label values.
pub type GaugeVec<const N: usize> = MetricVec<Gauge, N>;
/// Histograms by label values.
pub type HistogramVec<const N: usize> = MetricVec<Histogram, N>;

/// Metrics of a family by label values. Clones share the series.
#[derive(Debug, Clone)]
pub struct MetricVec<M: Metric, const N: usize>(Arc<Inner<M, N>>);

#[derive(Debug)]
struct Inner<M: Metric, const N: usize> {
    family: &'static Family<M, N>,
    /// Sorted by label values.
    series: Mutex<Vec<Series<M, N>>>,
}

#[derive(Debug, Clone)]
struct Series<M, const N: usize> {
    labels: Arc<[Box<str>; N]>,
    metric: M,
    /// True if the series is written even at zero.
    exported_at_zero: bool,
}

impl<M, const N: usize> Series<M, N> {
    fn labels(&self) -> [&str; N] {
        self.labels.each_ref().map(|label| &**label)
    }
}

impl<M: Metric, const N: usize> MetricVec<M, N> {
    /// Creates an empty family that is exported only after
    /// [`MetricsRegistry::register_existing`](super::MetricsRegistry::register_existing), for metrics that exist before their server.
    pub fn new(family: &'static Family<M, N>) -> Self {
        MetricVec(Arc::new(Inner { family, series: Mutex::default() }))
    }

    /// Returns the metric with these label values. It takes a lock, so hot paths keep the result. A counter or
    /// histogram is on the page after its first count. A new metric beyond 32,768 series is not exported.
    pub fn with(&self, labels: [&str; N]) -> M {
        self.find_or_insert(labels, false)
    }

    /// As [`with`](Self::with), for a series that is on the page before its first count.
    pub fn with_zero(&self, labels: [&str; N]) -> M {
        self.find_or_insert(labels, true)
    }

    fn find_or_insert(&self, labels: [&str; N], exported_at_zero: bool) -> M {
        let mut all = self.lock();
        match all.binary_search_by(|series| series.labels().cmp(&labels)) {
            Ok(at) => {
                let existing = all.get_mut(at).map(|series| {
                    series.exported_at_zero |= exported_at_zero;
                    series.metric.clone()
                });
                existing.unwrap_or_else(|| M::new(self.0.family.options))
            }
            Err(at) => {
                let metric = M::new(self.0.family.options);
                if all.len() < SERIES_MAX {
                    let labels = Arc::new(labels.map(Box::from));
                    all.insert(at, Series { labels, metric: metric.clone(), exported_at_zero });
                }
                metric
            }
        }
    }

    /// Removes the series whose label values `keep` rejects. Their handles still work, but are not exported.
    pub fn retain(&self, mut keep: impl FnMut([&str; N]) -> bool) {
        self.lock().retain(|series| keep(series.labels()));
    }

    /// Sets all counts to zero, so that their series are not written before the next count.
    pub(super) fn reset(&self) {
        for series in self.lock().iter_mut() {
            series.exported_at_zero = false;
            series.metric.reset();
        }
    }

    /// Calls `visit` for each series, sorted by label values.
    pub fn for_each(&self, mut visit: impl FnMut([&str; N], &M)) {
        self.snapshot().iter().for_each(|series| visit(series.labels(), &series.metric));
    }

    pub(super) fn family(&self) -> &'static Family<M, N> {
        self.0.family
    }

    pub(super) fn write(&self, page: &mut Page<'_>) {
        let mut samples = page.family(self.0.family);
        for series in &self.snapshot() {
            if series.exported_at_zero || !series.metric.is_unused() {
                samples.write(series.labels(), &series.metric);
            }
        }
    }

    /// Returns handles of all series, so that no lock is held while they are formatted.
    fn snapshot(&self) -> Vec<Series<M, N>> {
        self.lock().clone()
    }

    /// Every change under the lock is complete, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Vec<Series<M, N>>> {
        self.0.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
