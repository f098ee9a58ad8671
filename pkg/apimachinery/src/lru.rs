//! Cache with a maximum number of entries and LRU eviction.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Values by key. If the cache is full, the least recently used value is evicted.
#[derive(Debug)]
pub struct Lru<K, V> {
    max: usize,
    uses: u64,
    /// Values with the time of their last use.
    by_key: HashMap<K, (V, u64)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    /// Creates a cache with at most `max` entries.
    pub fn new(max: usize) -> Self {
        Lru { max, uses: 0, by_key: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// Returns a value and marks it as used.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        self.uses = self.uses.saturating_add(1);
        let (value, used) = self.by_key.get_mut(key)?;
        self.by_use.remove(used);
        self.by_use.insert(self.uses, key.clone());
        *used = self.uses;
        Some(value)
    }

    /// Inserts or replaces a value and marks it as used; evicts the least recently used entry of a full
    /// cache.
    pub fn put(&mut self, key: K, value: V) {
        self.uses = self.uses.saturating_add(1);
        if let Some((_, used)) = self.by_key.insert(key.clone(), (value, self.uses)) {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.uses, key);
        if self.by_key.len() > self.max
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_key.remove(&oldest);
        }
    }

    /// Number of entries, at most the maximum of [`new`](Self::new).
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// True if the cache has no entries.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Iterates over all entries in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_key.iter().map(|(key, (value, _))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_is_evicted_first() {
        let mut lru = Lru::new(2);
        lru.put(1, "a");
        lru.put(2, "b");
        assert_eq!(lru.get(&1), Some(&mut "a"));
        lru.put(3, "c");
        assert_eq!([1, 2].map(|key| lru.get(&key).copied()), [Some("a"), None]);
        lru.put(1, "d");
        assert_eq!(lru.get(&1), Some(&mut "d"));
        assert_eq!((lru.len(), lru.by_use.len()), (2, 2));
        assert_eq!(lru.iter().map(|(key, _)| key).sum::<i32>(), 4);
    }
}
