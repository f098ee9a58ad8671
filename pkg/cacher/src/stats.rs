//! Statistics of each resource at one moment, for troubleshooting.

use crate::cache::CacheStats;
use crate::{Delegator, Resource};

/// Statistics of a resource.
#[derive(Debug, Clone)]
pub struct ResourceStats {
    pub group: String,
    pub resource: String,
    /// Statistics of its cache; `None` for uncached resources.
    pub cache: Option<CacheStats>,
    /// True if the cache is filled, or if there is none.
    pub ready: bool,
    /// True if the cache is not filled because it is unused so far: see
    /// [`Options::fill_on_demand`](crate::Options::fill_on_demand).
    pub dormant: bool,
    /// Number of objects, in the cache or as last counted in the store; `None` if not yet counted.
    pub objects: Option<u64>,
    /// Size of the cached objects in bytes.
    pub bytes: usize,
    /// Lists served from the cache.
    pub hits: u64,
    /// Lists served from storage, without those that filled the cache.
    pub misses: u64,
}

impl Delegator {
    /// Statistics of all resources, in order of their prefixes.
    pub fn resource_stats(&self) -> Vec<ResourceStats> {
        self.resources().iter().map(|resource| ResourceStats::of(resource)).collect()
    }
}

impl ResourceStats {
    fn of(resource: &Resource) -> Self {
        let config = resource.config();
        let metrics = &resource.metrics;
        let snapshot = resource.cache.as_ref().and_then(|cache| cache.snapshot());
        ResourceStats {
            group: config.group.clone(),
            resource: config.resource.clone(),
            cache: resource.cache.as_ref().map(|cache| cache.stats()),
            ready: resource.is_ready(),
            dormant: resource.is_dormant(),
            objects: resource.objects().and_then(|objects| u64::try_from(objects).ok()),
            bytes: snapshot.map_or(0, |snapshot| snapshot.bytes()),
            hits: metrics.cache_lists.iter().map(component_base::metrics::Counter::get).sum(),
            misses: metrics.storage_lists.get().saturating_sub(metrics.initializations.get()),
        }
    }
}
