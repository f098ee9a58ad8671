//! Compares the caches with storage, the reference: over random histories, every read and every watch must
//! have the same result from both.

use futures::StreamExt;

use super::*;
use crate::{Element, EventType};

/// Namespaces; some are prefixes of others.
const NAMESPACES: [&str; 4] = ["a", "ab", "a-b", "b"];
const VALUES: [&str; 5] = ["yes 1", "yes 2", "no 1", "no 2", "yes"];

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn name(&mut self) -> String {
        format!("{}/{}", self.pick(&NAMESPACES), self.below(6))
    }

    fn scope(&mut self) -> Scope {
        match self.below(4) {
            0 => only(&self.name()),
            1 | 2 => Scope { prefix: format!("{PREFIX}{}/", self.pick(&NAMESPACES)), exact: false },
            _ => everything(),
        }
    }

    fn predicate(&mut self) -> Predicate {
        if self.below(2) == 0 { any() } else { yes() }
    }
}

/// A store, its caches, and reads that bypass them.
struct Pair {
    random: Random,
    store: Arc<Memory>,
    driven: Driven,
    oracle: Reader,
    /// The oldest revision that is not compacted.
    oldest: Revision,
}

impl Pair {
    async fn new(seed: u64) -> Self {
        let store = Arc::new(Memory::new());
        let mut random = Random(seed * 2 + 1);
        for _ in 0..20 {
            set(&*store, &random.name(), Some("yes 0")).await;
        }
        let oldest = store.current_revision().await.unwrap();
        let driven = Driven::ready(store.clone()).await;
        let oracle = Reader::new(&Delegator::uncached(store.clone(), vec![config(PREFIX)]), PREFIX);
        Pair { random, store, driven, oracle, oldest }
    }

    async fn write(&mut self) -> Revision {
        let key = match self.random.below(8) {
            0 => "/r/other/x".to_owned(),
            1 => "/elsewhere".to_owned(),
            _ => format!("{PREFIX}{}", self.random.name()),
        };
        let exists = self.store.get(&key).await.unwrap().kv.is_some();
        let value = (!exists || self.random.below(4) > 0).then(|| self.random.pick(&VALUES));
        put(&*self.store, &key, value).await
    }

    /// The compared parts of a page: items with value and revision, list revision, remaining count.
    fn shown(page: &Page) -> (Vec<(String, Bytes, Revision)>, Revision, Option<u64>) {
        let item = |e: Arc<Element>| (e.key().to_owned(), e.value().cloned().unwrap(), e.revision());
        (page.items.iter().map(item).collect(), page.revision, page.remaining)
    }

    /// Lists all pages of a query from both and compares them.
    async fn compare_lists(&mut self) {
        let now = self.store.current_revision().await.unwrap();
        let back = self.random.below((now - self.oldest + 1) as usize) as Revision;
        let freshness = match self.random.below(4) {
            0 => Freshness::Exact(now - back),
            1 => Freshness::NotOlderThan(now),
            _ => Freshness::Consistent,
        };
        let limit = self.random.pick(&[0, 1, 3, 7]);
        let scope = self.random.scope();
        let predicate = self.random.predicate();
        let mut query = ListQuery { scope, start: None, limit, freshness, predicate };
        let reader = self.driven.reader();
        loop {
            let page = reader.list(&query).await.unwrap();
            let expected = self.oracle.list(&query).await.unwrap();
            assert_eq!(Self::shown(&page), Self::shown(&expected), "{query:?}");
            query.freshness = Freshness::Exact(page.revision);
            let by_index = !query.predicate.is_everything();
            match (page.next, expected.next) {
                (None, Some(next)) if by_index => {
                    // The index detects the end of the list; storage has to read another page.
                    query.start = Some(next);
                    let rest = self.oracle.list(&query).await.unwrap();
                    assert_eq!((Self::shown(&rest).0, rest.next), (Vec::new(), None), "{query:?}");
                    break;
                }
                (next, expected) => {
                    assert_eq!(next, expected, "{query:?}");
                    query.start = next;
                }
            }
            if query.start.is_none() {
                break;
            }
            self.write().await;
        }
    }

