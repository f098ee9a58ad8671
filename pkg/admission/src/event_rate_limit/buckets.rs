//! Bounded set of token buckets.

use std::num::NonZeroUsize;

use apimachinery::time::UnixTime;
use lru::LruCache;

/// A token bucket that refills over time (Go's `x/time/rate`).
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    last: UnixTime,
}

/// Token buckets by key, with LRU eviction. An evicted key starts with a full bucket again.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Tokens per second.
    rate: f64,
    /// Capacity of a bucket.
    burst: f64,
    buckets: LruCache<u64, Bucket>,
}

impl Buckets {
    /// Creates an empty set of at most `max` buckets.
    pub(super) fn new(rate: i32, burst: i32, max: NonZeroUsize) -> Self {
        // A bounded constructor would allocate the memory of a full set.
        let mut buckets = LruCache::unbounded();
        buckets.resize(max);
        Buckets { rate: f64::from(rate), burst: f64::from(burst), buckets }
    }

    /// Takes a token. Returns false if there is none.
    pub(super) fn take(&mut self, key: u64, now: UnixTime) -> bool {
        if let Some(bucket) = self.buckets.get_mut(&key) {
            return bucket.take(self.rate, self.burst, now);
        }
        let mut bucket = Bucket { tokens: self.burst, last: now };
        let is_taken = bucket.take(self.rate, self.burst, now);
        self.buckets.put(key, bucket);
        is_taken
    }
}

impl Bucket {
    fn take(&mut self, rate: f64, burst: f64, now: UnixTime) -> bool {
        let tokens = (self.tokens + seconds_between(self.last, now) * rate).min(burst) - 1.0;
        // A wait of less than a nanosecond counts as none.
        let free = tokens >= 0.0 || -tokens / rate < 1e-9;
        if free {
            *self = Bucket { tokens, last: now };
        }
        free
    }
}

/// Returns the seconds between two times; zero if the clock went backwards.
fn seconds_between(from: UnixTime, to: UnixTime) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "of times that far apart nobody minds a few nanoseconds")]
    let seconds = to.seconds.saturating_sub(from.seconds) as f64;
    (seconds + (f64::from(to.nanos) - f64::from(from.nanos)) / 1e9).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u32) -> UnixTime {
        UnixTime { seconds: i64::from(millis / 1000), nanos: millis % 1000 * 1_000_000 }
    }

    #[test]
    fn bucket_allows_burst_and_refills_over_time() {
        let mut buckets = Buckets::new(2, 3, NonZeroUsize::MIN);
        let mut take_at =
            |millis: &[u32]| millis.iter().map(|now| buckets.take(1, at(*now))).collect::<Vec<_>>();
        assert_eq!(take_at(&[0, 0, 0, 0]), [true, true, true, false]);
        assert_eq!(take_at(&[499, 500, 500]), [false, true, false]);
        assert_eq!(take_at(&[100, 1000, 1000]), [false, true, false]);
        assert_eq!(take_at(&[9000, 9000, 9000, 9000]), [true, true, true, false]);
    }

    #[test]
    fn evicted_key_gets_full_bucket() {
        let mut buckets = Buckets::new(1, 1, NonZeroUsize::MIN.saturating_add(1));
        assert_eq!([1, 2, 1, 3].map(|key| buckets.take(key, at(0))), [true, true, false, true]);
        assert_eq!([1, 2].map(|key| buckets.take(key, at(0))), [false, true]);
    }
}
