//! Registry of the metrics of a server.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AnyFamily, Counter, Desc, Family, HistogramVec, Metric, MetricVec, Page, Selection, Stability};

const REGISTERED: Family<Counter, 2> = Family::counter(
    Stability::Beta,
    "registered_metrics_total",
    "The count of registered metrics broken by stability level and deprecation version.",
    ["deprecated_version", "stability_level"],
);
const DISABLED: Family<Counter, 0> =
    Family::counter(Stability::Beta, "disabled_metrics_total", "The count of disabled metrics.", []);
const HIDDEN: Family<Counter, 0> =
    Family::counter(Stability::Beta, "hidden_metrics_total", "The count of hidden metrics.", []);
const UNEXPECTED: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "cardinality_enforcement_unexpected_categorizations_total",
    "The count of unexpected categorizations during cardinality enforcement.",
    [],
);
/// Families that the registry writes itself.
const REGISTRY_FAMILIES: [&dyn AnyFamily; 4] = [&REGISTERED, &DISABLED, &HIDDEN, &UNEXPECTED];

/// Writes registered families to a page.
type Collector = Arc<dyn Fn(&mut Page<'_>) + Send + Sync>;
/// Sets the counts of families to zero.
type Reset = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Inner {
    /// Descriptors by name.
    families: BTreeMap<&'static str, &'static Desc>,
    collectors: Vec<Collector>,
    resets: Vec<Reset>,
}

/// Metrics of one server. It is created once per server and passed to the constructors of its components,
/// which keep handles but not the registry. Clones share it.
#[derive(Clone, Default)]
pub struct MetricsRegistry(Arc<Mutex<Inner>>);

impl MetricsRegistry {
    /// Registers a family without labels. It is on the page from now on.
    pub fn register<M: Metric>(&self, family: &'static Family<M, 0>) -> M {
        let metric = M::new(family.options);
        let written = metric.clone();
        self.collect(&[family], move |page| page.family(family).write([], &written));
        metric
    }

    /// Registers a family with labels. Its series are created by [`MetricVec::with`].
    pub fn register_vec<M: Metric, const N: usize>(&self, family: &'static Family<M, N>) -> MetricVec<M, N> {
        let metrics = MetricVec::new(family);
        self.register_existing(&metrics);
        metrics
    }

    /// Registers an existing family with labels.
    pub fn register_existing<M: Metric, const N: usize>(&self, metrics: &MetricVec<M, N>) {
        let written = metrics.clone();
        self.collect(&[metrics.family()], move |page| written.write(page));
        let metrics = metrics.clone();
        self.on_reset(move || metrics.reset());
    }

    /// Registers a function that sets the counts of collected families with labels to zero.
    pub fn on_reset(&self, reset: impl Fn() + Send + Sync + 'static) {
        self.lock().resets.push(Arc::new(reset));
    }

    /// Sets the counters and histograms of families with labels to zero (upstream's `KubeRegistry.Reset`). Families
    /// without labels keep their counts. Unlike upstream's, gauges keep their values, and so do families of
    /// [`collect`](Self::collect) without [`on_reset`](Self::on_reset).
    pub fn reset(&self) {
        // A copy, because a component may register a family at any time.
        let resets = self.lock().resets.clone();
        resets.iter().for_each(|reset| reset());
    }

    /// Registers a family with the numbers of observations of `histograms`, which have the same labels.
    pub fn register_counts<const N: usize>(
        &self,
        family: &'static Family<Counter, N>,
        histograms: &HistogramVec<N>,
    ) {
        let histograms = histograms.clone();
        self.collect(&[family], move |page| {
            let mut samples = page.family(family);
            histograms.for_each(|labels, histogram| samples.add_nonzero(labels, histogram.count()));
        });
    }

    /// Registers families whose values are read on each scrape. `write` must write no other families.
    pub fn collect(
        &self,
        families: &[&'static dyn AnyFamily],
        write: impl Fn(&mut Page<'_>) + Send + Sync + 'static,
    ) {
        let mut inner = self.lock();
        inner.families.extend(families.iter().map(|family| (family.desc().name, family.desc())));
        inner.collectors.push(Arc::new(write));
    }

    /// Renders the page of `/metrics`: all registered families, and upstream's families about the registry.
    pub fn render(&self, selection: &Selection) -> String {
        let mut page = self.page(selection);
        let mut registered = page.family(&REGISTERED);
        for ((version, level), count) in self.registered_counts(selection) {
            registered.add([&version, level], count);
        }
        drop(registered);
        page.family(&DISABLED).add([], selection.disabled_count());
        let hidden = self.lock().families.values().filter(|desc| selection.hides(desc)).count();
        page.family(&HIDDEN).add([], hidden);
        let unexpected = page.unexpected();
        page.family(&UNEXPECTED).add([], unexpected);
        page.into_text()
    }

    fn page<'s>(&self, selection: &'s Selection) -> Page<'s> {
        // A copy, because a component may register a family at any time.
        let collectors = self.lock().collectors.clone();
        let mut page = Page::new(selection);
        collectors.iter().for_each(|collector| collector(&mut page));
        page
    }

    /// Returns the number of families by the release that deprecated them and by stability level, with the
    /// registry's own and without hidden ones.
    fn registered_counts(&self, selection: &Selection) -> BTreeMap<(String, &'static str), usize> {
        let inner = self.lock();
        let own = REGISTRY_FAMILIES.iter().map(|family| family.desc());
        let all = inner.families.values().copied().chain(own);
        let mut counts = BTreeMap::new();
        for desc in all.filter(|desc| !selection.hides(desc)) {
            let level = match desc.stability {
                Stability::Alpha | Stability::Experimental => "ALPHA",
                Stability::Beta => "BETA",
                Stability::Stable => "STABLE",
                Stability::Internal => continue,
            };
            let count: &mut usize = counts.entry((desc.deprecated_version(), level)).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Every change under the lock is complete, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registered families, without those about the registry.
impl Display for MetricsRegistry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.page(&Selection::default()).into_text())
    }
}

impl Debug for MetricsRegistry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().families.keys()).finish()
    }
}

#[cfg(test)]
mod tests;
