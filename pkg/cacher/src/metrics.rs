//! Metrics of each resource, with upstream's names (`cacher/metrics` and `etcd3/metrics`). Counting is a
//! relaxed atomic addition; the rest happens on a scrape.

use std::time::Duration;

use component_base::metrics::{
    Counter, Family, Gauge, Histogram, Metric, MetricsRegistry, Page as MetricsPage, Stability, buckets,
};

use crate::cache::{CacheStats, DispatchMetrics, Snapshot};
use crate::{Delegator, ListQuery, Page, Resource};

const EVENTS_RECEIVED: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_watch_cache_events_received_total",
    "Counter of events received in watch cache broken by resource type.",
    ["group", "resource"],
);
const EVENTS_DISPATCHED: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_watch_cache_events_dispatched_total",
    "Counter of events dispatched in watch cache broken by resource type.",
    ["group", "resource"],
);
const INITIALIZATIONS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_watch_cache_initializations_total",
    "Counter of watch cache initializations broken by resource type.",
    ["group", "resource"],
);
const INITIALIZATION_ERRORS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_watch_cache_initialization_errors_total",
    "Counter of watch cache initialization errors broken by resource type.",
    ["group", "resource"],
);
const INITIALIZATION_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_watch_cache_initialization_duration_seconds",
    "Histogram of watch cache initialization duration in seconds, broken by resource type.",
    ["group", "resource"],
    &buckets::INITIALIZATION_SECONDS,
);
const RESOURCE_VERSION: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_watch_cache_resource_version",
    "Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant digits.",
    ["group", "resource"],
);
const CAPACITY: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "watch_cache_capacity",
    "Total capacity of watch cache broken by resource type.",
    ["group", "resource"],
);
const INITIAL_EVENTS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_init_events_total",
    "Counter of init events processed in watch cache broken by resource type.",
    ["group", "resource"],
);
const TERMINATED: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_terminated_watchers_total",
    "Counter of watchers closed due to unresponsiveness broken by resource type.",
    ["group", "resource"],
);
const CACHE_LISTS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_cache_list_total",
    "Number of LIST requests served from watch cache",
    ["group", "index", "resource"],
)
.deprecated(37);
const CACHE_FETCHED: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_cache_list_fetched_objects_total",
    "Number of objects read from watch cache in the course of serving a LIST request",
    ["group", "index", "resource"],
)
.deprecated(37);
const CACHE_RETURNED: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_cache_list_returned_objects_total",
    "Number of objects returned for a LIST request from watch cache",
    ["group", "resource"],
)
.deprecated(37);
const STORAGE_EVENTS: Family<Counter, 2> = Family::counter(
    Stability::Beta,
    "apiserver_storage_events_received_total",
    "Number of etcd events received split by kind.",
    ["group", "resource"],
);
const STORAGE_LISTS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_list_total",
    "Number of LIST requests served from storage",
    ["group", "index", "resource", "storage"],
);
const STORAGE_FETCHED: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_list_fetched_objects_total",
    "Number of objects read from storage in the course of serving a LIST request",
    ["group", "index", "resource", "storage"],
);
const STORAGE_EVALUATED: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_list_evaluated_objects_total",
    "Number of objects tested in the course of serving a LIST request from storage",
    ["group", "resource", "storage"],
);
const STORAGE_RETURNED: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_list_returned_objects_total",
    "Number of objects returned for a LIST request from storage",
    ["group", "resource", "storage"],
);
const STORAGE_LIST_SECONDS: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "apiserver_storage_list_duration_seconds",
    "Latency of the storage layer GetList call in seconds, including object decode, split by whether etcd RangeStream was used.",
    ["group", "resource", "streamed"],
    &buckets::REQUEST_SECONDS,
);
const DECODE_ERRORS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_decode_errors_total",
    "Number of stored object decode errors split by object type",
    ["group", "resource"],
);
const CONSISTENT_READS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_watch_cache_consistent_read_total",
    "Counter for consistent reads from cache.",
    ["fallback", "group", "resource", "success"],
);
const WAIT_SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_watch_cache_read_wait_seconds",
    "Histogram of time spent waiting for a watch cache to become fresh.",
    ["group", "resource"],
    &buckets::CACHE_WAIT_SECONDS,
);
const DISPATCH_SECONDS: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "apiserver_watch_events_dispatch_duration_seconds",
    "Histogram of watch event dispatch latency broken by resource type and pipeline stage. The 'total' stage is the end-to-end latency of a delivered event.",
    ["group", "resource", "stage"],
    &buckets::DISPATCH_SECONDS,
);
const WATCHES: Family<Gauge, 2> = Family::gauge(
    Stability::Internal,
    "mainstay_watch_cache_watches",
    "Watches of a watch cache.",
    ["group", "resource"],
);

