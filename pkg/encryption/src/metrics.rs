//! Metrics of encryption and decryption, with upstream's names and help texts (`storage/value/metrics.go`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::metrics::{
    Counter, Family, Histogram, HistogramVec, MetricsRegistry, Page, Stability, buckets,
};

use crate::Error;

const OPERATIONS: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiserver_storage_transformation_operations_total",
    "Total number of transformations. Successful transformation will have a status 'OK' and a varied status string when the transformation fails. The status, resource, and transformation_type fields can be used for alerting purposes. For example, you can monitor for encryption/decryption failures using the transformation_type (e.g., from_storage for decryption and to_storage for encryption). Additionally, these fields can be used to ensure that the correct transformers are applied to each resource.",
    ["resource", "status", "transformation_type", "transformer_prefix"],
);
const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_storage_transformation_duration_seconds",
    "Latencies in seconds of value transformation operations.",
    ["transformation_type", "transformer_prefix"],
    &buckets::FIVE_MICROSECONDS_DOUBLED_25,
);

/// Maximum number of (resource, provider) pairs with their own counters. CRDs come and go; pairs beyond the
/// limit are counted under an empty resource name.
const COUNTERS_MAX: usize = 10_000;

/// Direction of a transformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Decryption.
    FromStorage,
    /// Encryption.
    ToStorage,
}

impl Direction {
    /// Returns the label value.
    pub fn name(self) -> &'static str {
        match self {
            Direction::FromStorage => "from_storage",
            Direction::ToStorage => "to_storage",
        }
    }
}

/// One value per direction.
#[derive(Debug, Default)]
struct PerDirection<T> {
    from_storage: T,
    to_storage: T,
}

impl<T> PerDirection<T> {
    fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::FromStorage => &self.from_storage,
            Direction::ToStorage => &self.to_storage,
        }
    }
}

/// Counters of one provider, or of one of its keys, for one resource.
#[derive(Debug)]
pub(crate) struct ProviderCounters {
    resource: String,
    prefix: String,
    successes: PerDirection<Counter>,
    /// Shared by all resources.
    durations: PerDirection<Histogram>,
}

/// Encryption metrics.
#[derive(Debug)]
pub struct EncryptionMetrics {
    state: Arc<Mutex<MetricsState>>,
    seconds: HistogramVec<2>,
}

#[derive(Debug, Default)]
struct MetricsState {
    /// By resource and prefix.
    counters: BTreeMap<(String, String), Arc<ProviderCounters>>,
    /// By resource, direction, prefix and status.
    failed: BTreeMap<(String, Direction, String, &'static str), u64>,
}

impl EncryptionMetrics {
    /// Registers the metrics of a server.
    pub fn new(registry: &MetricsRegistry) -> Self {
        let state = Arc::<Mutex<MetricsState>>::default();
        let read = Arc::clone(&state);
        registry.collect(&[&OPERATIONS], move |page| locked(&read).write(page));
        EncryptionMetrics { state, seconds: registry.register_vec(&SECONDS) }
    }

    /// Returns the counters of a provider for a resource. `prefix` is the provider's prefix of encrypted
    /// values.
    pub(crate) fn counters(&self, resource: &str, prefix: &str) -> Arc<ProviderCounters> {
        let mut state = self.lock();
        let key = (resource.to_owned(), prefix.to_owned());
        if let Some(counters) = state.counters.get(&key) {
            return Arc::clone(counters);
        }
        let (resource, prefix) =
            if state.counters.len() < COUNTERS_MAX { key } else { (String::new(), key.1) };
        let histogram =
            |direction: Direction| self.seconds.with([direction.name(), label(direction, &prefix)]);
        let durations = PerDirection {
            from_storage: histogram(Direction::FromStorage),
            to_storage: histogram(Direction::ToStorage),
        };
        let key = (resource.clone(), prefix.clone());
        let successes = PerDirection::default();
        let counters = Arc::new(ProviderCounters { resource, prefix, successes, durations });
        Arc::clone(state.counters.entry(key).or_insert(counters))
    }

