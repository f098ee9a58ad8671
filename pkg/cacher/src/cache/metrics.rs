//! Counters and statistics of a cache.

use component_base::metrics::Counter;
use storage::Revision;

use crate::core::{Sizes, Snapshot};

#[derive(Debug, Default)]
pub(crate) struct CacheMetrics {
    pub(crate) events: Counter,
    pub(crate) initial_events: Counter,
    pub(crate) terminated: Counter,
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
