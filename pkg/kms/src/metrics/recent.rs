//! Recently seen keys, with count and time.

use std::collections::HashMap;
use std::hash::Hash;

use apimachinery::time::UnixTime;

/// Number of retained keys, each one line of the metrics page (upstream's limit).
const THINGS_MAX: usize = 100;

/// Count and time of the last use.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    count: u64,
    last: UnixTime,
}

impl Usage {
    pub(super) fn count(self) -> u64 {
        self.count
    }

    /// Returns the time of the last use.
    pub(super) fn last_used(self) -> UnixTime {
        self.last
    }
}

/// Recently seen keys. At the limit, the least recently seen one is dropped.
pub(super) struct Recent<K>(HashMap<K, Usage>);

impl<K> Default for Recent<K> {
    fn default() -> Self {
        Recent(HashMap::new())
    }
}

impl<K: Clone + Ord + Hash> Recent<K> {
    /// Records that a key was seen now.
    pub(super) fn note(&mut self, key: K, now: UnixTime) {
        if let Some(usage) = self.0.get_mut(&key) {
            *usage = Usage { count: usage.count.saturating_add(1), last: now };
            return;
        }
        if self.0.len() >= THINGS_MAX {
            let oldest = self.0.iter().min_by_key(|(_, usage)| usage.last).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        self.0.insert(key, Usage { count: 1, last: now });
    }

    /// Returns all keys in order.
    pub(super) fn sorted(&self) -> Vec<(K, Usage)> {
        let mut all: Vec<_> = self.0.iter().map(|(key, usage)| (key.clone(), *usage)).collect();
        all.sort_by(|(left, _), (right, _)| left.cmp(right));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_seen_is_dropped() {
        let mut recent = Recent::default();
        for (second, number) in (0..100).chain([0, 100]).enumerate() {
            recent.note(number, UnixTime::from_seconds(i64::try_from(second).unwrap()));
        }
        let entries = recent.sorted();
        let numbers: Vec<i32> = entries.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0].into_iter().chain(2..=100).collect::<Vec<_>>());
        assert_eq!((entries[0].1.count(), entries[0].1.last_used()), (2, UnixTime::from_seconds(100)));
    }
}