    /// Counts the result of one attempt of a provider.
    pub(crate) fn record_transformation(
        &self,
        counters: &ProviderCounters,
        direction: Direction,
        duration: Duration,
        result: Result<(), &Error>,
    ) {
        if let Err(error) = result {
            return self.failed(&counters.resource, direction, label(direction, &counters.prefix), error);
        }
        counters.successes.get(direction).increment();
        counters.durations.get(direction).observe_duration(duration);
    }

    /// Counts a value that no provider could decrypt. `counters` are any of its resource.
    pub(crate) fn unknown(&self, counters: &ProviderCounters, error: &Error) {
        self.failed(&counters.resource, Direction::FromStorage, "unknown", error);
    }

    fn failed(&self, resource: &str, direction: Direction, prefix: &str, error: &Error) {
        let key = (resource.to_owned(), direction, prefix.to_owned(), error.status());
        *self.lock().failed.entry(key).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, MetricsState> {
        locked(&self.state)
    }
}

/// Every change under the lock is complete, so a poisoned lock is still good.
fn locked(counted: &Mutex<MetricsState>) -> MutexGuard<'_, MetricsState> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MetricsState {
    fn write(&self, page: &mut Page<'_>) {
        let mut counts: Vec<([&str; 4], u64)> = Vec::new();
        for counters in self.counters.values() {
            for direction in [Direction::FromStorage, Direction::ToStorage] {
                let labels =
                    [&*counters.resource, "OK", direction.name(), label(direction, &counters.prefix)];
                counts.push((labels, counters.successes.get(direction).get()));
            }
        }
        for ((resource, direction, prefix, status), count) in &self.failed {
            counts.push(([resource, status, direction.name(), prefix], *count));
        }
        counts.sort_unstable();
        let mut samples = page.family(&OPERATIONS);
        counts.into_iter().for_each(|(labels, count)| samples.add_nonzero(labels, count));
    }
}

/// Returns the label of a prefix. Upstream leaves the label empty for a provider that writes without a
/// prefix.
fn label(direction: Direction, prefix: &str) -> &str {
    match (direction, prefix) {
        (Direction::FromStorage, "") => "identity",
        (_, prefix) => prefix,
    }
}

/// Metrics that are counted but not exported.
impl Default for EncryptionMetrics {
    fn default() -> Self {
        EncryptionMetrics::new(&MetricsRegistry::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_resource_and_provider() {
        let registry = MetricsRegistry::default();
        let metrics = EncryptionMetrics::new(&registry);
        let page = || registry.to_string();
        let counters = metrics.counters("secrets", "k8s:enc:aesgcm:v1:");
        assert_eq!(page(), "");
        metrics.record_transformation(&counters, Direction::ToStorage, Duration::from_micros(7), Ok(()));
        metrics.record_transformation(
            &counters,
            Direction::FromStorage,
            Duration::ZERO,
            Err(&Error::grpc("no", "Unavailable")),
        );
        metrics.unknown(&counters, &Error::new("no"));
        let identity = metrics.counters("pods", "");
        metrics.record_transformation(&identity, Direction::FromStorage, Duration::ZERO, Ok(()));
        let page = page();
        for expected in [
            "total{resource=\"secrets\",status=\"OK\",transformation_type=\"to_storage\",\
             transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 1\n",
            "total{resource=\"secrets\",status=\"Unavailable\",transformation_type=\"from_storage\",\
             transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 1\n",
            "total{resource=\"secrets\",status=\"unknown-non-grpc\",transformation_type=\"from_storage\",\
             transformer_prefix=\"unknown\"} 1\n",
            "total{resource=\"pods\",status=\"OK\",transformation_type=\"from_storage\",\
             transformer_prefix=\"identity\"} 1\n",
            "seconds_bucket{transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:aesgcm:v1:\",le=\"1e-05\"} 1\n",
            "seconds_sum{transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 0.000007\n",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }

    #[test]
    fn series_of_deleted_resources_are_bounded() {
        let metrics = EncryptionMetrics::default();
        for number in 0..COUNTERS_MAX + 5 {
            let counters = metrics.counters(&format!("things{number}"), "");
            metrics.unknown(&counters, &Error::new("no"));
        }
        let counted = metrics.lock();
        assert_eq!((counted.counters.len(), counted.failed.len()), (COUNTERS_MAX + 1, COUNTERS_MAX + 1));
    }
}
