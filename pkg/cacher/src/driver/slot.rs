//! The driver's state of each resource: the changes of the incomplete batch, and those that are held back
//! while the resource is listed.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use futures::future::AbortHandle;
use storage::{EventKind, WatchEvent};
use tokio::time::Instant;

use super::initial_list::InitialList;
use super::retry_unreadable::UndecryptableKeys;
use crate::Resource;
use crate::cache::Cache;
use crate::core::{Arrival, KeyChange, Slab, Snapshot};
use crate::delegator::Set;
use crate::resource::Stage;
use crate::source::Source;

/// The driver's state of a resource.
pub(super) struct Slot {
    resource: Arc<Resource>,
    /// Changes of the incomplete batch.
    batch: Vec<KeyChange>,
    /// Arrival of the first change of the batch.
    batch_received: Option<Instant>,
    /// True while the cache is dormant: changes are ignored because the later list contains them.
    dormant: bool,
    /// Complete changes that wait for the list; `None` once the cache is filled.
    buffered_changes: Option<Vec<KeyChange>>,
    buffered_changes_max: usize,
    /// True if too many changes arrived, so that the list must be repeated.
    overflowed: bool,
    list: Option<AbortHandle>,
    /// Values that could not be decrypted.
    undecryptable: UndecryptableKeys,
}

impl Slot {
    pub(super) fn new(resource: Arc<Resource>, buffered_changes_max: usize) -> Self {
        Slot {
            dormant: resource.is_dormant(),
            resource,
            batch: Vec::new(),
            batch_received: None,
            buffered_changes: Some(Vec::new()),
            buffered_changes_max,
            overflowed: false,
            list: None,
            undecryptable: UndecryptableKeys::default(),
        }
    }

    pub(super) fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    /// True if the cache is unused so far.
    pub(super) fn is_dormant(&self) -> bool {
        self.dormant
    }

    /// Returns true once if the cache was used for the first time and must be listed.
    pub(super) fn take_wakeup(&mut self) -> bool {
        let woken = self.dormant && !self.resource.is_dormant();
        self.dormant &= !woken;
        woken
    }

    /// The cache; `None` for uncached resources.
    pub(super) fn cache(&self) -> Option<&Arc<Cache>> {
        self.resource.cache.as_ref()
    }

    pub(super) fn undecryptable_mut(&mut self) -> &mut UndecryptableKeys {
        &mut self.undecryptable
    }

    /// The keys to retry now; none while the resource is listed.
    pub(super) fn retry_keys(&mut self) -> Vec<String> {
        match (&self.buffered_changes, &self.resource.cache) {
            (None, Some(cache)) => self.undecryptable.next(cache),
            _ => Vec::new(),
        }
    }

    /// Prepares for another list. The cache stays in service with its current objects.
    pub(super) fn restart_fill(&mut self) {
        self.buffered_changes.get_or_insert_default();
    }

    pub(super) fn set_list(&mut self, list: AbortHandle) {
        self.list = Some(list);
    }

    /// Adds a change to the batch. Returns true for the first one.
    pub(super) fn push(&mut self, event: WatchEvent, now: impl FnOnce() -> Instant) -> bool {
        self.resource.metrics.events.increment();
        if self.cache().is_none() || self.dormant {
            return false;
        }
        let kv = event.kv;
        self.batch_received.get_or_insert_with(now);
        self.batch.push(match event.kind {
            EventKind::Delete => KeyChange::Delete { key: kv.key, revision: kv.mod_revision },
            EventKind::Create | EventKind::Update => {
                let element = self.resource.decode(kv);
                self.undecryptable.record(&element);
                KeyChange::Put(element)
            }
        });
        self.batch.len() == 1
    }

    /// Discards the incomplete batch; it will be repeated.
    pub(super) fn discard(&mut self) {
        self.batch.clear();
        self.batch_received = None;
    }

