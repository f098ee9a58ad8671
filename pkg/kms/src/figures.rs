//! Metrics of KMS plugins, with upstream's names (`storage/value/metrics.go`,
//! `storage/value/encrypt/envelope/metrics/metrics.go`).

mod recent;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::time::UnixTime;
use component_base::metrics::Histogram;
use encryption::{DURATION_BOUNDS, Direction};
use tokio::time::Instant;

use crate::{hash, hash_if_any};
use recent::Recent;

/// Upper bucket bounds of call durations, as text and in microseconds.
const CALL_BOUNDS: [(&str, u64); 20] = [
    ("0.0001", 100),
    ("0.0002", 200),
    ("0.0004", 400),
    ("0.0008", 800),
    ("0.0016", 1_600),
    ("0.0032", 3_200),
    ("0.0064", 6_400),
    ("0.0128", 12_800),
    ("0.0256", 25_600),
    ("0.0512", 51_200),
    ("0.1024", 102_400),
    ("0.2048", 204_800),
    ("0.4096", 409_600),
    ("0.8192", 819_200),
    ("1.6384", 1_638_400),
    ("3.2768", 3_276_800),
    ("6.5536", 6_553_600),
    ("13.1072", 13_107_200),
    ("26.2144", 26_214_400),
    ("52.4288", 52_428_800),
];

/// Upper bucket bounds of the time between values, as text and in milliseconds.
const ARRIVAL_BOUNDS: [(&str, u64); 10] = [
    ("60", 60_000),
    ("120", 120_000),
    ("240", 240_000),
    ("480", 480_000),
    ("960", 960_000),
    ("1920", 1_920_000),
    ("3840", 3_840_000),
    ("7680", 7_680_000),
    ("15360", 15_360_000),
    ("30720", 30_720_000),
];

/// Upper bucket bounds of the time to generate a key, as text and in nanoseconds.
fn key_bounds() -> &'static [(&'static str, u64); 14] {
    const BOUNDS: &[(&str, u64); 14] = match DURATION_BOUNDS.first_chunk() {
        Some(first) => first,
        None => panic!("there are more"),
    };
    BOUNDS
}

/// Values in one direction.
#[derive(Default)]
struct Arrivals {
    last: Option<Instant>,
    between: Histogram<10>,
}

/// Direction of a value, provider, and hash of the key id.
type Use = (Direction, Arc<str>, Arc<str>);

