//! Chooses the source of a read: the cache or storage.

mod compare;
mod read;
mod resources;
mod route;

use std::sync::Arc;

use storage::{Revision, RoutedStorage, Storage};

use crate::source::Sources;
use crate::{Budget, Damage, Driver, Element, Options, Resource, ResourceConfig};

pub use compare::Difference;
pub(crate) use resources::{Resources, Set};

/// Freshness of a read (KEP-2340 and the list semantics of the API).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// At least as new as all writes acknowledged before the request.
    Consistent,
    /// Any state at or after this revision; 0 for any state.
    NotOlderThan(Revision),
    /// Exactly the state at this revision.
    Exact(Revision),
}

/// A failed read.
#[derive(Debug, Clone)]
pub enum Error {
    Storage(storage::Error),
    /// The requested revision has not been reached.
    FutureRevision {
        requested: Revision,
        current: Revision,
        /// Retry delay for the client in seconds; 0 for none.
        retry_after_seconds: u32,
    },
    /// The cache lags and storage must not serve the read instead
    /// ([`Options::skip_stale_fallback`](crate::Options::skip_stale_fallback)).
    StaleCache {
        requested: Revision,
        current: Revision,
        /// Retry delay for the client in seconds.
        retry_after_seconds: u32,
    },
    /// The log no longer contains the changes of a requested watch. It contains the changes after `oldest`.
    TooOld {
        requested: Revision,
        /// The earliest revision from which a watch can start.
        oldest: Revision,
    },
    /// The cache is not filled, and storage is not a permitted substitute.
    NotReady {
        /// Retry delay for the client in seconds.
        retry_after_seconds: u32,
        reason: Option<String>,
    },
    /// A stored value is unreadable.
    Corrupt {
        key: String,
        message: String,
        damage: Damage,
        revision: Revision,
    },
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Self {
        match error {
            storage::Error::FutureRevision { requested, current } => {
                Error::FutureRevision { requested, current, retry_after_seconds: 0 }
            }
            other => Error::Storage(other),
        }
    }
}

/// Result of reading one key.
#[derive(Debug, Clone)]
pub struct GetResult {
    /// The object, or `None` if there is none.
    pub element: Option<Arc<Element>>,
    pub revision: Revision,
}

/// Serves the reads of a store, or of several that share its keys. Cheap to clone.
#[derive(Clone)]
pub struct Delegator {
    pub(crate) inner: Arc<Inner>,
}

/// State shared by the delegator and its driver.
pub(crate) struct Inner {
    /// All stores as one.
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) sources: Sources,
    pub(crate) prefix: String,
    pub(crate) resources: Resources,
    pub(crate) budget: Arc<Budget>,
    /// Memory budget for the frames of all caches.
    pub(crate) frames: Arc<Budget>,
    pub(crate) options: Options,
}

impl Delegator {
    /// A delegator without caches.
    pub fn uncached(store: Arc<dyn Storage>, resources: Vec<ResourceConfig>) -> Self {
        let options =
            Options { enabled: false, forms_bytes_max: 0, frames_bytes_max: 0, ..Options::default() };
        Self::new(store, "", resources, options).0
    }

    /// Returns a key without the prefix of all keys, with a slash at the start, as it is in spans.
    pub fn relative_key<'k>(&self, key: &'k str) -> &'k str {
        let root = self.inner.prefix.trim_end_matches('/');
        key.strip_prefix(root).filter(|rest| rest.starts_with('/')).unwrap_or(key)
    }

    /// Serves reads of the cached `resources` from their caches if those are fresh enough, and all other
    /// reads from `store`. `prefix` is the prefix of all keys. The caches are filled when the driver runs.
    pub fn new(
        store: Arc<dyn Storage>,
        prefix: &str,
        resources: Vec<ResourceConfig>,
        options: Options,
    ) -> (Self, Driver) {
        Self::over(RoutedStorage::new(store), prefix, resources, options)
    }

    /// As [`new`](Self::new), with some prefixes in other stores. All keys of a resource must be in one store.
    pub fn over(
        store: RoutedStorage,
        prefix: &str,
        resources: Vec<ResourceConfig>,
        options: Options,
    ) -> (Self, Driver) {
        let inner = Inner {
            sources: Sources::new(store.clone()),
            store: store.into_store(),
            prefix: format!("{}/", prefix.trim_end_matches('/')),
            resources: Resources::default(),
            budget: Budget::new(options.forms_bytes_max),
            frames: Budget::new(options.frames_bytes_max),
            options,
        };
        let mut set = Set::default();
        for config in resources {
            set.insert(inner.resource(config, true));
        }
        inner.resources.set_initial(set);
        let inner = Arc::new(inner);
        (Delegator { inner: Arc::clone(&inner) }, Driver::new(inner))
    }

    /// The store, for writes.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.inner.store
    }

    /// Memory budget for encoded objects.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.inner.budget
    }

    /// Memory budget for encoded events.
    pub fn frames(&self) -> &Arc<Budget> {
        &self.inner.frames
    }

    pub fn resource(&self, prefix: &str) -> Option<Arc<Resource>> {
        self.inner.resources.load().get(prefix).cloned()
    }

    /// The current resources, in order of their prefixes.
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        self.inner.resources.load().iter().cloned().collect()
    }

    /// Waits until the caches of all initial resources are filled or [dormant](Options::fill_on_demand), which can
    /// take forever. Resources that were [installed](Self::install) later or retired are ignored.
    pub async fn ready(&self) {
        for resource in self.inner.resources.load().iter().filter(|resource| resource.initial) {
            resource.wait_until_settled().await;
        }
    }
}
