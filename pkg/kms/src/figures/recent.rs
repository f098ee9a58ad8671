//! What was seen lately, how often and when.

use std::collections::HashMap;
use std::hash::Hash;

use apimachinery::time::UnixTime;

/// How many things are remembered, each of which is a line on the page (upstream's figure).
const THINGS_MAX: usize = 100;

/// How often something was seen and when it was last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    count: u64,
    last: UnixTime,
}

impl Usage {
    pub(super) fn count(self) -> u64 {
        self.count
    }

    /// When, as metrics write it.
    pub(super) fn at(self) -> String {
        format!("{}.{:09}", self.last.seconds, self.last.nanos)
    }
}

/// Things that were seen. When there are too many, the one that was seen longest ago is forgotten.
pub(super) struct Recent<K>(HashMap<K, Usage>);

impl<K> Default for Recent<K> {
    fn default() -> Self {
        Recent(HashMap::new())
    }
}

impl<K: Clone + Ord + Hash> Recent<K> {
    /// Something was seen now.
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

    /// All of them, in order.
    pub(super) fn sorted(&self) -> Vec<(K, Usage)> {
        let mut all: Vec<_> = self.0.iter().map(|(key, usage)| (key.clone(), *usage)).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_longest_ago_is_forgotten() {
        let mut recent = Recent::default();
        for (second, number) in (0..100).chain([0, 100]).enumerate() {
            recent.note(number, UnixTime::from_seconds(i64::try_from(second).unwrap()));
        }
        let seen = recent.sorted();
        let numbers: Vec<i32> = seen.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0].into_iter().chain(2..=100).collect::<Vec<_>>());
        assert_eq!((seen[0].1.count(), seen[0].1.at()), (2, "100.000000000".to_owned()));
    }
}