/// Metrics by provider. Providers are configured, so there are few.
#[derive(Default)]
struct ByProvider {
    /// By provider, method and gRPC code.
    calls: BTreeMap<(Arc<str>, &'static str, &'static str), Histogram<20>>,
    /// By provider and error code.
    invalid_key_ids: BTreeMap<(Arc<str>, &'static str), u64>,
    sources: BTreeMap<Arc<str>, usize>,
    /// Key ids from `Status` calls, by provider and hash of the key id.
    told: Recent<(Arc<str>, Arc<str>)>,
}

/// Metrics of all plugins of a server.
#[derive(Default)]
pub struct Figures {
    /// Hash of the server's identity.
    server: String,
    misses: AtomicU64,
    keys_made: Histogram<14>,
    /// Filled share of the key cache, as the bits of a float.
    filled: AtomicU64,
    from_storage: Mutex<Arrivals>,
    to_storage: Mutex<Arrivals>,
    by_provider: Mutex<ByProvider>,
    used: Mutex<Recent<Use>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl Figures {
    /// Creates metrics for the server with this identity, which may be empty.
    pub fn new(server_id: &str) -> Self {
        Figures { server: hash_if_any(server_id), ..Figures::default() }
    }

    /// Records a finished call with its gRPC code name.
    pub(crate) fn record_call(
        &self,
        provider: &Arc<str>,
        method: &'static str,
        code: &'static str,
        took: Duration,
    ) {
        let micros = whole(took.as_micros());
        let mut figures = locked(&self.by_provider);
        let calls = figures.calls.entry((Arc::clone(provider), method, code)).or_default();
        calls.observe(&CALL_BOUNDS, micros, micros);
    }

    /// Records a cache miss: the plugin has to decrypt the key.
    pub(crate) fn record_cache_miss(&self) {
        self.misses.fetch_add(1, Relaxed);
    }

    /// Runs `make`, which generates a key, and records its duration.
    pub(crate) fn key_made(&self, make: impl FnOnce()) {
        let began = Instant::now();
        make();
        let nanos = whole(began.elapsed().as_nanos());
        self.keys_made.observe(key_bounds(), nanos, nanos);
    }

    /// Records that a value was read or written (v1).
    pub(crate) fn record_transformation(&self, direction: Direction) {
        let now = Instant::now();
        let mut arrivals = locked(match direction {
            Direction::FromStorage => &self.from_storage,
            Direction::ToStorage => &self.to_storage,
        });
        let millis = whole(now.duration_since(arrivals.last.unwrap_or(now)).as_millis());
        arrivals.between.observe(&ARRIVAL_BOUNDS, millis, millis);
        arrivals.last = Some(now);
    }

    /// Records the size and the capacity of the key cache (v1).
    pub(crate) fn filled(&self, keys: usize, max: usize) {
        let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        self.filled.store((float(keys) / float(max)).to_bits(), Relaxed);
    }

    /// Records the number of cached sources (v2).
    pub(crate) fn sources(&self, provider: &Arc<str>, count: usize) {
        locked(&self.by_provider).sources.insert(Arc::clone(provider), count);
    }

    /// Records that a plugin returned an invalid key id.
    pub(crate) fn invalid_key_id(&self, provider: &Arc<str>, error: &'static str) {
        *locked(&self.by_provider).invalid_key_ids.entry((Arc::clone(provider), error)).or_default() += 1;
    }

    /// Records the key id of a `Status` response.
    pub(crate) fn told(&self, provider: &Arc<str>, key_id: &str, now: UnixTime) {
        let key = (Arc::clone(provider), hash(key_id).into());
        locked(&self.by_provider).told.note(key, now);
    }

    /// Records that a value was read or written under a plugin's key (v2).
    pub(crate) fn used(
        &self,
        direction: Direction,
        provider: &Arc<str>,
        key_id_hash: &Arc<str>,
        now: UnixTime,
    ) {
        let key = (direction, Arc::clone(provider), Arc::clone(key_id_hash));
        locked(&self.used).note(key, now);
    }

    /// Appends every metric family that has samples. Families without a provider label are always written.
    pub fn write(&self, out: &mut String) {
        let name = "apiserver_storage_envelope_transformation_cache_misses_total";
        head(out, name, "counter", "Total number of cache misses while accessing key decryption key(KEK).");
        let _ = writeln!(out, "{name} {}", self.misses.load(Relaxed));
        let name = "apiserver_storage_data_key_generation_duration_seconds";
        head(
            out,
            name,
            "histogram",
            "Latencies in seconds of data encryption key(DEK) generation operations.",
        );
        self.keys_made.write(out, name, "", 0, key_bounds(), 1e9);
        let name = "apiserver_storage_data_key_generation_failures_total";
        let help = "Total number of failed data encryption key(DEK) generation operations.";
        head(out, name, "counter", help);
        // Generating random numbers cannot fail here.
        let _ = writeln!(out, "{name} 0");
        self.write_v1(out);
        self.write_v2(out);
        self.write_uses(out);
    }

    fn write_v1(&self, out: &mut String) {
        let name = "apiserver_envelope_encryption_dek_cache_fill_percent";
        head(out, name, "gauge", "Percent of the cache slots currently occupied by cached DEKs.");
        let _ = writeln!(out, "{name} {}", f64::from_bits(self.filled.load(Relaxed)));
        let name = "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds";
        let ways = [(Direction::FromStorage, &self.from_storage), (Direction::ToStorage, &self.to_storage)];
        let ways = ways.map(|(direction, arrivals)| (direction, locked(arrivals)));
        if ways.iter().any(|(_, arrivals)| arrivals.last.is_some()) {
            head(out, name, "histogram", "Time (in seconds) of inter arrival of transformation requests.");
        }
        for (direction, arrivals) in ways.iter().filter(|(_, arrivals)| arrivals.last.is_some()) {
            let labels = format!("transformation_type=\"{}\"", direction.name());
            arrivals.between.write(out, name, &labels, 0, &ARRIVAL_BOUNDS, 1e3);
        }
    }

    fn write_v2(&self, out: &mut String) {
        let ByProvider { calls, invalid_key_ids, sources, .. } = &*locked(&self.by_provider);
        if !sources.is_empty() {
            let name = "apiserver_envelope_encryption_dek_source_cache_size";
            head(
                out,
                name,
                "gauge",
                "Number of records in data encryption key (DEK) source cache. On a restart, this value is an \
                 approximation of the number of decrypt RPC calls the server will make to the KMS plugin.",
            );
            for (provider, count) in sources {
                let _ = writeln!(out, "{name}{{provider_name={provider:?}}} {count}");
            }
        }
        if !invalid_key_ids.is_empty() {
            let name = "apiserver_envelope_encryption_invalid_key_id_from_status_total";
            let help = "Number of times an invalid keyID is returned by the Status RPC call split by error.";
            head(out, name, "counter", help);
            for ((provider, error), count) in invalid_key_ids {
                let _ = writeln!(out, "{name}{{error={error:?},provider_name={provider:?}}} {count}");
            }
        }
        if !calls.is_empty() {
            let name = "apiserver_envelope_encryption_kms_operations_latency_seconds";
            head(out, name, "histogram", "KMS operation duration with gRPC error code status total.");
            for ((provider, method, code), calls) in calls {
                let labels =
                    format!("grpc_status_code={code:?},method_name={method:?},provider_name={provider:?}");
                calls.write(out, name, &labels, 0, &CALL_BOUNDS, 1e6);
            }
        }
    }

    /// Writes the key ids that were used and those from `Status` calls, with their times.
    fn write_uses(&self, out: &mut String) {
        let server = &self.server;
        let told = locked(&self.by_provider).told.sorted();
        if !told.is_empty() {
            let name = "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds";
            let help = "The last time in seconds when a keyID was returned by the Status RPC call.";
            head(out, name, "gauge", help);
            for ((provider, key), usage) in told {
                let labels =
                    format!("apiserver_id_hash={server:?},key_id_hash={key:?},provider_name={provider:?}");
                let _ = writeln!(out, "{name}{{{labels}}} {}", usage.at());
            }
        }
        let used = locked(&self.used).sorted();
        if used.is_empty() {
            return;
        }
        let labels = |(direction, provider, key): &Use| {
            let way = direction.name();
            format!(
                "apiserver_id_hash={server:?},key_id_hash={key:?},provider_name={provider:?},transformation_type={way:?}"
            )
        };
        let name = "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds";
        head(out, name, "gauge", "The last time in seconds when a keyID was used.");
        for (key, usage) in &used {
            let _ = writeln!(out, "{name}{{{}}} {}", labels(key), usage.at());
        }
        let name = "apiserver_envelope_encryption_key_id_hash_total";
        let help =
            "Number of times a keyID is used split by transformation type, provider, and apiserver identity.";
        head(out, name, "counter", help);
        for (key, usage) in &used {
            let _ = writeln!(out, "{name}{{{}}} {}", labels(key), usage.count());
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests;
