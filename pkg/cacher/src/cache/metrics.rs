//! Counters and statistics of a cache.

use component_base::metrics::{Counter, Histogram, Metric, buckets};
use storage::Revision;
use tokio::time::Instant;

use crate::core::{Arrival, Sizes, Snapshot};

#[derive(Debug, Default)]
pub(crate) struct CacheMetrics {
    pub(crate) events: Counter,
    pub(crate) initial_events: Counter,
    pub(crate) terminated: Counter,
    pub(crate) dispatch: DispatchMetrics,
}

/// Latencies of changes on the way to watches. A change counts once for each watch that it is delivered to.
#[derive(Debug)]
pub(crate) struct DispatchMetrics {
    /// From storage to the log.
    pub(crate) storage_to_cache: Histogram,
    /// From the log to the watch. It includes the time in which a slow client does not read.
    pub(crate) cache_to_watcher: Histogram,
    /// From storage to the watch.
    pub(crate) total: Histogram,
}

impl Default for DispatchMetrics {
    fn default() -> Self {
        let histogram = || Histogram::new(&buckets::DISPATCH_SECONDS);
        DispatchMetrics { storage_to_cache: histogram(), cache_to_watcher: histogram(), total: histogram() }
    }
}

impl DispatchMetrics {
    /// Records the delivery of a change to a watch at `taken`.
    pub(crate) fn record(&self, Arrival { received, cached }: Arrival, taken: Instant) {
        self.storage_to_cache.observe_duration(cached.saturating_duration_since(received));
        self.cache_to_watcher.observe_duration(taken.saturating_duration_since(cached));
        self.total.observe_duration(taken.saturating_duration_since(received));
    }
}

/// Statistics of a [`Cache`](super::Cache).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// Applied changes.
    pub events: u64,
    /// Objects sent to watches as initial state.
    pub initial_events: u64,
    /// Watches that ended because they were too slow.
    pub terminated: u64,
    pub log_length: usize,
    /// Capacity of the log without growing.
    pub log_capacity: usize,
    /// Position of the next change. Positions are consecutive.
    pub log_end: u64,
    /// Size in bytes of superseded objects in the log.
    pub log_bytes: usize,
    pub watches: usize,
    /// Objects whose values cannot be decoded or decrypted.
    pub unreadable: usize,
    /// Revision of the last change or of the initial list; 0 while not ready.
    pub revision: Revision,
}

impl CacheMetrics {
    /// Combines the counters with the sizes.
    pub(crate) fn stats(
        &self,
        Sizes { log_length, log_capacity, log_end, log_bytes, watches }: Sizes,
        snapshot: Option<&Snapshot>,
    ) -> CacheStats {
        CacheStats {
            events: self.events.get(),
            initial_events: self.initial_events.get(),
            terminated: self.terminated.get(),
            log_length,
            log_capacity,
            log_end,
            log_bytes,
            watches,
            unreadable: snapshot.map_or(0, Snapshot::unreadable_len),
            revision: snapshot.map_or(0, Snapshot::revision),
        }
    }
}
