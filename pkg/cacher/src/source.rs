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
    /// The other stores, in the order of `routes`.
    others: Vec<Arc<Source>>,
}

impl Sources {
    pub(crate) fn new(routes: RoutedStorage) -> Self {
        let source = |store| Arc::new(Source::new(store));
        Sources { main: source(routes.main()), others: routes.others().iter().map(source).collect(), routes }
    }

    /// The store of all keys without a route.
    pub(crate) fn main(&self) -> &Arc<Source> {
        &self.main
    }

    pub(crate) fn others(&self) -> &[Arc<Source>] {
        &self.others
    }

    /// The store of the keys with a prefix.
    pub(crate) fn of(&self, prefix: &str) -> &Arc<Source> {
        let number = self.routes.number_of(prefix).checked_sub(1);
        number.and_then(|number| self.others.get(number)).unwrap_or(&self.main)
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
