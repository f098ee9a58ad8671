//! Metrics of each resource, with upstream's names (`cacher/metrics` and `etcd3/metrics`). Counting is a
//! relaxed atomic addition; the rest happens on a scrape.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::cache::{Figures, Snapshot};
use crate::{Delegator, ListQuery, Page, Resource};

/// Histogram bounds of waits, in seconds.
const WAIT_BUCKETS: [f64; 13] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0];

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Histogram of the time that readers waited.
#[derive(Debug, Default)]
pub(crate) struct WaitHistogram {
    /// One more than the bounds, for longer waits.
    buckets: [Counter; WAIT_BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl WaitHistogram {
    pub(crate) fn observe(&self, time: Duration) {
        let bucket = WAIT_BUCKETS.partition_point(|&bound| bound < time.as_secs_f64());
        if let Some(count) = self.buckets.get(bucket) {
            count.increment();
        }
        self.nanoseconds.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// True if there were any waits.
    fn any(&self) -> bool {
        self.buckets.iter().any(|count| count.get() > 0)
    }

    fn write(&self, out: &mut String, name: &str, labels: &str) {
        let mut below = 0;
        for (bound, count) in WAIT_BUCKETS.iter().zip(&self.buckets) {
            below += count.get();
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
        }
        let total: u64 = self.buckets.iter().map(Counter::get).sum();
        let seconds = Duration::from_nanos(self.nanoseconds.load(Relaxed)).as_secs_f64();
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {total}");
        let _ = writeln!(out, "{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {total}");
    }
}

/// Consistent reads from the cache by outcome.
#[derive(Debug, Default)]
pub(crate) struct ConsistentReads {
    /// Served by the cache.
    pub(crate) cached: Counter,
    /// The cache was late and storage served the read.
    pub(crate) fallback: Counter,
    /// The cache was late and storage failed.
    pub(crate) fallback_failed: Counter,
    /// The cache returned an error.
    pub(crate) failed: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct ResourceMetrics {
    /// Changes received from the store.
    pub(crate) events: Counter,
    /// Number of times the cache was filled.
    pub(crate) initializations: Counter,
    /// Lists served by the cache: by key range, and by the index.
    pub(crate) cache_lists: [Counter; 2],
    /// Objects scanned by those lists, in the same order.
    pub(crate) cache_fetched: [Counter; 2],
    /// Objects returned by those lists.
    pub(crate) cache_returned: Counter,
    pub(crate) consistent: ConsistentReads,
    /// Waits for the cache to become fresh enough.
    pub(crate) waits: WaitHistogram,
    /// Lists served by storage, including those that filled the cache.
    pub(crate) storage_lists: Counter,
    /// Objects read by those lists.
    pub(crate) storage_fetched: Counter,
    /// Objects of those lists that were matched against selectors.
    pub(crate) storage_evaluated: Counter,
    /// Objects returned by those lists.
    pub(crate) storage_returned: Counter,
}

impl ResourceMetrics {
    /// Counts a list of the store that filled the cache.
    pub(crate) fn count_fill(&self, objects: usize) {
        self.initializations.increment();
        self.storage_lists.increment();
        for objects_of in [&self.storage_fetched, &self.storage_evaluated, &self.storage_returned] {
            objects_of.add(objects);
        }
    }

    /// Counts a list served by the cache. The number of returned items is not counted for selections without
    /// a limit, because it is only available after the iteration.
    pub(crate) fn count_cache_list(
        &self,
        snapshot: &Snapshot,
        query: &ListQuery,
        page: &Page,
        index: Option<usize>,
    ) {
        let by_index = index.is_some_and(|field| query.predicate.required(field).is_some());
        let walk = snapshot.walk(&query.scope, query.start.as_deref(), &query.predicate);
        let fetched = walk.remaining();
        let at = usize::from(by_index);
        if let (Some(lists), Some(count)) = (self.cache_lists.get(at), self.cache_fetched.get(at)) {
            lists.increment();
            count.add(fetched);
        }
        if query.limit > 0 {
            self.cache_returned.add(page.items.iter().count());
        } else if query.predicate.is_everything() {
            self.cache_returned.add(fetched);
        }
    }
}

/// The values of a resource during a scrape.
struct Row<'a> {
    metrics: &'a ResourceMetrics,
    /// The statistics of its cache, if it has one.
    figures: Option<Figures>,
    /// `group="…",resource="…"`.
    labels: String,
}

/// A metric family with one sample per resource that has a value.
type Simple = (&'static str, &'static str, &'static str, fn(&Row) -> Option<u64>);

/// Name, type, help and value of simple families.
const SIMPLE: [Simple; 14] = [
    (
        "apiserver_watch_cache_events_received_total",
        "counter",
        "Changes that came in for a watch cache.",
        |row| row.figures.map(|_| row.metrics.events.get()),
    ),
    ("apiserver_watch_cache_events_dispatched_total", "counter", "Changes that a watch cache took.", |row| {
        row.figures.map(|figures| figures.events)
    }),
    (
        "apiserver_watch_cache_initializations_total",
        "counter",
        "How often a watch cache was filled.",
        |row| row.figures.map(|_| row.metrics.initializations.get()),
    ),
    (
        "apiserver_watch_cache_resource_version",
        "gauge",
        "The revision of a watch cache, of which the last 15 digits.",
        |row| row.figures.map(|figures| figures.revision.unsigned_abs() % 1_000_000_000_000_000),
    ),
    ("watch_cache_capacity", "gauge", "Changes for which the log of a watch cache has room.", |row| {
        row.figures.map(|figures| figures.log_capacity as u64)
    }),
    (
        "apiserver_init_events_total",
        "counter",
        "Objects that watches of a watch cache were sent as their initial state.",
        |row| row.figures.map(|figures| figures.initial_events),
    ),
    (
        "apiserver_terminated_watchers_total",
        "counter",
        "Watches that ended because they were too slow.",
        |row| row.figures.map(|figures| figures.terminated),
    ),
    (
        "apiserver_cache_list_returned_objects_total",
        "counter",
        "Objects that lists from a watch cache gave, as far as that was known before they were sent.",
        |row| row.figures.map(|_| row.metrics.cache_returned.get()),
    ),
    ("apiserver_storage_events_received_total", "counter", "Changes that came from the store.", |row| {
        Some(row.metrics.events.get())
    }),
    ("apiserver_storage_list_total", "counter", "Lists that the store answered.", |row| {
        Some(row.metrics.storage_lists.get())
    }),
    (
        "apiserver_storage_list_fetched_objects_total",
        "counter",
        "Objects read from the store for lists.",
        |row| Some(row.metrics.storage_fetched.get()),
    ),
    (
        "apiserver_storage_list_evaluated_objects_total",
        "counter",
        "Objects that lists from the store held against their selectors.",
        |row| Some(row.metrics.storage_evaluated.get()),
    ),
    (
        "apiserver_storage_list_returned_objects_total",
        "counter",
        "Objects that lists from the store gave.",
        |row| Some(row.metrics.storage_returned.get()),
    ),
    ("mainstay_watch_cache_watches", "gauge", "Watches of a watch cache.", |row| {
        row.figures.map(|figures| figures.watches as u64)
    }),
];

impl Delegator {
    /// Writes the metrics of all resources in the Prometheus text format. Counters omit unused resources.
    pub fn write_metrics(&self, out: &mut String) {
        let resources = self.resources();
        let mut rows: Vec<Row> = resources.iter().map(|resource| Row::of(resource)).collect();
        rows.sort_by(|a, b| a.labels.cmp(&b.labels));
        for (name, kind, help, value) in SIMPLE {
            head(out, name, kind, help);
            for row in &rows {
                if let Some(value) = value(row).filter(|value| *value > 0 || kind == "gauge") {
                    let _ = writeln!(out, "{name}{{{}}} {value}", row.labels);
                }
            }
        }
        write_lists(out, &rows);
        write_consistent_reads(out, &rows);
        let name = "apiserver_watch_cache_read_wait_seconds";
        head(out, name, "histogram", "How long reads waited for a watch cache to be fresh enough.");
        for row in rows.iter().filter(|row| row.metrics.waits.any()) {
            row.metrics.waits.write(out, name, &row.labels);
        }
    }
}

impl<'a> Row<'a> {
    fn of(resource: &'a Resource) -> Self {
        let (group, name) = (&resource.config.group, &resource.config.resource);
        Row {
            metrics: &resource.metrics,
            figures: resource.cache.as_ref().map(|cache| cache.figures()),
            labels: format!("group={group:?},resource={name:?}"),
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let stability = match name {
        "apiserver_storage_events_received_total" => "[BETA] ",
        name if name.starts_with("mainstay_") => "",
        _ => "[ALPHA] ",
    };
    let _ = writeln!(out, "# HELP {name} {stability}{help}\n# TYPE {name} {kind}");
}

fn write_lists(out: &mut String, rows: &[Row]) {
    let name = "apiserver_cache_list_total";
    head(out, name, "counter", "Lists that a watch cache answered.");
    for row in rows {
        write_by_index(out, name, row, &row.metrics.cache_lists);
    }
    let name = "apiserver_cache_list_fetched_objects_total";
    head(out, name, "counter", "Objects in the range, or under the index term, of lists from a watch cache.");
    for row in rows {
        write_by_index(out, name, row, &row.metrics.cache_fetched);
    }
}

/// Writes a counter by index. Upstream's label is the name of the field; here a resource has only one index.
fn write_by_index(out: &mut String, name: &str, row: &Row, counters: &[Counter; 2]) {
    for (index, counter) in ["", "f"].iter().zip(counters) {
        let (labels, value) = (&row.labels, counter.get());
        if value > 0 {
            let _ = writeln!(out, "{name}{{{labels},index=\"{index}\"}} {value}");
        }
    }
}

fn write_consistent_reads(out: &mut String, rows: &[Row]) {
    let name = "apiserver_watch_cache_consistent_read_total";
    head(out, name, "counter", "Consistent lists of resources that have a watch cache.");
    for row in rows {
        let reads = &row.metrics.consistent;
        let samples = [
            (true, true, &reads.fallback),
            (true, false, &reads.fallback_failed),
            (false, true, &reads.cached),
            (false, false, &reads.failed),
        ];
        for (fallback, success, counter) in samples {
            if counter.get() > 0 {
                let (labels, value) = (&row.labels, counter.get());
                let _ =
                    writeln!(out, "{name}{{fallback=\"{fallback}\",{labels},success=\"{success}\"}} {value}");
            }
        }
    }
}
