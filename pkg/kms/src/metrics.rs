//! Metrics of KMS plugins, with upstream's names (`storage/value/metrics.go`,
//! `storage/value/encrypt/envelope/metrics/metrics.go`).

mod recent;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::time::UnixTime;
use component_base::metrics::{
    Counter, CounterVec, Family, Gauge, GaugeVec, Histogram, HistogramVec, MetricsRegistry, Page, Stability,
    buckets,
};
use encryption::Direction;
use tokio::time::Instant;

use crate::{hash, hash_if_any};
use recent::Recent;

const MISSES: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "Total number of cache misses while accessing key decryption key(KEK).",
    [],
);
const KEY_SECONDS: Family<Histogram, 0> = Family::histogram(
    Stability::Alpha,
    "apiserver_storage_data_key_generation_duration_seconds",
    "Latencies in seconds of data encryption key(DEK) generation operations.",
    [],
    &buckets::FIVE_MICROSECONDS_DOUBLED_14,
);
/// Always 0: generating random numbers cannot fail here.
const KEY_FAILURES: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_data_key_generation_failures_total",
    "Total number of failed data encryption key(DEK) generation operations.",
    [],
);
const FILLED: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "apiserver_envelope_encryption_dek_cache_fill_percent",
    "Percent of the cache slots currently occupied by cached DEKs.",
    [],
);
const INTERVALS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds",
    "Time (in seconds) of inter arrival of transformation requests.",
    ["transformation_type"],
    &buckets::MINUTE_DOUBLED_10,
);
const SOURCES: Family<Gauge, 1> = Family::gauge(
    Stability::Alpha,
    "apiserver_envelope_encryption_dek_source_cache_size",
    "Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.",
    ["provider_name"],
);
const INVALID_KEY_IDS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    "Number of times an invalid keyID is returned by the Status RPC call split by error.",
    ["error", "provider_name"],
);
const CALLS: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "apiserver_envelope_encryption_kms_operations_latency_seconds",
    "KMS operation duration with gRPC error code status total.",
    ["grpc_status_code", "method_name", "provider_name"],
    &buckets::HUNDRED_MICROSECONDS_DOUBLED_20,
);
const STATUS_TIMES: Family<Gauge, 3> = Family::gauge(
    Stability::Alpha,
    "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    "The last time in seconds when a keyID was returned by the Status RPC call.",
    ["apiserver_id_hash", "key_id_hash", "provider_name"],
);
const USE_TIMES: Family<Gauge, 4> = Family::gauge(
    Stability::Alpha,
    "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    "The last time in seconds when a keyID was used.",
    ["apiserver_id_hash", "key_id_hash", "provider_name", "transformation_type"],
);
const USES: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_envelope_encryption_key_id_hash_total",
    "Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
    ["apiserver_id_hash", "key_id_hash", "provider_name", "transformation_type"],
);

/// Direction of a value, provider, and hash of the key id.
type KeyUse = (Direction, Arc<str>, Arc<str>);

/// Key ids that were recently seen.
#[derive(Default)]
struct KeyIds {
    /// From `Status` calls, by provider and hash of the key id.
    from_status: Mutex<Recent<(Arc<str>, Arc<str>)>>,
    used: Mutex<Recent<KeyUse>>,
    /// Filled share of the key cache, as the bits of a float.
    filled: AtomicU64,
}

/// Values in one direction.
struct Arrivals {
    last: Mutex<Option<Instant>>,
    between: Histogram,
}

