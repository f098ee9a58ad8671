//! Latency metrics of etcd by operation and resource: `etcd_request_duration_seconds`, `etcd_requests_total`
//! and `etcd_request_errors_total`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use component_base::metrics::{
    Counter, Distribution, Family, Histogram, Metric, MetricsRegistry, Page, Stability, buckets,
};
use component_base::trace::{Span, Step};
use futures::StreamExt;
use slab::Slab;
use storage::{
    DeleteResult, Error, ListOptions, ListStream, Listing, Lookup, PutResult, Revision, Storage,
    WatchOptions, WatchStream,
};
use tokio::sync::watch;
use tokio::time::Instant;

const SECONDS: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "etcd_request_duration_seconds",
    "Etcd request latency in seconds for each operation and object type.",
    ["group", "operation", "resource"],
    &buckets::REQUEST_SECONDS,
);
const ERRORS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "etcd_request_errors_total",
    "Etcd failed request counts for each operation and object type.",
    ["group", "operation", "resource"],
);
const REQUESTS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "etcd_requests_total",
    "Etcd request counts for each operation and object type.",
    ["group", "operation", "resource"],
);
/// Maximum number of custom resources with series. CRDs come and go while a server runs, and series are
/// retained.
const CUSTOM_MAX: usize = 4096;

/// Upstream's operation names.
const OPERATIONS: [&str; 7] = ["create", "delete", "get", "list", "listStream", "listWithCount", "update"];
const CREATE: usize = 0;
const DELETE: usize = 1;
const GET: usize = 2;
const LIST: usize = 3;
const LIST_STREAM: usize = 4;
const COUNT: usize = 5;
const UPDATE: usize = 6;

/// Group and resource of a key.
type Labels = (String, String);

/// Metrics of one operation on one resource.
struct Calls {
    durations: Histogram,
    failed: Counter,
}

impl Default for Calls {
    fn default() -> Self {
        Calls { durations: Histogram::new(SECONDS.buckets()), failed: Counter::default() }
    }
}

pub(in super::super) struct StoreTimes {
    /// Resources by storage prefix.
    directories: HashMap<&'static str, Labels>,
    calls: RwLock<BTreeMap<Labels, Arc<[Calls; OPERATIONS.len()]>>>,
    /// Calls in progress, with operation and start.
    active_calls: Mutex<Slab<(usize, Instant)>>,
}

/// Guard of a call in progress.
struct CallGuard<'t> {
    times: &'t StoreTimes,
    key: usize,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.times.active_calls().try_remove(self.key);
    }
}

impl Default for StoreTimes {
    fn default() -> Self {
        let rows = ::api::resources::all().filter(|row| row.subresource.is_empty());
        let directories = rows.filter_map(|row| {
            let stored = row.storage?;
            // If several groups share a resource, only the storing group counts.
            let group = stored.group_version.split_once('/').map_or("", |(group, _)| group);
            (group == row.group).then(|| (stored.prefix, (row.group.to_owned(), row.plural.to_owned())))
        });
        let calls = RwLock::default();
        let active_calls = Mutex::default();
        StoreTimes { directories: directories.collect(), calls, active_calls }
    }
}

impl StoreTimes {
    /// Returns the resource of a key without the common prefix; `None` for other keys.
    fn labels(&self, key: &str) -> Option<Labels> {
        let mut slashes = key.match_indices('/').map(|(at, _)| at);
        let first = slashes.next();
        let second = slashes.next();
        let labels_of = |end: Option<usize>| self.directories.get(key.get(..end?)?).cloned();
        labels_of(second).or_else(|| labels_of(first)).or_else(|| {
            // Built-in resources were found above. Of the rest, only groups of custom resources contain a dot.
            let (group, plural) = key.get(..second?)?.split_once('/')?;
            group.contains('.').then(|| (group.to_owned(), plural.to_owned()))
        })
    }