    async fn compare_gets(&mut self) {
        let key = format!("{PREFIX}{}", self.random.name());
        let actual = self.driven.reader().get(&key, Freshness::Consistent).await.unwrap();
        let expected = self.oracle.get(&key, Freshness::Consistent).await.unwrap();
        assert_eq!(actual.revision, expected.revision);
        let version =
            |response: GetResult| response.element.map(|e| (e.revision(), e.value().cloned().unwrap()));
        assert_eq!(version(actual), version(expected), "{key}");
    }

    /// Starts the same watch on both.
    async fn watch_both(&mut self) -> Option<(WatchQuery, Watch, Watch)> {
        let now = self.store.current_revision().await.unwrap();
        let back = self.random.below((now - self.oldest + 1) as usize) as Revision;
        let start = match self.random.below(3) {
            0 => WatchStart::After(now - back),
            1 => WatchStart::After(now + 2),
            _ => WatchStart::State(Freshness::Consistent),
        };
        let query = WatchQuery {
            scope: self.random.scope(),
            predicate: self.random.predicate(),
            bookmarks: self.random.below(2) == 0,
            ..watching(start)
        };
        let cached = self.driven.reader().watch(query.clone()).await.unwrap();
        let stored = self.oracle.watch(query.clone()).await.unwrap();
        Some((query, cached, stored))
    }
}

/// All events up to the deletion of the key `end`. Bookmarks in between are omitted because their times may
/// differ.
async fn next_events(watch: &mut Watch, end: &str) -> Vec<(EventType, String, Bytes, Revision, bool)> {
    let mut events = Vec::new();
    loop {
        let event = watch.next().await.unwrap().unwrap();
        let Some(element) = event.element else {
            if event.initial_events_end {
                events.push((event.kind, String::new(), Bytes::new(), event.revision, true));
            }
            continue;
        };
        let ended = event.kind == EventType::Deleted && element.key() == end;
        let value = element.value().unwrap().clone();
        events.push((event.kind, element.key().to_owned(), value, event.revision, false));
        if ended {
            return events;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cached_reads_equal_storage_reads() {
    for seed in 0..20 {
        let mut pair = Pair::new(seed).await;
        for _ in 0..150 {
            match pair.random.below(3) {
                0 => pair.compare_lists().await,
                1 => pair.compare_gets().await,
                _ => drop(pair.write().await),
            }
        }
        assert_eq!(pair.driven.delegator.differences().await.unwrap(), [], "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn cached_watches_equal_storage_watches() {
    for seed in 0..20 {
        let mut pair = Pair::new(seed).await;
        let mut watches = Vec::new();
        for _ in 0..100 {
            if pair.random.below(8) == 0 {
                watches.extend(pair.watch_both().await);
            }
            pair.write().await;
        }
        for (query, mut cached, mut stored) in watches {
            let end = if query.scope.exact {
                query.scope.prefix.clone()
            } else {
                format!("{}a/end", query.scope.prefix)
            };
            put(&*pair.store, &end, Some("yes")).await;
            // The previous key's deletion may be visible, too, so each round deletes its own key at the end.
            let last = put(&*pair.store, &end, None).await;
            let mut cached_events = Vec::new();
            let mut stored_events = Vec::new();
            for (watch, received) in [(&mut cached, &mut cached_events), (&mut stored, &mut stored_events)] {
                while received
                    .last()
                    .is_none_or(|(.., revision, _): &(_, _, _, Revision, _)| *revision < last)
                {
                    received.extend(next_events(watch, &end).await);
                }
            }
            assert_eq!(cached_events, stored_events, "seed {seed}: {query:?}");
        }
    }
}