/// Metrics of all plugins of a server. Providers are configured, so there are few.
pub struct KmsMetrics {
    misses: Counter,
    key_seconds: Histogram,
    from_storage: Arrivals,
    to_storage: Arrivals,
    calls: HistogramVec<3>,
    invalid_key_ids: CounterVec<2>,
    sources: GaugeVec<1>,
    key_ids: Arc<KeyIds>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KmsMetrics {
    /// Creates metrics for the server with this identity, which may be empty.
    pub fn new(registry: &MetricsRegistry, server_id: &str) -> Self {
        let server = hash_if_any(server_id);
        let key_ids = Arc::<KeyIds>::default();
        let read = Arc::clone(&key_ids);
        registry.collect(&[&FILLED, &STATUS_TIMES, &USE_TIMES, &USES], move |page| read.write(page, &server));
        let _: Counter = registry.register(&KEY_FAILURES);
        let between = registry.register_vec(&INTERVALS);
        let arrivals = |direction: Direction| Arrivals {
            last: Mutex::default(),
            between: between.with([direction.name()]),
        };
        KmsMetrics {
            misses: registry.register(&MISSES),
            key_seconds: registry.register(&KEY_SECONDS),
            from_storage: arrivals(Direction::FromStorage),
            to_storage: arrivals(Direction::ToStorage),
            calls: registry.register_vec(&CALLS),
            invalid_key_ids: registry.register_vec(&INVALID_KEY_IDS),
            sources: registry.register_vec(&SOURCES),
            key_ids,
        }
    }

    /// Records a finished call with its gRPC code name.
    pub(crate) fn record_call(
        &self,
        provider: &Arc<str>,
        method: &'static str,
        code: &'static str,
        duration: Duration,
    ) {
        self.calls.with([code, method, provider]).observe_duration(duration);
    }

    /// Records a cache miss: the plugin has to decrypt the key.
    pub(crate) fn record_cache_miss(&self) {
        self.misses.increment();
    }

    /// Runs `make`, which generates a key, and records its duration.
    pub(crate) fn time_key_generation(&self, make: impl FnOnce()) {
        let start = Instant::now();
        make();
        self.key_seconds.observe_duration(start.elapsed());
    }

    /// Records that a value was read or written (v1).
    pub(crate) fn record_transformation(&self, direction: Direction) {
        let now = Instant::now();
        let arrivals = match direction {
            Direction::FromStorage => &self.from_storage,
            Direction::ToStorage => &self.to_storage,
        };
        let last = locked(&arrivals.last).replace(now);
        arrivals.between.observe_duration(now.duration_since(last.unwrap_or(now)));
    }

    /// Records the size and the capacity of the key cache (v1).
    pub(crate) fn set_cache_fill(&self, keys: usize, max: usize) {
        let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        self.key_ids.filled.store((float(keys) / float(max)).to_bits(), Relaxed);
    }

    /// Records the number of cached sources (v2).
    pub(crate) fn sources(&self, provider: &Arc<str>, count: usize) {
        self.sources.with([provider]).set_count(count);
    }

    /// Records that a plugin returned an invalid key id.
    pub(crate) fn invalid_key_id(&self, provider: &Arc<str>, error: &'static str) {
        self.invalid_key_ids.with([error, provider]).increment();
    }

    /// Records the key id of a `Status` response.
    pub(crate) fn record_status_key(&self, provider: &Arc<str>, key_id: &str, now: UnixTime) {
        let key = (Arc::clone(provider), hash(key_id).into());
        locked(&self.key_ids.from_status).note(key, now);
    }

    /// Records that a value was read or written under a plugin's key (v2).
    pub(crate) fn record_use(
        &self,
        direction: Direction,
        provider: &Arc<str>,
        key_id_hash: &Arc<str>,
        now: UnixTime,
    ) {
        let key = (direction, Arc::clone(provider), Arc::clone(key_id_hash));
        locked(&self.key_ids.used).note(key, now);
    }
}

/// Metrics that are counted but not exported.
impl Default for KmsMetrics {
    fn default() -> Self {
        KmsMetrics::new(&MetricsRegistry::default(), "")
    }
}

impl KeyIds {
    /// Writes the key ids that were used and those from `Status` calls, with their times.
    fn write(&self, page: &mut Page<'_>, server: &str) {
        page.family(&FILLED).add([], f64::from_bits(self.filled.load(Relaxed)));
        let mut samples = page.family(&STATUS_TIMES);
        for ((provider, key), usage) in locked(&self.from_status).sorted() {
            samples.add([server, &key, &provider], usage.last_used());
        }
        drop(samples);
        let used = locked(&self.used).sorted();
        let mut samples = page.family(&USE_TIMES);
        for ((direction, provider, key), usage) in &used {
            samples.add([server, key, provider, direction.name()], usage.last_used());
        }
        drop(samples);
        let mut samples = page.family(&USES);
        for ((direction, provider, key), usage) in &used {
            samples.add([server, key, provider, direction.name()], usage.count());
        }
    }
}

#[cfg(test)]
mod tests;
