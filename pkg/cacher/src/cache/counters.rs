//! What a cache counts.

use storage::Revision;

use crate::core::Sizes;
use crate::metrics::Counter;

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Changes that were applied.
    pub(crate) events: Counter,
    /// Objects that watches were sent as their initial state.
    pub(crate) initial_events: Counter,
    /// Watches that were ended because they were too slow.
    pub(crate) terminated: Counter,
}

/// What there is in a [`Cache`](super::Cache), and what has happened since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Changes that were applied.
    pub events: u64,
    /// Objects that watches were sent as their initial state.
    pub initial_events: u64,
    /// Watches that were ended because they were too slow.
    pub terminated: u64,
    /// Changes in the log.
    pub log_length: usize,
    /// Changes for which the log has room without growing.
    pub log_capacity: usize,
    /// The position that the next change will get; it counts up by one.
    pub log_end: u64,
    /// What superseded objects the log keeps, in bytes.
    pub log_bytes: usize,
    /// Watches under way.
    pub watches: usize,
    /// The revision of the last change, or of the list before it; 0 while not ready.
    pub revision: Revision,
}

impl Counters {
    /// With the figures that are not counted here.
    pub(crate) fn figures(
        &self,
        Sizes { log_length, log_capacity, log_end, log_bytes, watches }: Sizes,
        revision: Revision,
    ) -> Figures {
        Figures {
            events: self.events.get(),
            initial_events: self.initial_events.get(),
            terminated: self.terminated.get(),
            log_length,
            log_capacity,
            log_end,
            log_bytes,
            watches,
            revision,
        }
    }
}
