//! Which source answers a read.

mod compare;
mod read;
mod resources;
mod route;

use std::sync::Arc;

use storage::{Revision, Storage};

use crate::freshness::Frontier;
use crate::read_index::ReadIndex;
use crate::{Budget, Damage, Driver, Element, Options, Resource, ResourceConfig};

pub use compare::Difference;
pub(crate) use resources::{Resources, Set};

/// How fresh an answer must be (KEP-2340 and the list semantics of the API).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// At least as new as everything acknowledged before the request.
    Consistent,
    /// Any state at or after this revision; 0 takes any state at all.
    NotOlderThan(Revision),
    /// Exactly the state at this revision.
    Exact(Revision),
}

/// Why a read failed.
#[derive(Debug, Clone)]
pub enum Error {
    /// The store's own failure.
    Storage(storage::Error),
    /// A revision was asked for that has not been reached.
    FutureRevision {
        /// What was asked for.
        requested: Revision,
        /// What there is.
        current: Revision,
        /// What the client is told to wait, in seconds; 0 for no advice.
        retry_after_seconds: u32,
    },
    /// A watch wants changes that are no longer kept. They begin after `oldest`.
    TooOld {
        /// Where the watch was to start.
        requested: Revision,
        /// The earliest revision from which a watch can start.
        oldest: Revision,
    },
    /// The cache is not filled yet and storage must not be asked instead.
    NotReady {
        /// What the client is told to wait, in seconds.
        retry_after_seconds: u32,
        /// Why it is not, where that is known.
        reason: Option<String>,
    },
    /// A stored value cannot be read.
    Corrupt {
        /// Its key.
        key: String,
        /// What is wrong with it.
        message: String,
        /// Of what sort that is.
        damage: Damage,
        /// The revision that wrote it.
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

/// The answer to a read of one key.
#[derive(Debug, Clone)]
pub struct Found {
    /// The object, `None` when there is none.
    pub element: Option<Arc<Element>>,
    /// The revision of the answer.
    pub revision: Revision,
}

/// Answers the reads of one store. Cheap to clone.
#[derive(Clone)]
pub struct Delegator {
    pub(crate) inner: Arc<Inner>,
}

/// What the delegator and its driver share.
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Storage>,
    /// What all keys begin with; ends in `/`.
    pub(crate) prefix: String,
    pub(crate) resources: Resources,
    pub(crate) budget: Arc<Budget>,
    /// What the frames of all caches together may take.
    pub(crate) frames: Arc<Budget>,
    pub(crate) frontier: Frontier,
    pub(crate) read_index: ReadIndex,
    pub(crate) options: Options,
}

impl Delegator {
    /// Answers everything from `store`.
    pub fn uncached(store: Arc<dyn Storage>, resources: Vec<ResourceConfig>) -> Self {
        let options =
            Options { enabled: false, forms_bytes_max: 0, frames_bytes_max: 0, ..Options::default() };
        Self::new(store, "", resources, options).0
    }

    /// Answers from caches, for those of `resources` that want one and as far as they are up to date,
    /// and otherwise from `store`. `prefix` is what all keys begin with. The caches are filled once the
    /// driver runs.
    pub fn new(
        store: Arc<dyn Storage>,
        prefix: &str,
        resources: Vec<ResourceConfig>,
        options: Options,
    ) -> (Self, Driver) {
        let inner = Inner {
            read_index: ReadIndex::new(Arc::clone(&store)),
            store,
            prefix: format!("{}/", prefix.trim_end_matches('/')),
            resources: Resources::default(),
            budget: Budget::new(options.forms_bytes_max),
            frames: Budget::new(options.frames_bytes_max),
            frontier: Frontier::default(),
            options,
        };
        let mut set = Set::default();
        for config in resources {
            set.insert(inner.resource(config, true));
        }
        inner.resources.begin_with(set);
        let inner = Arc::new(inner);
        (Delegator { inner: Arc::clone(&inner) }, Driver::new(inner))
    }

    /// The store itself, for writes.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.inner.store
    }

    /// What encoded forms may take.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.inner.budget
    }

    /// What encoded events may take.
    pub fn frames(&self) -> &Arc<Budget> {
        &self.inner.frames
    }

    /// The resource with this prefix.
    pub fn resource(&self, prefix: &str) -> Option<Arc<Resource>> {
        self.inner.resources.load().get(prefix).cloned()
    }

    /// All resources that there are now, in order of their prefixes.
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        self.inner.resources.load().iter().cloned().collect()
    }

    /// Waits until each cache of the resources that the delegator began with has been filled, or [rests](Options::when_asked),
    /// which may take for ever. Those that were [installed](Self::install) later are not waited for, nor are those
    /// that were retired.
    pub async fn ready(&self) {
        for resource in self.inner.resources.load().iter().filter(|resource| resource.founding) {
            resource.wait_until_settled().await;
        }
    }
}
