//! Bounded cache with expiry for data about tokens. The tokens themselves are not stored.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Maximum number of cached tokens. The oldest is evicted first.
const TOKENS_MAX: usize = 8192;

/// Digest of a token and its purpose.
pub(crate) type Key = [u8; 32];

/// Returns the key of a token for a purpose.
pub(crate) fn key<'t>(token: &'t str, purpose: impl IntoIterator<Item = &'t str>) -> Key {
    let mut digest = Sha256::new();
    for text in std::iter::once(token).chain(purpose) {
        digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}

/// Values by token.
pub(crate) struct ExpiringCache<V>(Mutex<State<V>>);

struct State<V> {
    entries: HashMap<Key, (V, Instant)>,
    /// The keys of `entries`, oldest first.
    order: VecDeque<Key>,
}

impl<V> Default for ExpiringCache<V> {
    fn default() -> Self {
        ExpiringCache(Mutex::new(State { entries: HashMap::new(), order: VecDeque::new() }))
    }
}

impl<V: Clone> ExpiringCache<V> {
    fn state(&self) -> MutexGuard<'_, State<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an unexpired value.
    pub(crate) fn get(&self, key: &Key) -> Option<V> {
        let now = Instant::now();
        self.state().entries.get(key).filter(|(_, until)| now < *until).map(|(value, _)| value.clone())
    }

    /// Stores a value for the duration `lasts`. A zero duration stores nothing.
    pub(crate) fn insert(&self, key: Key, value: V, lasts: Duration) {
        if lasts.is_zero() {
            return;
        }
        let mut state = self.state();
        if state.entries.insert(key, (value, Instant::now() + lasts)).is_none() {
            state.order.push_back(key);
        }
        while state.order.len() > TOKENS_MAX {
            if let Some(oldest) = state.order.pop_front() {
                state.entries.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_expire_and_oldest_are_evicted() {
        let memory = ExpiringCache::default();
        let a = key("a", []);
        let b = key("b", []);
        memory.insert(a, 1, Duration::from_secs(10));
        memory.insert(b, 2, Duration::ZERO);
        assert_eq!((memory.get(&a), memory.get(&b)), (Some(1), None));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(memory.get(&a), None);
        for number in 0..=TOKENS_MAX {
            memory.insert(key(&number.to_string(), []), 3, Duration::from_secs(10));
        }
        assert_eq!((memory.get(&key("0", [])), memory.get(&key("2", []))), (None, Some(3)));
        assert!(memory.state().entries.len() <= TOKENS_MAX);
    }

    #[test]
    fn key_depends_on_purpose() {
        assert_ne!(key("a", ["b", "c"]), key("a", ["bc"]));
        assert_ne!(key("ab", []), key("a", ["b"]));
    }
}
