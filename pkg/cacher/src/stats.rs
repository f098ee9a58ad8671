//! What there is of each resource at a moment, for whoever looks for the cause of something.

use crate::cache::Figures;
use crate::{Delegator, Resource};

/// A resource at a moment.
#[derive(Debug, Clone)]
pub struct ResourceStats {
    /// API group.
    pub group: String,
    /// Plural name.
    pub resource: String,
    /// Of its cache; `None` for what is read from storage every time.
    pub cache: Option<Figures>,
    /// Whether its cache is filled; true without one.
    pub ready: bool,
    /// Whether its cache is not filled because nobody has asked for it: see [`Options::when_asked`](crate::Options).
    pub resting: bool,
    /// Objects, in the cache or as last counted in the store; `None` while nobody knows.
    pub objects: Option<u64>,
    /// What they take in the cache, in bytes.
    pub bytes: usize,
    /// Lists that the cache answered.
    pub hits: u64,
    /// Lists that storage answered, without those that filled the cache.
    pub misses: u64,
}

impl Delegator {
    /// All resources as they are now, in order of their prefixes.
    pub fn census(&self) -> Vec<ResourceStats> {
        self.resources().iter().map(|resource| ResourceStats::of(resource)).collect()
    }
}

impl ResourceStats {
    fn of(resource: &Resource) -> Self {
        let (config, metrics) = (resource.config(), &resource.metrics);
        let snapshot = resource.cache.as_ref().and_then(|cache| cache.snapshot());
        ResourceStats {
            group: config.group.clone(),
            resource: config.resource.clone(),
            cache: resource.cache.as_ref().map(|cache| cache.figures()),
            ready: resource.is_ready(),
            resting: resource.is_dormant(),
            objects: resource.objects().and_then(|objects| u64::try_from(objects).ok()),
            bytes: snapshot.map_or(0, |snapshot| snapshot.bytes()),
            hits: metrics.cache_lists.iter().map(crate::metrics::Counter::get).sum(),
            misses: metrics.storage_lists.get().saturating_sub(metrics.initializations.get()),
        }
    }
}