const UNREADABLE: Family<Gauge, 2> = Family::gauge(
    Stability::Internal,
    "mainstay_watch_cache_unreadable_objects",
    "Objects of a watch cache whose stored values cannot be decoded or decrypted.",
    ["group", "resource"],
);

/// Consistent reads from the cache by outcome.
#[derive(Debug, Default)]
pub(crate) struct ConsistentReads {
    /// Served by the cache.
    pub(crate) cached: Counter,
    /// The cache was late and storage served the read.
    pub(crate) fallback: Counter,
    /// The cache was late and storage failed.
    pub(crate) fallback_failed: Counter,
    /// The cache was late and storage was not read.
    pub(crate) fallback_skipped: Counter,
    /// The cache returned an error.
    pub(crate) failed: Counter,
}

#[derive(Debug)]
pub(crate) struct ResourceMetrics {
    /// Changes received from the store.
    pub(crate) events: Counter,
    /// Number of times the cache was filled.
    pub(crate) initializations: Counter,
    /// Failed pages of the lists that fill the cache.
    pub(crate) initialization_errors: Counter,
    /// Durations of the lists that filled the cache.
    pub(crate) initialization_seconds: Histogram,
    /// Lists served by the cache: by key range, and by the index.
    pub(crate) cache_lists: [Counter; 2],
    /// Objects scanned by those lists, in the same order.
    pub(crate) cache_fetched: [Counter; 2],
    /// Objects returned by those lists.
    pub(crate) cache_returned: Counter,
    pub(crate) consistent: ConsistentReads,
    /// Waits for the cache to become fresh enough.
    pub(crate) waits: Histogram,
    /// Lists served by storage, including those that filled the cache.
    pub(crate) storage_lists: Counter,
    /// Objects read by those lists.
    pub(crate) storage_fetched: Counter,
    /// Objects of those lists that were matched against selectors.
    pub(crate) storage_evaluated: Counter,
    /// Objects returned by those lists.
    pub(crate) storage_returned: Counter,
    /// Durations of those lists: in pages, and in streams.
    pub(crate) storage_list_seconds: [Histogram; 2],
    /// Values that could not be decoded.
    pub(crate) decode_errors: Counter,
}

impl Default for ResourceMetrics {
    fn default() -> Self {
        ResourceMetrics {
            events: Counter::default(),
            initializations: Counter::default(),
            initialization_errors: Counter::default(),
            initialization_seconds: Histogram::new(INITIALIZATION_SECONDS.buckets()),
            cache_lists: Default::default(),
            cache_fetched: Default::default(),
            cache_returned: Counter::default(),
            consistent: ConsistentReads::default(),
            waits: Histogram::new(WAIT_SECONDS.buckets()),
            storage_lists: Counter::default(),
            storage_fetched: Counter::default(),
            storage_evaluated: Counter::default(),
            storage_returned: Counter::default(),
            storage_list_seconds: std::array::from_fn(|_| Histogram::new(STORAGE_LIST_SECONDS.buckets())),
            decode_errors: Counter::default(),
        }
    }
}

impl ResourceMetrics {
    /// Counts a list of the store that filled the cache.
    pub(crate) fn count_fill(&self, objects: usize) {
        self.initializations.increment();
        self.storage_lists.increment();
        for objects_of in [&self.storage_fetched, &self.storage_evaluated, &self.storage_returned] {
            objects_of.add(objects as u64);
        }
    }

    /// Records the duration of a list of the store.
    pub(crate) fn record_storage_list(&self, streamed: bool, duration: Duration) {
        if let Some(seconds) = self.storage_list_seconds.get(usize::from(streamed)) {
            seconds.observe_duration(duration);
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
            count.add(fetched as u64);
        }
        if query.limit > 0 {
            self.cache_returned.add(page.items.iter().count() as u64);
        } else if query.predicate.is_everything() {
            self.cache_returned.add(fetched as u64);
        }
    }
}

