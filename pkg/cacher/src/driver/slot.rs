//! What the driver keeps for each resource: the changes of the batch that is coming in, and those that
//! are held back while the resource is being listed.

use std::collections::HashMap;
use std::mem;

use storage::{EventKind, WatchEvent};
use tokio::time::Instant;

use super::fill::Filled;
use crate::cache::Cache;
use crate::core::Incoming;
use crate::{Element, Resource};

/// A resource of the driver.
pub(super) struct Slot<'a> {
    resource: &'a Resource,
    /// `None` for what is only counted.
    cache: Option<&'a Cache>,
    /// Changes of a batch that is not complete yet.
    batch: Vec<Incoming>,
    /// Complete changes that wait for the list; `None` once the cache is filled.
    held_back: Option<Vec<Incoming>>,
    held_back_max: usize,
    /// More came in than may be held back, so the list is of no use.
    overflown: bool,
}

impl<'a> Slot<'a> {
    /// A resource that is not filled yet.
    pub(super) fn new(resource: &'a Resource, held_back_max: usize) -> Self {
        Slot {
            resource,
            cache: resource.cache.as_deref(),
            batch: Vec::new(),
            held_back: Some(Vec::new()),
            held_back_max,
            overflown: false,
        }
    }

    /// The resource and its cache, if there is one.
    pub(super) fn cached(&self) -> Option<(&'a Resource, &'a Cache)> {
        self.cache.map(|cache| (self.resource, cache))
    }

    /// Takes the next change of the batch. Says whether it is the first one.
    pub(super) fn take(&mut self, event: WatchEvent) -> bool {
        self.resource.metrics.events.increment();
        if self.cache.is_none() {
            return false;
        }
        let kv = event.kv;
        self.batch.push(match event.kind {
            EventKind::Delete => Incoming::Delete { key: kv.key, revision: kv.mod_revision },
            EventKind::Create | EventKind::Update => {
                Incoming::Put(Element::new(kv, &*self.resource.config.ingest))
            }
        });
        self.batch.len() == 1
    }

    /// The batch broke off: it will come again.
    pub(super) fn discard(&mut self) {
        self.batch.clear();
    }

    /// The batch is complete.
    pub(super) fn apply(&mut self, now: Instant) {
        let batch = mem::take(&mut self.batch);
        match (&mut self.held_back, self.cache) {
            (Some(held_back), _) if held_back.len() + batch.len() > self.held_back_max => {
                *held_back = Vec::new();
                self.overflown = true;
            }
            (Some(held_back), _) => held_back.extend(batch),
            (None, Some(cache)) => cache.apply(batch, now),
            (None, None) => {}
        }
    }

    /// The list is there: the cache becomes ready. Says whether it did; if not, it must be listed
    /// again.
    pub(super) fn fill(&mut self, filled: Filled, now: Instant) -> bool {
        let (Some(cache), false) = (self.cache, mem::take(&mut self.overflown)) else { return false };
        let later = self.held_back.take().unwrap_or_default();
        cache.fill(filled.elements, filled.revision, later, now);
        self.resource.metrics.initializations.increment();
        true
    }
}

/// Finds the slot of a key. Prefixes of resources have one or two segments behind that of the store.
pub(super) struct Index {
    root: usize,
    slots: HashMap<String, usize>,
}

impl Index {
    /// Of resources with these prefixes; `root` is what all keys begin with.
    pub(super) fn new<'a>(root: &str, prefixes: impl Iterator<Item = &'a str>) -> Self {
        let slots = prefixes.enumerate().map(|(at, prefix)| (prefix.to_owned(), at));
        Index { root: root.len(), slots: slots.collect() }
    }

    /// The number of the resource that a key belongs to, if it is known.
    pub(super) fn slot(&self, key: &str) -> Option<usize> {
        let ends = key.get(self.root..)?.match_indices('/').take(2);
        ends.filter_map(|(at, _)| key.get(..self.root + at + 1))
            .find_map(|prefix| self.slots.get(prefix).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_resource_whose_prefix_it_has() {
        let prefixes = ["/r/pods/", "/r/services/specs/", "/r/services/endpoints/", "/r/example.com/foos/"];
        let index = Index::new("/r/", prefixes.into_iter());
        let check = |key: &str, expected| assert_eq!(index.slot(key), expected, "{key}");
        check("/r/pods/ns/a", Some(0));
        check("/r/pods/a", Some(0));
        check("/r/services/specs/ns/a", Some(1));
        check("/r/services/endpoints/ns/a", Some(2));
        check("/r/example.com/foos/a", Some(3));
        for key in ["/r/pods", "/r/podsy/a", "/r/services/a", "/r/example.com/bars/a", "/r", "/q/pods/a", ""]
        {
            check(key, None);
        }
    }
}