    /// Applies the complete batch.
    pub(super) fn apply(&mut self, now: Instant) {
        let batch = mem::take(&mut self.batch);
        let received = self.batch_received.take().unwrap_or(now);
        match &mut self.buffered_changes {
            Some(held_back) if held_back.len() + batch.len() > self.buffered_changes_max => {
                *held_back = Vec::new();
                self.overflowed = true;
            }
            Some(held_back) => held_back.extend(batch.iter().cloned()),
            None => {}
        }
        // A cache that is not ready ignores the batch.
        if let Some(cache) = &self.resource.cache {
            cache.apply_received(batch, Arrival { received, cached: now });
        }
    }

    /// Fills the cache from a seed, without a list.
    pub(super) fn seed(&mut self, state: Snapshot, now: Instant) {
        let Some(cache) = &self.resource.cache else { return };
        self.dormant = false;
        let later = self.buffered_changes.take().unwrap_or_default();
        state.unreadable().for_each(|element| self.undecryptable.record(element));
        self.resource.metrics.count_fill(state.len());
        cache.fill_from_snapshot(state, later, now);
        self.resource.enter(Stage::Ready);
    }

    /// Fills the cache from a list. Returns false if the resource must be listed again.
    pub(super) fn fill(&mut self, filled: InitialList, now: Instant) -> bool {
        self.list = None;
        let (Some(cache), false) = (&self.resource.cache, mem::take(&mut self.overflowed)) else {
            return false;
        };
        let later = self.buffered_changes.take().unwrap_or_default();
        self.undecryptable.clear();
        let puts = later.iter().filter_map(|change| match change {
            KeyChange::Put(element) => Some(element),
            KeyChange::Delete { .. } => None,
        });
        filled.elements.iter().chain(puts).for_each(|element| self.undecryptable.record(element));
        self.resource.metrics.count_fill(filled.elements.len());
        cache.fill(filled.elements, filled.revision, later, now);
        self.resource.enter(Stage::Ready);
        true
    }
}

/// The driver's resources of one store by reusable numbers. Prefixes of resources have one or two segments after the
/// store's prefix.
pub(super) struct Slots {
    root: usize,
    source: Arc<Source>,
    slots: Slab<Slot>,
    numbers: HashMap<String, u32>,
}

impl Slots {
    /// An empty set of resources in `source`; `root` is the prefix of all keys.
    pub(super) fn new(root: &str, source: &Arc<Source>) -> Self {
        Slots {
            root: root.len(),
            source: Arc::clone(source),
            slots: Slab::default(),
            numbers: HashMap::new(),
        }
    }