    fn active_calls(&self) -> MutexGuard<'_, Slab<(usize, Instant)>> {
        self.active_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of a call.
    fn begin(&self, operation: usize, at: Instant) -> CallGuard<'_> {
        let key = self.active_calls().insert((operation, at));
        CallGuard { times: self, key }
    }

    /// Returns the operations with calls in progress: their count and the start of the oldest.
    pub(in super::super) fn active_operations(&self) -> Vec<(&'static str, usize, Instant)> {
        let active_calls = self.active_calls();
        let row = |(number, name): (usize, &'static str)| {
            let calls = active_calls.iter().filter(|(_, (operation, _))| *operation == number);
            let oldest = calls.clone().map(|(_, (_, at))| *at).min()?;
            Some((name, calls.count(), oldest))
        };
        OPERATIONS.into_iter().enumerate().filter_map(row).collect()
    }

    fn of(&self, key: &str) -> Option<Arc<[Calls; OPERATIONS.len()]>> {
        let labels = self.labels(key)?;
        if let Some(calls) = self.calls.read().unwrap_or_else(PoisonError::into_inner).get(&labels) {
            return Some(Arc::clone(calls));
        }
        let mut calls = self.calls.write().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= CUSTOM_MAX + self.directories.len() {
            return None;
        }
        Some(Arc::clone(calls.entry(labels).or_default()))
    }

    fn record(&self, key: &str, operation: usize, duration: Duration, failed: bool) {
        let Some(calls) = self.of(key) else { return };
        let Some(calls) = calls.get(operation) else { return };
        calls.durations.observe_duration(duration);
        calls.failed.add(failed.into());
    }

    /// Registers the metrics.
    pub(in super::super) fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let times = Arc::clone(self);
        registry.collect(&[&SECONDS, &ERRORS, &REQUESTS], move |page| times.write(page));
    }

    fn write(&self, page: &mut Page<'_>) {
        let rows = self.calls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let all = || {
            rows.iter().flat_map(|((group, resource), calls)| {
                let calls = OPERATIONS.iter().zip(calls.iter());
                calls.map(move |(operation, calls)| ([group.as_str(), operation, resource], calls))
            })
        };
        let mut samples = page.family(&SECONDS);
        all().for_each(|(labels, calls)| samples.write_used(labels, &calls.durations));
        drop(samples);
        let mut samples = page.family(&ERRORS);
        all().for_each(|(labels, calls)| samples.write_used(labels, &calls.failed));
        drop(samples);
        let mut samples = page.family(&REQUESTS);
        all().for_each(|(labels, calls)| samples.add_nonzero(labels, calls.durations.count()));
    }

    /// Returns the durations of calls by operation.
    pub(in super::super) fn durations(&self) -> Vec<(String, Distribution)> {
        let rows = self.calls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let sum = |(number, operation): (usize, &&str)| {
            let all = Histogram::new(SECONDS.buckets());
            rows.values()
                .filter_map(|calls| calls.get(number))
                .for_each(|calls| all.add_all(&calls.durations));
            ((*operation).to_owned(), all.distribution())
        };
        OPERATIONS.iter().enumerate().map(sum).collect()
    }
}

/// Measurement of a streamed list, which ends with the stream.
struct StreamMeasurement {
    times: Arc<StoreTimes>,
    /// Key without the common prefix.
    key: String,
    /// Number of the call in progress.
    call: usize,
    start: Instant,
    failed: bool,
}

impl StreamMeasurement {
    fn begin(times: &Arc<StoreTimes>, key: &str, start: Instant) -> Self {
        let call = times.active_calls().insert((LIST_STREAM, start));
        StreamMeasurement { times: Arc::clone(times), key: key.to_owned(), call, start, failed: false }
    }

    fn observe<T>(&mut self, chunk: Result<T, Error>) -> Result<T, Error> {
        self.failed |= chunk.is_err();
        chunk
    }
}

impl Drop for StreamMeasurement {
    fn drop(&mut self) {
        self.times.active_calls().try_remove(self.call);
        self.times.record(&self.key, LIST_STREAM, self.start.elapsed(), self.failed);
    }
}

/// A store wrapper that measures calls. Regular results, such as a revision conflict, are not failures.
pub(super) struct MeasuredStore {
    inner: Arc<dyn Storage>,
    /// The common key prefix, ending in `/`.
    prefix: String,
    times: Arc<StoreTimes>,
}

impl MeasuredStore {
    /// `prefix` is the common key prefix without a trailing slash.
    pub(super) fn new(inner: Arc<dyn Storage>, prefix: &str, times: Arc<StoreTimes>) -> Self {
        MeasuredStore { inner, prefix: format!("{prefix}/"), times }
    }

    async fn time<T>(
        &self,
        key: &str,
        operation: usize,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let start = Instant::now();
        let active = self.times.begin(operation, start);
        let result = call.await;
        drop(active);
        let duration = start.elapsed();
        Span::record_step(Step::Storage, duration);
        Span::record_call(duration, || {
            format!("{} {key}", OPERATIONS.get(operation).copied().unwrap_or_default())
        });
        if let Some(key) = key.strip_prefix(&self.prefix) {
            self.times.record(key, operation, duration, result.is_err());
        }
        result
    }
}

