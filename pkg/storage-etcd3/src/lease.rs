//! Leases of keys with a ttl: pure, with the clock passed in.
//!
//! Leases are expensive in etcd, so keys that expire at about the same time share one, exactly as in
//! upstream. A lease is granted for `ttl + window`. It is used for a limited number of keys while at least
//! the ttl remains. Uses are counted on assignment, even if the write fails.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::LeaseMetrics;

/// Maximum number of different ttls. A server uses few (events, master leases).
const SLOTS_MAX: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseChoice {
    /// Attach the key to this lease.
    Reuse(i64),
    /// Request a lease of this length from etcd, call [`LeasePool::granted`], and use it.
    Grant {
        /// The lease's length in seconds: the ttl plus the window.
        seconds: i64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    id: i64,
    expires: Instant,
    uses: u32,
}

/// The shareable leases, the latest one per ttl.
#[derive(Debug)]
pub(crate) struct LeasePool {
    reuse_max: Duration,
    objects_max: u32,
    slots: HashMap<i64, Slot>,
    metrics: LeaseMetrics,
}

impl LeasePool {
    /// A pool that shares a lease for at most `reuse_max` among at most `objects_max` keys, and counts in
    /// `metrics`.
    pub(crate) fn new(reuse_max: Duration, objects_max: u32, metrics: LeaseMetrics) -> Self {
        Self { reuse_max, objects_max, slots: HashMap::new(), metrics }
    }

    /// The lease for another key with this `ttl`.
    pub(crate) fn acquire(&mut self, ttl: Duration, now: Instant) -> LeaseChoice {
        let window = self.window(ttl);
        let ttl = whole_seconds(ttl);
        let until = |seconds: i64| now + Duration::from_secs(seconds.unsigned_abs());
        if let Some(slot) = self.slots.get_mut(&ttl) {
            slot.uses = slot.uses.saturating_add(1);
            // It was granted for ttl + window in the past, so the key never lives too long.
            let lives_long_enough = until(ttl) < slot.expires;
            if lives_long_enough && slot.uses <= self.objects_max {
                return LeaseChoice::Reuse(slot.id);
            }
        }
        LeaseChoice::Grant { seconds: ttl + window }
    }

    /// Adds the lease granted for a `ttl` and requested at `requested_at`.
    pub(crate) fn granted(&mut self, ttl: Duration, id: i64, requested_at: Instant) {
        let window = self.window(ttl);
        let ttl = whole_seconds(ttl);
        if self.slots.len() >= SLOTS_MAX && !self.slots.contains_key(&ttl) {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.expires).map(|(ttl, _)| *ttl);
            oldest.and_then(|ttl| self.slots.remove(&ttl));
        }
        let expires = requested_at + Duration::from_secs((ttl + window).unsigned_abs());
        // Keys that found it exhausted were counted too, and have got the new lease.
        let replaced = self.slots.insert(ttl, Slot { id, expires, uses: 1 });
        replaced.inspect(|slot| self.metrics.replaced(slot.uses.saturating_sub(1)));
    }

    /// Removes a lease that does not exist in etcd anymore.
    pub(crate) fn lost(&mut self, id: i64) {
        self.slots.retain(|_, slot| slot.id != id);
    }

    /// The time in seconds for which a lease for `ttl` is shared.
    fn window(&self, ttl: Duration) -> i64 {
        whole_seconds_down(ttl / 20).min(whole_seconds_down(self.reuse_max))
    }
}

/// Rounded up, because a key must not expire before its ttl. At least 1, etcd's minimum.
fn whole_seconds(duration: Duration) -> i64 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i64::try_from(seconds.clamp(1, u64::from(u32::MAX))).unwrap_or(i64::MAX)
}

