//! Options of the cache.

use component_base::weakened::WeakenedDecisions;

use crate::core::Limits;

/// Options of a [`crate::Delegator`].
#[derive(Debug, Clone)]
pub struct Options {
    /// True if caching is enabled (`--watch-cache`). Each [`crate::ResourceConfig`] selects if its resource
    /// is cached.
    pub enabled: bool,
    /// Memory limit for encoded objects of all resources, in bytes.
    pub forms_bytes_max: usize,
    /// Memory limit for the frames of recent events of all resources, in bytes.
    pub frames_bytes_max: usize,
    /// Bounds of each resource's change log.
    pub limits: Limits,
    /// True if a cache is filled only on the first list or watch; until then storage serves gets. For
    /// in-process stores with many objects that may never be read.
    pub fill_on_demand: bool,
    /// True if a consistent list fails when its cache lags, instead of reading storage
    /// (`ConsistentListFromCacheSkipTimeoutFallback`).
    pub skip_stale_fallback: bool,
    /// Maximum number of resources that are listed concurrently while the caches are filled. Each list needs memory
    /// for a page or for the unread part of a stream.
    pub concurrent_lists_max: usize,
    /// Maximum number of changes of one resource that are held back while it is filled. If more arrive, the
    /// resource is listed again.
    pub buffered_changes_max: usize,
    /// Receiver of unreadable elements.
    pub weakened: WeakenedDecisions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            enabled: true,
            forms_bytes_max: 64 << 20,
            frames_bytes_max: 16 << 20,
            limits: Limits::default(),
            fill_on_demand: false,
            skip_stale_fallback: false,
            concurrent_lists_max: 4,
            buffered_changes_max: 100_000,
            weakened: WeakenedDecisions::default(),
        }
    }
}
