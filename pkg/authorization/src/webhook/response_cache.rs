//! Cache of webhook responses.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use apimachinery::time::UnixTime;

use super::review::ReviewStatus;

/// Maximum number of responses in each of two generations. Upstream's limit equals both together.
const GENERATION_MAX: usize = 4096;
/// Maximum size in bytes of the keys and reasons in a generation.
const GENERATION_BYTES_MAX: usize = 8 << 20;

/// Expiry and response.
type Entry = (UnixTime, ReviewStatus);
type Generation = HashMap<Box<str>, Entry>;

/// Responses by review. When a generation is full, entries that were not used since the last rotation are
/// dropped.
#[derive(Debug, Default)]
pub(super) struct ResponseCache {
    young: Generation,
    young_bytes: usize,
    old: Generation,
}

impl ResponseCache {
    /// Returns an unexpired response.
    pub(super) fn get(&mut self, key: &str, now: UnixTime) -> Option<ReviewStatus> {
        if let Some((until, verdict)) = self.young.get(key) {
            return (now < *until).then(|| verdict.clone());
        }
        let (key, (until, verdict)) = self.old.remove_entry(key)?;
        if now >= until {
            return None;
        }
        self.insert(key, (until, verdict.clone()));
        Some(verdict)
    }

    /// Caches a response from `now` on.
    pub(super) fn put(&mut self, key: String, verdict: ReviewStatus, now: UnixTime, ttl: Duration) {
        if ttl.is_zero() {
            return;
        }
        let nanos = now.nanos.saturating_add(ttl.subsec_nanos());
        let seconds = now.seconds.saturating_add(i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX));
        let until = UnixTime {
            seconds: seconds.saturating_add(i64::from(nanos / 1_000_000_000)),
            nanos: nanos % 1_000_000_000,
        };
        self.insert(key.into(), (until, verdict));
    }

    fn insert(&mut self, key: Box<str>, entry: Entry) {
        let bytes = key.len().saturating_add(entry.1.reason.len());
        if bytes > GENERATION_BYTES_MAX {
            return;
        }
        if self.young.len() >= GENERATION_MAX || self.young_bytes + bytes > GENERATION_BYTES_MAX {
            self.old = mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(key, entry);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime::from_seconds(1_000);
    const LATER: UnixTime = UnixTime::from_seconds(1_010);

    fn put(remembered: &mut ResponseCache, key: &str) {
        remembered.put(key.to_owned(), ReviewStatus::default(), NOW, Duration::from_secs(10));
    }

    #[test]
    fn responses_expire() {
        let mut remembered = ResponseCache::default();
        put(&mut remembered, "a");
        assert!(remembered.get("a", UnixTime::from_seconds(1_009)).is_some());
        assert!(remembered.get("a", LATER).is_none());
        remembered.put("b".to_owned(), ReviewStatus::default(), NOW, Duration::ZERO);
        assert!(remembered.get("b", NOW).is_none());
    }

    #[test]
    fn used_entries_stay_and_size_is_bounded() {
        let mut remembered = ResponseCache::default();
        put(&mut remembered, "often");
        for number in 0..5 * GENERATION_MAX {
            put(&mut remembered, &number.to_string());
            assert!(remembered.get("often", NOW).is_some());
        }
        assert!(remembered.len() <= 2 * GENERATION_MAX);
        assert!(remembered.get("0", NOW).is_none());
    }

    #[test]
    fn cache_is_bounded_in_bytes() {
        let mut remembered = ResponseCache::default();
        let long = "x".repeat(GENERATION_BYTES_MAX / 2);
        for number in 0..10 {
            let reason = if number % 2 == 0 { long.as_str() } else { "" };
            let key = if number % 2 == 0 { number.to_string() } else { format!("{number}{long}") };
            let verdict = ReviewStatus { reason: reason.into(), ..ReviewStatus::default() };
            remembered.put(key, verdict, NOW, Duration::from_secs(10));
        }
        assert!(remembered.len() <= 4);
    }
}
