//! A resource as the cache knows it, and the part of it that a read is about.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;

use crate::cache::Cache;
use crate::metrics::ResourceMetrics;
use crate::{HeaderBuilder, Ingest};

/// What has to be known about a resource to cache it.
#[derive(Clone)]
pub struct ResourceConfig {
    /// What all its keys begin with; ends in `/`. For example `/registry/pods/`.
    pub prefix: String,
    /// API group, for metrics and errors; empty for the core group.
    pub group: String,
    /// Plural name, for metrics and errors.
    pub resource: String,
    /// Whether to cache it. What is not cached is read from storage every time.
    pub cached: bool,
    /// The header field that deserves an index, such as a pod's node.
    pub index: Option<usize>,
    /// Reads its values.
    pub ingest: Arc<dyn Ingest>,
}

/// A resource of a [`crate::Delegator`].
pub struct Resource {
    pub(crate) config: ResourceConfig,
    /// `None` for what is read from storage every time.
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) metrics: ResourceMetrics,
}

/// Reads values as another does; one over which that panics cannot be read. It must not stop the
/// driver, which reads the values of all.
struct Guarded(Arc<dyn Ingest>);

impl Ingest for Guarded {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, String> {
        // What a panic leaves in the header is thrown away with it.
        let read = catch_unwind(AssertUnwindSafe(|| self.0.ingest(value, header)));
        read.unwrap_or_else(|_| Err("the server panicked over it".to_owned()))
    }
}

impl Resource {
    pub(crate) fn new(mut config: ResourceConfig, cache: Option<Arc<Cache>>) -> Self {
        config.ingest = Arc::new(Guarded(config.ingest));
        Resource { config, cache, metrics: ResourceMetrics::default() }
    }

    /// What it was made from.
    pub fn config(&self) -> &ResourceConfig {
        &self.config
    }

    /// How many objects its cache holds; `None` without a cache and while that is not filled.
    pub fn cached_objects(&self) -> Option<usize> {
        Some(self.cache.as_ref()?.snapshot()?.len())
    }

    /// The scope of all its objects.
    pub fn everything(&self) -> Scope {
        Scope { prefix: self.config.prefix.clone(), exact: false }
    }
}

/// Which keys a read is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The prefix of a resource or of one of its namespaces, ending in `/`; or a whole key.
    pub prefix: String,
    /// `prefix` is a whole key.
    pub exact: bool,
}

impl Scope {
    /// Whether a key is in the scope.
    pub fn contains(&self, key: &str) -> bool {
        if self.exact { key == self.prefix } else { key.starts_with(&self.prefix) }
    }
}
