//! Metrics of sent watch events, by resource, under upstream's names.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::resources::Resource;
use apimachinery::request_info::RequestInfo;

/// Upper bounds of event sizes, in bytes.
const SIZES: [u64; 8] = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/// Upper bounds of the time until the initial state is sent, in milliseconds.
const LIST_TIMES: [u64; 17] = [
    50, 100, 200, 400, 600, 800, 1000, 2000, 4000, 6000, 8000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000,
];

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

/// Histogram. The last bucket counts values above all bounds.
struct Histogram<const BOUNDS: usize> {
    counts: [AtomicU64; BOUNDS],
    above: AtomicU64,
    sum: AtomicU64,
}

impl<const BOUNDS: usize> Default for Histogram<BOUNDS> {
    fn default() -> Self {
        let counts = std::array::from_fn(|_| AtomicU64::new(0));
        Histogram { counts, above: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }
}

impl<const BOUNDS: usize> Histogram<BOUNDS> {
    fn observe(&self, bounds: &[u64; BOUNDS], value: u64) {
        let bucket = bounds.partition_point(|bound| *bound < value);
        self.counts.get(bucket).unwrap_or(&self.above).fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Appends the samples, with bounds and sum divided by `unit`. Appends nothing if there are none.
    fn write(&self, name: &str, labels: &str, bounds: &[u64; BOUNDS], unit: f64, out: &mut String) {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        let total = counts.iter().sum::<u64>() + self.above.load(Relaxed);
        if total == 0 {
            return;
        }
        let mut below = 0;
        for (bound, count) in bounds.iter().zip(&counts) {
            below += count;
            let bound = *bound as f64 / unit;
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
        }
        let sum = self.sum.load(Relaxed) as f64 / unit;
        let _ = writeln!(
            out,
            "{name}_bucket{{{labels},le=\"+Inf\"}} {total}\n{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {total}"
        );
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    events: AtomicU64,
    sizes: Histogram<{ SIZES.len() }>,
    lists: [Histogram<{ LIST_TIMES.len() }>; SCOPES.len()],
}

impl Counters {
    /// Counts an event of this size.
    pub(crate) fn sent(&self, bytes: usize) {
        self.events.fetch_add(1, Relaxed);
        self.sizes.observe(&SIZES, bytes as u64);
    }

    /// Records the duration of the initial list.
    pub(crate) fn listed(&self, scope: Scope, took: Duration) {
        if let Some(times) = self.lists.get(scope as usize) {
            times.observe(&LIST_TIMES, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
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
        match place(&rows, row) {
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
        if let Ok(at) = place(&rows, row) {
            rows.remove(at);
        }
    }

    fn rows(&self) -> MutexGuard<'_, Vec<(Labels, Arc<Counters>)>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let all = self.rows().clone();
        let rows = || {
            all.iter().map(|((group, version, plural), counters)| {
                (format!("group=\"{group}\",resource=\"{plural}\",version=\"{version}\""), counters)
            })
        };
        let name = "apiserver_watch_events_total";
        family(out, name, "counter", "[ALPHA] Events that watches have sent.");
        for (labels, counters) in rows() {
            let events = counters.events.load(Relaxed);
            if events > 0 {
                let _ = writeln!(out, "{name}{{{labels}}} {events}");
            }
        }
        let name = "apiserver_watch_events_sizes";
        family(out, name, "histogram", "[ALPHA] Sizes of the events that watches have sent, in bytes.");
        for (labels, counters) in rows() {
            counters.sizes.write(name, &labels, &SIZES, 1.0, out);
        }
        let name = "apiserver_watch_list_duration_seconds";
        family(
            out,
            name,
            "histogram",
            "[BETA] Time until watches had sent the initial state they were asked for.",
        );
        for (labels, counters) in rows() {
            for (scope, times) in SCOPES.iter().zip(&counters.lists) {
                times.write(name, &format!("{labels},scope=\"{scope}\""), &LIST_TIMES, 1000.0, out);
            }
        }
    }
}

/// Index of a resource, or its insertion point.
fn place(rows: &[(Labels, Arc<Counters>)], row: &Resource<'_>) -> Result<usize, usize> {
    rows.binary_search_by(|((group, version, plural), _)| {
        (&**group, &**version, &**plural).cmp(&(row.group, row.version, row.plural))
    })
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sent_events_are_counted_by_resource_and_size() {
        let metrics = WatchMetrics::default();
        metrics.of(api::resources::find("", "v1", "configmaps", "").unwrap());
        let pods = metrics.of(api::resources::find("", "v1", "pods", "").unwrap());
        pods.sent(1024);
        pods.sent(1025);
        pods.sent(1 << 20);
        pods.listed(Scope::Namespace, Duration::from_millis(1500));
        let mut page = String::new();
        metrics.write(&mut page);
        for line in [
            "apiserver_watch_events_total{group=\"\",resource=\"pods\",version=\"v1\"} 3",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"1024\"} 1",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"131072\"} 2",
            "apiserver_watch_events_sizes_bucket{group=\"\",resource=\"pods\",version=\"v1\",le=\"+Inf\"} 3",
            "apiserver_watch_events_sizes_sum{group=\"\",resource=\"pods\",version=\"v1\"} 1050625",
            "apiserver_watch_list_duration_seconds_bucket{group=\"\",resource=\"pods\",version=\"v1\",scope=\"namespace\",le=\"2\"} 1",
            "apiserver_watch_list_duration_seconds_sum{group=\"\",resource=\"pods\",version=\"v1\",scope=\"namespace\"} 1.5",
        ] {
            assert!(page.lines().any(|l| l == line), "no {line} in\n{page}");
        }
        assert!(!page.contains("configmaps"), "what nobody watches is not shown");
    }

    #[test]
    fn counts_end_when_resource_is_removed() {
        let metrics = WatchMetrics::default();
        let pods = api::resources::find("", "v1", "pods", "").unwrap();
        let custom = Resource { group: "example.com", version: "v2", plural: "things", ..*pods };
        metrics.of(&custom).sent(1);
        metrics.of(&custom).sent(1);
        let page = || {
            let mut page = String::new();
            metrics.write(&mut page);
            page
        };
        let line = "apiserver_watch_events_total{group=\"example.com\",resource=\"things\",version=\"v2\"} 2";
        assert!(page().contains(line), "{}", page());
        metrics.forget(&custom);
        assert!(!page().contains("example.com"));
    }
}