#[async_trait]
impl Storage for MeasuredStore {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.time(key, GET, self.inner.get(key)).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.time(prefix, LIST, self.inner.list(prefix, options)).await
    }

    /// A store without streams is not measured.
    async fn list_stream(
        &self,
        prefix: &str,
        start: &str,
        revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        let call_start = Instant::now();
        let opened = self.inner.list_stream(prefix, start, revision).await;
        let Some(key) = prefix.strip_prefix(&self.prefix) else { return opened };
        let begin = || StreamMeasurement::begin(&self.times, key, call_start);
        match opened {
            Ok(None) => Ok(None),
            Ok(Some(list)) => {
                let mut measurement = begin();
                let chunks = list.chunks.map(move |chunk| measurement.observe(chunk)).boxed();
                Ok(Some(ListStream { chunks, ..list }))
            }
            Err(error) => begin().observe(Err(error)),
        }
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.time(prefix, COUNT, self.inner.count(prefix)).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        let operation = if expected == 0 { CREATE } else { UPDATE };
        self.time(key, operation, self.inner.put(key, value, expected, ttl)).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.time(key, DELETE, self.inner.delete(key, expected)).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.inner.watch(prefix, options).await
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.inner.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.inner.compact(revision).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.inner.compacted()
    }

    fn needs_reread(&self, key: &str, revision: Revision) -> bool {
        self.inner.needs_reread(key, revision)
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.inner.healthy().await
    }
}

#[cfg(test)]
mod tests {
    use storage::memory::Memory;

    use super::*;

    fn page(times: &StoreTimes) -> String {
        let selection = component_base::metrics::Selection::default();
        let mut page = Page::new(&selection);
        times.write(&mut page);
        page.into_text()
    }

    #[test]
    fn key_maps_to_its_resource() {
        let times = StoreTimes::default();
        let check = |key: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(group, plural)| (group.to_owned(), plural.to_owned()));
            assert_eq!(times.labels(key), expected, "{key}");
        };
        check("pods/default/a", Some(("", "pods")));
        check("pods/", Some(("", "pods")));
        check("minions/a", Some(("", "nodes")));
        check("services/specs/default/a", Some(("", "services")));
        check("services/endpoints/default/a", Some(("", "endpoints")));
        check("deployments/default/a", Some(("apps", "deployments")));
        check(
            "apiextensions.k8s.io/customresourcedefinitions/a",
            Some(("apiextensions.k8s.io", "customresourcedefinitions")),
        );
        check("example.com/widgets/default/a", Some(("example.com", "widgets")));
        check("events/default/a", Some(("", "events")));
        check("masterleases/10.0.0.1", None);
        check("health", None);
        check("", None);
    }

    #[tokio::test]
    async fn calls_are_counted_and_conflicts_are_no_failures() -> Result<(), Error> {
        let times = Arc::new(StoreTimes::default());
        let store = MeasuredStore::new(Arc::new(Memory::new()), "/registry", Arc::clone(&times));
        let key = "/registry/pods/default/a";
        let PutResult::Done(first) = store.put(key, Bytes::from_static(b"1"), 0, None).await? else {
            return Err(Error::Internal("it was not there".to_owned()));
        };
        assert!(matches!(store.put(key, Bytes::new(), 0, None).await?, PutResult::Stale { .. }));
        assert!(matches!(store.put(key, Bytes::from_static(b"2"), first, None).await?, PutResult::Done(_)));
        store.get(key).await?;
        store.get("/elsewhere/pods/default/a").await?;
        store.count("/registry/pods/").await?;
        let ahead = ListOptions { revision: 1 << 40, ..ListOptions::default() };
        assert!(store.list("/registry/pods/", ahead).await.is_err());

        let page = page(&times);
        let check = |operation: &str, count: u32| {
            let labels = format!("group=\"\",operation={operation:?},resource=\"pods\"");
            let total = format!("etcd_requests_total{{{labels}}} {count}\n");
            assert!(page.contains(&total), "{total} in {page}");
            let count = format!("etcd_request_duration_seconds_count{{{labels}}} {count}\n");
            assert!(page.contains(&count), "{count} in {page}");
        };
        check("create", 2);
        check("update", 1);
        check("get", 1);
        check("listWithCount", 1);
        check("list", 1);
        let failed = "etcd_request_errors_total{group=\"\",operation=\"list\",resource=\"pods\"} 1\n";
        assert!(page.contains(failed), "{page}");
        assert_eq!(page.matches("etcd_request_errors_total{").count(), 1, "{page}");
        Ok(())
    }

    #[test]
    fn a_call_is_under_way_until_it_ends() {
        let times = StoreTimes::default();
        let start = Instant::now();
        let first = times.begin(LIST, start);
        let second = times.begin(LIST, start + Duration::from_secs(1));
        assert_eq!(times.active_operations(), [("list", 2, start)]);
        drop(first);
        assert_eq!(times.active_operations(), [("list", 1, start + Duration::from_secs(1))]);
        drop(second);
        assert!(times.active_operations().is_empty());
    }

    #[test]
    fn only_used_series_are_shown_and_bounded() {
        let times = StoreTimes::default();
        assert_eq!(page(&times), "");
        for number in 0..2 * CUSTOM_MAX + times.directories.len() {
            times.record(&format!("g{number}.example.com/widgets/a"), GET, Duration::ZERO, false);
        }
        assert_eq!(
            times.calls.read().unwrap_or_else(PoisonError::into_inner).len(),
            CUSTOM_MAX + times.directories.len()
        );
    }
}
