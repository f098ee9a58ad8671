//! A store that feeds caches, with their progress.
//!
//! All caches of one store are fed by one watch over all of its keys, so they share one revision. Revisions of different stores
//! must not be compared, so each store has its own progress.

use std::sync::Arc;

use storage::{RoutedStorage, Storage};
use tokio::sync::Notify;

use crate::freshness::Frontier;
use crate::read_index::ReadIndex;

/// The stores of a [`crate::Delegator`].
pub(crate) struct Sources {
    routes: RoutedStorage,
    main: Arc<Source>,
    /// All stores in the order of `routes`, the main one first.
    sources: Vec<Arc<Source>>,
}

impl Sources {
    pub(crate) fn new(routes: RoutedStorage) -> Self {
        let main = Arc::new(Source::new(routes.main()));
        let others = routes.stores().iter().skip(1).map(|store| Arc::new(Source::new(store)));
        Sources { sources: std::iter::once(Arc::clone(&main)).chain(others).collect(), main, routes }
    }

    /// The store of all keys without a route.
    pub(crate) fn main(&self) -> &Arc<Source> {
        &self.main
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.sources.iter()
    }

    /// The store of the keys with a prefix.
    pub(crate) fn of(&self, prefix: &str) -> &Arc<Source> {
        self.sources.get(self.routes.index_of(prefix)).unwrap_or(&self.main)
    }
}

/// One store of a [`crate::Delegator`].
pub(crate) struct Source {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) frontier: Frontier,
    pub(crate) read_index: ReadIndex,
    /// Notifies the store's session (the only waiter) of installed and retired resources, and of first uses of caches.
    pub(crate) changed: Notify,
}

impl Source {
    pub(crate) fn new(store: &Arc<dyn Storage>) -> Self {
        Source {
            store: Arc::clone(store),
            frontier: Frontier::default(),
            read_index: ReadIndex::new(Arc::clone(store)),
            changed: Notify::new(),
        }
    }
}
