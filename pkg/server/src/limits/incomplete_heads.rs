//! Memory limit for received bytes of request heads that are not complete.
//!
//! A head may have 1 MiB, and arrives before its sender is authenticated. Without a common limit, each of many
//! connections could hold that much. At the limit, the connection with the oldest incomplete head is closed: heads of
//! ordinary clients arrive in one piece, so the oldest one is the least likely to be completed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Stability};

use crate::connection::peer::Peer;

/// Limit of the total in bytes, unless the memory limit of the server is small.
const TOTAL_BYTES_MAX: u64 = 64 << 20;
/// Incomplete heads hold at most this fraction of the memory limit (1/n).
const MEMORY_LIMIT_DIVISOR: u64 = 16;
/// Bytes that do not count. A connection without requests holds about as much.
const FREE_BYTES: usize = 8 << 10;
/// Granularity in bytes, so that a head in many small pieces rarely takes the lock.
const STEP_BYTES: usize = 16 << 10;

const HELD: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "mainstay_incomplete_heads_bytes",
    "Memory of incomplete request heads above 8 KiB each, in bytes.",
    [],
);
const CLOSED: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "mainstay_incomplete_heads_closed_total",
    "Connections closed because incomplete request heads held too much memory.",
    [],
);

/// Incomplete heads of all connections.
pub(crate) struct IncompleteHeads {
    bytes_max: u64,
    heads: Mutex<Heads>,
    held: Gauge,
    closed: Counter,
}

#[derive(Default)]
struct Heads {
    bytes: u64,
    /// Heads by age, oldest first.
    by_age: BTreeMap<u64, Head>,
    next: u64,
}

struct Head {
    bytes: u64,
    peer: Arc<Peer>,
}

impl IncompleteHeads {
    /// Creates the limit for a server with this memory limit in bytes, if any.
    pub(crate) fn new(memory_limit: Option<u64>, registry: &MetricsRegistry) -> Arc<Self> {
        let share = memory_limit.map_or(u64::MAX, |limit| limit / MEMORY_LIMIT_DIVISOR);
        Arc::new(IncompleteHeads {
            bytes_max: TOTAL_BYTES_MAX.min(share),
            heads: Mutex::default(),
            held: registry.register(&HELD),
            closed: registry.register(&CLOSED),
        })
    }

    fn heads(&self) -> MutexGuard<'_, Heads> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Incomplete head of one connection.
pub(crate) struct IncompleteHead {
    heads: Arc<IncompleteHeads>,
    peer: Arc<Peer>,
    /// Age of the head; `None` if no bytes count.
    number: Option<u64>,
    bytes: u64,
}

impl IncompleteHead {
    pub(crate) fn new(heads: Arc<IncompleteHeads>, peer: Arc<Peer>) -> Self {
        IncompleteHead { heads, peer, number: None, bytes: 0 }
    }

    /// Sets the number of bytes that the connection holds. Closes the connections with the oldest heads if all heads
    /// together exceed the limit.
    pub(crate) fn set(&mut self, held_bytes: usize) {
        let bytes = if held_bytes > FREE_BYTES { held_bytes.next_multiple_of(STEP_BYTES) as u64 } else { 0 };
        if bytes != self.bytes {
            self.bytes = bytes;
            self.update();
        }
    }

    fn update(&mut self) {
        let mut heads = self.heads.heads();
        if self.bytes == 0 {
            if let Some(number) = self.number.take() {
                heads.remove(number);
            }
        } else {
            let number = *self.number.get_or_insert_with(|| heads.number());
            heads.insert(number, Head { bytes: self.bytes, peer: Arc::clone(&self.peer) });
        }
        while heads.bytes > self.heads.bytes_max
            && let Some((_, oldest)) = heads.by_age.pop_first()
        {
            // Its memory is free when its task has run.
            heads.bytes = heads.bytes.saturating_sub(oldest.bytes);
            self.heads.closed.add(u64::from(oldest.peer.evict()));
        }
        self.heads.held.set(i64::try_from(heads.bytes).unwrap_or(i64::MAX));
    }
}

impl Drop for IncompleteHead {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Heads {
    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        number
    }

    fn insert(&mut self, number: u64, head: Head) {
        self.remove(number);
        self.bytes = self.bytes.saturating_add(head.bytes);
        self.by_age.insert(number, head);
    }

    fn remove(&mut self, number: u64) {
        let removed = self.by_age.remove(&number).map_or(0, |head| head.bytes);
        self.bytes = self.bytes.saturating_sub(removed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt;

    use super::*;
    use crate::connection::peer::Protocol;

    const KIB: usize = 1 << 10;
    /// Limit of the tests in bytes.
    const MIB: usize = 1 << 20;

    struct Setup {
        heads: Arc<IncompleteHeads>,
        registry: MetricsRegistry,
    }

    impl Setup {
        fn new() -> Self {
            let registry = MetricsRegistry::default();
            let heads = IncompleteHeads::new(Some(MIB as u64 * MEMORY_LIMIT_DIVISOR), &registry);
            Setup { heads, registry }
        }

        /// Connection whose incomplete head has this size.
        fn head(&self, bytes: usize) -> IncompleteHead {
            let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None);
            let mut head = IncompleteHead::new(Arc::clone(&self.heads), peer);
            head.set(bytes);
            head
        }
    }

    fn is_closed(head: &IncompleteHead) -> bool {
        head.peer.wait_for_eviction().now_or_never().is_some()
    }

    #[test]
    fn oldest_heads_are_closed_at_limit() {
        let setup = Setup::new();
        let mut heads: Vec<_> = (0..4).map(|_| setup.head(256 * KIB)).collect();
        assert!(!heads.iter().any(is_closed));
        heads[3].set(512 * KIB);
        assert_eq!(heads.iter().map(is_closed).collect::<Vec<_>>(), [true, false, false, false]);
        heads[2].set(512 * KIB);
        assert_eq!(heads.iter().map(is_closed).collect::<Vec<_>>(), [true, true, false, false]);
        let page = setup.registry.to_string();
        assert!(page.contains("mainstay_incomplete_heads_bytes 1048576\n"), "{page}");
        assert!(page.contains("mainstay_incomplete_heads_closed_total 2\n"), "{page}");
    }

    #[test]
    fn complete_heads_free_their_memory() {
        let setup = Setup::new();
        let mut complete = setup.head(MIB);
        complete.set(0);
        drop(setup.head(MIB));
        let last = setup.head(MIB);
        assert!(![&complete, &last].into_iter().any(is_closed));
    }

    #[test]
    fn small_heads_do_not_count() {
        let setup = Setup::new();
        let heads: Vec<_> = (0..1000).map(|_| setup.head(FREE_BYTES)).collect();
        let large = setup.head(MIB);
        assert!(!heads.iter().chain([&large]).any(is_closed));
    }
}
