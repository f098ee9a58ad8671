//! Metrics of sent watch events, by resource, under upstream's names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::resources::Resource;
use apimachinery::request_info::RequestInfo;
use component_base::metrics::{
    Counter, Family, Histogram, Metric, MetricsRegistry, Page, Stability, buckets,
};

const EVENTS: Family<Counter, 3> = Family::counter(
    Stability::Beta,
    "apiserver_watch_events_total",
    "Number of events sent in watch clients",
    ["group", "resource", "version"],
);
const SIZES: Family<Histogram, 3> = Family::histogram(
    Stability::Beta,
    "apiserver_watch_events_sizes",
    "Watch event size distribution in bytes",
    ["group", "resource", "version"],
    &buckets::EVENT_BYTES,
);
const LIST_SECONDS: Family<Histogram, 4> = Family::histogram(
    Stability::Beta,
    "apiserver_watch_list_duration_seconds",
    "Response latency distribution in seconds for watch list requests broken by group, version, resource and scope.",
    ["group", "resource", "scope", "version"],
    &buckets::WATCH_LIST_SECONDS,
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Resource,
    Namespace,
    /// All namespaces, or a cluster-scoped resource.
    Cluster,
}

/// Label values, in the order of [`Scope`].
const SCOPES: [&str; 3] = ["resource", "namespace", "cluster"];

impl Scope {
    pub(crate) fn of(info: &RequestInfo, name: &str) -> Self {
        match (name, &*info.namespace) {
            ("", "") => Scope::Cluster,
            ("", _) => Scope::Namespace,
            _ => Scope::Resource,
        }
    }
}

/// Counts of one resource.
pub(crate) struct Counters {
    events: Counter,
    sizes: Histogram,
    /// In the order of [`Scope`].
    lists: [Histogram; SCOPES.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            events: Counter::default(),
            sizes: Histogram::new(SIZES.buckets()),
            lists: std::array::from_fn(|_| Histogram::new(LIST_SECONDS.buckets())),
        }
    }
}

impl Counters {
    /// Counts an event of this size.
    pub(crate) fn record_event(&self, bytes: usize) {
        self.events.increment();
        self.sizes.observe(bytes as u64);
    }

    /// Records the duration of the initial list.
    pub(crate) fn listed(&self, scope: Scope, duration: Duration) {
        if let Some(times) = self.lists.get(scope as usize) {
            times.observe_duration(duration);
        }
    }
}

/// Labels of a resource: group, version, plural.
type Labels = (Box<str>, Box<str>, Box<str>);

/// Counters of all resources that were ever watched.
#[derive(Default)]
pub struct WatchMetrics {
    rows: Mutex<Vec<(Labels, Arc<Counters>)>>,
}

impl WatchMetrics {
    pub(crate) fn of(&self, row: &Resource<'_>) -> Arc<Counters> {
        let mut rows = self.rows();
        match find_row(&rows, row) {
            Ok(at) => rows.get(at).map(|(_, counters)| Arc::clone(counters)).unwrap_or_default(),
            Err(at) => {
                let counters = Arc::<Counters>::default();
                let labels = (row.group.into(), row.version.into(), row.plural.into());
                rows.insert(at, (labels, Arc::clone(&counters)));
                counters
            }
        }
    }

    /// Removes a resource that is no longer served.
    pub fn forget(&self, row: &Resource<'_>) {
        let mut rows = self.rows();
        if let Ok(at) = find_row(&rows, row) {
            rows.remove(at);
        }
    }

    fn rows(&self) -> MutexGuard<'_, Vec<(Labels, Arc<Counters>)>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the metrics.
    pub fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let metrics = Arc::clone(self);
        registry.collect(&[&EVENTS, &SIZES, &LIST_SECONDS], move |page| metrics.write(page));
    }

    fn write(&self, page: &mut Page<'_>) {
        let all = self.rows().clone();
        let rows =
            || all.iter().map(|((group, version, plural), counters)| ([&**group, plural, version], counters));
        let mut samples = page.family(&EVENTS);
        rows().for_each(|(labels, counters)| samples.write_used(labels, &counters.events));
        drop(samples);
        let mut samples = page.family(&SIZES);
        rows().for_each(|(labels, counters)| samples.write_used(labels, &counters.sizes));
        drop(samples);
        let mut samples = page.family(&LIST_SECONDS);
        for ([group, resource, version], counters) in rows() {
            for (scope, times) in SCOPES.iter().zip(&counters.lists) {
                samples.write_used([group, resource, scope, version], times);
            }
        }
    }
}

/// Index of a resource, or its insertion point.
fn find_row(rows: &[(Labels, Arc<Counters>)], row: &Resource<'_>) -> Result<usize, usize> {
    rows.binary_search_by(|((group, version, plural), _)| {
        (&**group, &**version, &**plural).cmp(&(row.group, row.version, row.plural))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sent_events_are_counted_by_resource_and_size() {
        let registry = MetricsRegistry::default();
        let metrics = Arc::<WatchMetrics>::default();
        metrics.register(&registry);
        metrics.of(api::resources::find("", "v1", "configmaps", "").unwrap());
        let pods = metrics.of(api::resources::find("", "v1", "pods", "").unwrap());
        pods.record_event(1024);
        pods.record_event(1025);
        pods.record_event(1 << 20);
        pods.listed(Scope::Namespace, Duration::from_millis(1500));
        let page = registry.to_string();
        for line in [
            "apiserver_watch_events_total{group=\"\",resource=\"pods\",version=\"v1\"} 3",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"1024\"} 1",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"131072\"} 2",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"+Inf\"} 3",
            "apiserver_watch_events_sizes_sum{group=\"\",resource=\"pods\",version=\"v1\"} 1050625",
            "apiserver_watch_list_duration_seconds_bucket{group=\"\",resource=\"pods\",scope=\"namespace\",version=\"v1\",le=\"2\"} 1",
            "apiserver_watch_list_duration_seconds_sum{group=\"\",resource=\"pods\",scope=\"namespace\",version=\"v1\"} 1.5",
        ] {
            assert!(page.lines().any(|l| l == line), "no {line} in\n{page}");
        }
        assert!(!page.contains("configmaps"), "what nobody watches is not shown");
    }

    #[test]
    fn counts_end_when_resource_is_removed() {
        let registry = MetricsRegistry::default();
        let metrics = Arc::<WatchMetrics>::default();
        metrics.register(&registry);
        let pods = api::resources::find("", "v1", "pods", "").unwrap();
        let custom = Resource { group: "example.com", version: "v2", plural: "things", ..*pods };
        metrics.of(&custom).record_event(1);
        metrics.of(&custom).record_event(1);
        let page = || registry.to_string();
        let line = "apiserver_watch_events_total{group=\"example.com\",resource=\"things\",version=\"v2\"} 2";
        assert!(page().contains(line), "{}", page());
        metrics.forget(&custom);
        assert!(!page().contains("example.com"));
    }
}