/// The values of a resource during a scrape.
struct Row<'a> {
    metrics: &'a ResourceMetrics,
    /// The statistics of its cache, if it has one.
    stats: Option<CacheStats>,
    dispatch: Option<&'a DispatchMetrics>,
    group: &'a str,
    resource: &'a str,
}

/// A family, and the function that reads its value; `None` for no sample.
type CounterReader = (&'static Family<Counter, 2>, fn(&Row<'_>) -> Option<u64>);
/// A family, and the function that reads its value.
type GaugeReader = (&'static Family<Gauge, 2>, fn(&CacheStats) -> u64);

/// Counters with one sample per resource that has a value.
const COUNTERS: [CounterReader; 9] = [
    (&EVENTS_RECEIVED, |row| row.stats.map(|_| row.metrics.events.get())),
    (&EVENTS_DISPATCHED, |row| row.stats.map(|stats| stats.events)),
    (&INITIALIZATIONS, |row| row.stats.map(|_| row.metrics.initializations.get())),
    (&INITIALIZATION_ERRORS, |row| Some(row.metrics.initialization_errors.get())),
    (&INITIAL_EVENTS, |row| row.stats.map(|stats| stats.initial_events)),
    (&TERMINATED, |row| row.stats.map(|stats| stats.terminated)),
    (&CACHE_RETURNED, |row| row.stats.map(|_| row.metrics.cache_returned.get())),
    (&STORAGE_EVENTS, |row| Some(row.metrics.events.get())),
    (&DECODE_ERRORS, |row| Some(row.metrics.decode_errors.get())),
];

/// Gauges with one sample per cached resource.
const GAUGES: [GaugeReader; 4] = [
    // As upstream's, the last 15 digits.
    (&RESOURCE_VERSION, |stats| stats.revision.unsigned_abs() % 1_000_000_000_000_000),
    (&CAPACITY, |stats| stats.log_capacity as u64),
    (&WATCHES, |stats| stats.watches as u64),
    (&UNREADABLE, |stats| stats.unreadable as u64),
];

impl Delegator {
    /// Registers the metrics of all resources. Counters omit unused resources.
    pub fn register_metrics(&self, registry: &MetricsRegistry) {
        let delegator = self.clone();
        registry.collect(
            &[
                &EVENTS_RECEIVED,
                &EVENTS_DISPATCHED,
                &INITIALIZATIONS,
                &INITIALIZATION_ERRORS,
                &INITIALIZATION_SECONDS,
                &INITIAL_EVENTS,
                &TERMINATED,
                &CACHE_LISTS,
                &CACHE_FETCHED,
                &CACHE_RETURNED,
                &STORAGE_EVENTS,
                &STORAGE_LISTS,
                &STORAGE_FETCHED,
                &STORAGE_EVALUATED,
                &STORAGE_RETURNED,
                &STORAGE_LIST_SECONDS,
                &DECODE_ERRORS,
                &CONSISTENT_READS,
                &WAIT_SECONDS,
                &DISPATCH_SECONDS,
                &RESOURCE_VERSION,
                &CAPACITY,
                &WATCHES,
                &UNREADABLE,
            ],
            move |page| delegator.write_metrics(page),
        );
    }

    fn write_metrics(&self, page: &mut MetricsPage<'_>) {
        let resources = self.resources();
        let mut rows: Vec<Row> = resources.iter().map(|resource| Row::of(resource)).collect();
        rows.sort_by_key(|row| (row.group, row.resource));
        for (family, value) in COUNTERS {
            let mut samples = page.family(family);
            for row in &rows {
                samples.add_nonzero([row.group, row.resource], value(row).unwrap_or(0));
            }
        }
        for (family, value) in GAUGES {
            let mut samples = page.family(family);
            for row in &rows {
                if let Some(stats) = &row.stats {
                    samples.add([row.group, row.resource], value(stats));
                }
            }
        }
        write_by_index(page, &CACHE_LISTS, &rows, |metrics| &metrics.cache_lists);
        write_by_index(page, &CACHE_FETCHED, &rows, |metrics| &metrics.cache_fetched);
        write_lists(page, &rows);
        write_consistent_reads(page, &rows);
        write_dispatch(page, &rows);
        write_histogram(page, &WAIT_SECONDS, &rows, |metrics| &metrics.waits);
        write_histogram(page, &INITIALIZATION_SECONDS, &rows, |metrics| &metrics.initialization_seconds);
    }
}

impl<'a> Row<'a> {
    fn of(resource: &'a Resource) -> Self {
        Row {
            metrics: &resource.metrics,
            stats: resource.cache.as_ref().map(|cache| cache.stats()),
            dispatch: resource.cache.as_ref().map(|cache| &cache.metrics.dispatch),
            group: &resource.config.group,
            resource: &resource.config.resource,
        }
    }
}

fn write_histogram(
    page: &mut MetricsPage<'_>,
    family: &'static Family<Histogram, 2>,
    rows: &[Row],
    histogram: fn(&ResourceMetrics) -> &Histogram,
) {
    let mut samples = page.family(family);
    for row in rows {
        samples.write_used([row.group, row.resource], histogram(row.metrics));
    }
}

/// Indexes of the cached lists: none, and the index of a resource. Upstream's label is the name of the field; here a
/// resource has only one index.
const INDEXES: [&str; 2] = ["", "f"];
/// The label values of lists from the store and from the cache.
const STORE: &str = "etcd";
const CACHE: &str = "watchcache";

/// Writes the lists of the store and of the cache.
fn write_lists(page: &mut MetricsPage<'_>, rows: &[Row]) {
    write_lists_by_index(page, &STORAGE_LISTS, rows, |metrics| {
        (&metrics.storage_lists, &metrics.cache_lists)
    });
    write_lists_by_index(page, &STORAGE_FETCHED, rows, |metrics| {
        (&metrics.storage_fetched, &metrics.cache_fetched)
    });
    let mut samples = page.family(&STORAGE_EVALUATED);
    for row in rows {
        samples.write_used([row.group, row.resource, STORE], &row.metrics.storage_evaluated);
    }
    drop(samples);
    let mut samples = page.family(&STORAGE_RETURNED);
    for row in rows {
        samples.write_used([row.group, row.resource, STORE], &row.metrics.storage_returned);
        samples.write_used([row.group, row.resource, CACHE], &row.metrics.cache_returned);
    }
    drop(samples);
    let mut samples = page.family(&STORAGE_LIST_SECONDS);
    for row in rows {
        for (streamed, seconds) in ["false", "true"].iter().zip(&row.metrics.storage_list_seconds) {
            samples.write_used([row.group, row.resource, streamed], seconds);
        }
    }
}

/// Writes a counter of the store, and the one of the cache by index.
fn write_lists_by_index(
    page: &mut MetricsPage<'_>,
    family: &'static Family<Counter, 4>,
    rows: &[Row],
    counters: fn(&ResourceMetrics) -> (&Counter, &[Counter; 2]),
) {
    let mut samples = page.family(family);
    for row in rows {
        let (stored, cached) = counters(row.metrics);
        samples.write_used([row.group, "", row.resource, STORE], stored);
        for (index, counter) in INDEXES.iter().zip(cached) {
            samples.write_used([row.group, index, row.resource, CACHE], counter);
        }
    }
}

/// Writes a counter by index.
fn write_by_index(
    page: &mut MetricsPage<'_>,
    family: &'static Family<Counter, 3>,
    rows: &[Row],
    counters: fn(&ResourceMetrics) -> &[Counter; 2],
) {
    let mut samples = page.family(family);
    for row in rows {
        for (index, counter) in INDEXES.iter().zip(counters(row.metrics)) {
            samples.write_used([row.group, index, row.resource], counter);
        }
    }
}

fn write_consistent_reads(page: &mut MetricsPage<'_>, rows: &[Row]) {
    let mut samples = page.family(&CONSISTENT_READS);
    for row in rows {
        let reads = &row.metrics.consistent;
        for (fallback, success, counter) in [
            ("true", "true", &reads.fallback),
            ("true", "false", &reads.fallback_failed),
            ("skipped", "false", &reads.fallback_skipped),
            ("false", "true", &reads.cached),
            ("false", "false", &reads.failed),
        ] {
            samples.write_used([fallback, row.group, row.resource, success], counter);
        }
    }
}

fn write_dispatch(page: &mut MetricsPage<'_>, rows: &[Row]) {
    let mut samples = page.family(&DISPATCH_SECONDS);
    for row in rows {
        let Some(dispatch) = row.dispatch else { continue };
        for (stage, seconds) in [
            ("cache_to_watcher", &dispatch.cache_to_watcher),
            ("storage_to_cache", &dispatch.storage_to_cache),
            ("total", &dispatch.total),
        ] {
            samples.write_used([row.group, row.resource, stage], seconds);
        }
    }
}
