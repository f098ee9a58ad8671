//! What was used lately, up to a number.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Values by key. When there are too many, the one that was used longest ago is forgotten.
#[derive(Debug)]
pub struct Lru<K, V> {
    max: usize,
    uses: u64,
    /// Each with when it was used last.
    by_key: HashMap<K, (V, u64)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    /// `max` is how many there are at most.
    pub fn new(max: usize) -> Self {
        Lru { max, uses: 0, by_key: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// A value, which is used by that.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        self.uses = self.uses.saturating_add(1);
        let (value, used) = self.by_key.get_mut(key)?;
        self.by_use.remove(used);
        self.by_use.insert(self.uses, key.clone());
        *used = self.uses;
        Some(value)
    }

    /// Remembers a value.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_key.iter().map(|(key, (value, _))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
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