    /// The slot number of a key's resource, if it is installed.
    pub(super) fn find_by_key(&self, key: &str) -> Option<u32> {
        let ends = key.get(self.root..)?.match_indices('/').take(2);
        ends.filter_map(|(at, _)| key.get(..self.root + at + 1))
            .find_map(|prefix| self.numbers.get(prefix).copied())
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Slot> {
        self.slots.get_mut(number)
    }

    pub(super) fn numbered(&mut self) -> impl Iterator<Item = (u32, &mut Slot)> {
        self.slots.iter_numbered_mut()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut()
    }

    /// Drops the slots of resources that are not in the set and aborts their lists, and creates the missing
    /// slots of the store. Returns the numbers of new slots, and the number of dropped ones.
    pub(super) fn sync_with(&mut self, set: &Set, buffered_changes_max: usize) -> (Vec<u32>, usize) {
        let is_of_set = |slot: &Slot| {
            let of_set = set.get(&slot.resource.config.prefix);
            of_set.is_some_and(|resource| Arc::ptr_eq(resource, &slot.resource))
        };
        let slots = &mut self.slots;
        let mut removed = Vec::new();
        self.numbers.retain(|_, number| {
            let stays = slots.get(*number).is_some_and(is_of_set);
            if !stays {
                removed.push(*number);
            }
            stays
        });
        // The fixed order makes simulations deterministic.
        removed.sort_unstable();
        let dropped = removed.len();
        for list in removed.into_iter().filter_map(|number| slots.remove(number)?.list) {
            list.abort();
        }
        let mut new = Vec::new();
        let is_new = |resource: &&Arc<Resource>| {
            resource.has_source(&self.source) && !self.numbers.contains_key(&resource.config.prefix)
        };
        for resource in set.iter().filter(is_new) {
            let number = slots.insert(Slot::new(Arc::clone(resource), buffered_changes_max));
            new.push((resource.config.prefix.clone(), number));
        }
        let numbers = new.iter().map(|(_, number)| *number).collect();
        self.numbers.extend(new);
        (numbers, dropped)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bytes::Bytes;

    use storage::memory::Memory;

    use super::*;
    use crate::resource::Filling;
    use crate::{HeaderBuilder, Ingest, IngestError, ResourceConfig};

    struct Anything;

    impl Ingest for Anything {
        fn ingest(&self, value: Bytes, _: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
            Ok(value)
        }
    }

    fn source() -> Arc<Source> {
        Arc::new(Source::new(&(Arc::new(Memory::new()) as _)))
    }

    fn resource(source: &Arc<Source>, prefix: &str) -> Arc<Resource> {
        let prefix = prefix.to_owned();
        let ingest = Arc::new(Anything);
        let group = String::new();
        let resource = prefix.clone();
        let config = ResourceConfig { prefix, group, resource, cached: false, index: None, ingest };
        Arc::new(Resource::new(config, Arc::clone(source), None, true, Filling::AtOnce, Default::default()))
    }

    fn set(resources: &[&Arc<Resource>]) -> Set {
        let mut set = Set::default();
        for resource in resources {
            set.insert(Arc::clone(resource));
        }
        set
    }

    #[test]
    fn keys_are_mapped_by_prefix() {
        let prefixes = ["/r/pods/", "/r/services/specs/", "/r/services/endpoints/", "/r/example.com/foos/"];
        let source = source();
        let resources = prefixes.map(|prefix| resource(&source, prefix));
        let mut slots = Slots::new("/r/", &source);
        slots.sync_with(&set(&resources.each_ref()), 1);
        let mut check = |key: &str, expected: Option<&str>| {
            let number = slots.find_by_key(key);
            let slot = number.and_then(|number| slots.get_mut(number));
            assert_eq!(slot.map(|slot| slot.resource().config.prefix.clone()).as_deref(), expected, "{key}");
        };
        check("/r/pods/ns/a", Some("/r/pods/"));
        check("/r/pods/a", Some("/r/pods/"));
        check("/r/services/specs/ns/a", Some("/r/services/specs/"));
        check("/r/services/endpoints/ns/a", Some("/r/services/endpoints/"));
        check("/r/example.com/foos/a", Some("/r/example.com/foos/"));
        for key in ["/r/pods", "/r/podsy/a", "/r/services/a", "/r/example.com/bars/a", "/r", "/q/pods/a", ""]
        {
            check(key, None);
        }
    }

    #[test]
    fn resources_of_other_stores_have_no_slot() {
        let here = source();
        let mut slots = Slots::new("/r/", &here);
        slots.sync_with(&set(&[&resource(&here, "/r/a/"), &resource(&source(), "/r/b/")]), 1);
        assert!(slots.find_by_key("/r/a/x").is_some());
        assert_eq!(slots.find_by_key("/r/b/x"), None);
    }

    #[test]
    fn slots_follow_the_set() {
        let source = source();
        let a = resource(&source, "/r/a/");
        let b = resource(&source, "/r/b/");
        let again = resource(&source, "/r/a/");
        let mut slots = Slots::new("/r/", &source);
        let (first, _) = slots.sync_with(&set(&[&a, &b]), 1);
        let of_b = slots.find_by_key("/r/b/x").unwrap();
        assert_eq!(first.len(), 2);
        assert_eq!(slots.sync_with(&set(&[&a, &b]), 1), (vec![], 0));
        // Another resource with the same prefix gets a new slot.
        let second = slots.sync_with(&set(&[&again, &b]), 1);
        assert_eq!(second, (vec![slots.find_by_key("/r/a/x").unwrap()], 1));
        assert_eq!((slots.find_by_key("/r/b/x"), Arc::strong_count(&a)), (Some(of_b), 1));
        assert_eq!(slots.sync_with(&set(&[]), 1), (vec![], 2));
        assert_eq!((slots.iter_mut().count(), slots.numbers.len()), (0, 0));
    }
}