fn whole_seconds_down(duration: Duration) -> i64 {
    i64::from(u32::try_from(duration.as_secs()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use component_base::metrics::MetricsRegistry;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn pool(objects_max: u32) -> LeasePool {
        LeasePool::new(Duration::from_secs(60), objects_max, LeaseMetrics::default())
    }

    fn after(seconds: u64, start: Instant) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn lease_length_is_ttl_plus_capped_window() {
        let check = |ttl, seconds| {
            let choice = pool(1000).acquire(ttl, Instant::now());
            assert_eq!(choice, LeaseChoice::Grant { seconds }, "{ttl:?}");
        };
        check(HOUR, 3660);
        check(Duration::from_secs(600), 630);
        check(Duration::from_secs(15), 15);
        check(Duration::from_millis(1500), 2);
        check(Duration::ZERO, 1);
    }

    #[test]
    fn lease_is_shared_while_ttl_remains() {
        let mut pool = pool(1000);
        let start = Instant::now();
        assert_eq!(pool.acquire(HOUR, start), LeaseChoice::Grant { seconds: 3660 });
        pool.granted(HOUR, 7, start);
        assert_eq!(pool.acquire(HOUR, start), LeaseChoice::Reuse(7));
        assert_eq!(pool.acquire(HOUR, after(59, start)), LeaseChoice::Reuse(7));
        assert_eq!(pool.acquire(HOUR, after(60, start)), LeaseChoice::Grant { seconds: 3660 });
    }

    #[test]
    fn lease_has_a_maximum_of_keys() {
        let mut pool = pool(3);
        let start = Instant::now();
        pool.granted(HOUR, 7, start);
        let choices: Vec<_> = (0..3).map(|_| pool.acquire(HOUR, start)).collect();
        assert_eq!(
            choices,
            [LeaseChoice::Reuse(7), LeaseChoice::Reuse(7), LeaseChoice::Grant { seconds: 3660 }]
        );
    }

    #[test]
    fn replaced_leases_are_counted_with_their_keys() {
        let registry = MetricsRegistry::default();
        let mut pool = LeasePool::new(HOUR, 3, LeaseMetrics::new(&registry));
        let start = Instant::now();
        pool.granted(HOUR, 7, start);
        let choices: Vec<_> = (0..3).map(|_| pool.acquire(HOUR, start)).collect();
        assert!(matches!(choices[2], LeaseChoice::Grant { .. }), "{choices:?}");
        pool.granted(HOUR, 8, start);
        let page = registry.to_string();
        assert!(page.contains("etcd_lease_object_counts_sum 3\n"), "{page}");
        assert!(page.contains("etcd_lease_object_counts_count 1\n"), "{page}");
    }

    #[test]
    fn different_ttls_do_not_share() {
        let mut pool = pool(1000);
        let start = Instant::now();
        pool.granted(HOUR, 7, start);
        assert_eq!(pool.acquire(HOUR * 2, start), LeaseChoice::Grant { seconds: 7260 });
        pool.granted(HOUR * 2, 8, start);
        assert_eq!(pool.acquire(HOUR, start), LeaseChoice::Reuse(7));
        assert_eq!(pool.acquire(HOUR * 2, start), LeaseChoice::Reuse(8));
    }

    #[test]
    fn short_ttls_do_not_share_leases() {
        let mut pool = pool(1000);
        let start = Instant::now();
        let ttl = Duration::from_secs(15);
        pool.granted(ttl, 7, start);
        assert_eq!(pool.acquire(ttl, start), LeaseChoice::Grant { seconds: 15 });
    }

    #[test]
    fn a_lost_lease_is_not_used_again() {
        let mut pool = pool(1000);
        let start = Instant::now();
        pool.granted(HOUR, 7, start);
        pool.lost(7);
        assert_eq!(pool.acquire(HOUR, start), LeaseChoice::Grant { seconds: 3660 });
    }

    #[test]
    fn pool_is_bounded_and_drops_earliest_expiry() {
        let mut pool = pool(1000);
        let start = Instant::now();
        for n in 1..=SLOTS_MAX as u64 + 1 {
            pool.granted(HOUR * n as u32, n as i64, start);
        }
        assert_eq!(pool.slots.len(), SLOTS_MAX);
        assert!(matches!(pool.acquire(HOUR, start), LeaseChoice::Grant { .. }));
        assert_eq!(pool.acquire(HOUR * 2, start), LeaseChoice::Reuse(2));
    }
}
