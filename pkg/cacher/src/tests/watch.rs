//! Watches.

use futures::StreamExt;

use super::*;
use crate::{Error, Event, EventType};

/// The deadline of watches that end for other reasons.
const LATER: Duration = Duration::from_secs(3600);
const STATE: WatchStart = WatchStart::State(Freshness::Consistent);

fn query(start: WatchStart, predicate: Predicate, bookmarks: bool) -> WatchQuery {
    let deadline = Instant::now() + LATER;
    WatchQuery { scope: everything(), start, predicate, bookmarks, deadline }
}

async fn next(events: &mut Watch) -> Event {
    events.next().await.unwrap().unwrap()
}

fn seen(event: &Event) -> (EventType, String, String) {
    let Some(element) = &event.element else { return (event.kind, String::new(), String::new()) };
    let name = element.key().strip_prefix(PREFIX).unwrap();
    (event.kind, name.to_owned(), String::from_utf8(element.value().unwrap().to_vec()).unwrap())
}

fn owned(kind: EventType, name: &str, value: &str) -> (EventType, String, String) {
    (kind, name.to_owned(), value.to_owned())
}

#[tokio::test]
async fn changes_are_filtered() {
    let check = async |old: Option<&str>, new: Option<&str>, expected: Option<(EventType, &str)>| {
        let store = Recorded::with(&[("0", "no")]).await;
        let mut from = store.memory.current_revision().await.unwrap();
        if let Some(old) = old {
            from = store.set("x", Some(old)).await;
        }
        let query = query(WatchStart::After(from), yes(), false);
        let mut events = uncached(&store).watch(query).await.unwrap();
        let changed = store.set("x", new).await;
        // The event of the change, if any, comes before this.
        store.set("y", Some("yes - the end")).await;
        let first = next(&mut events).await;
        match expected {
            Some((kind, value)) => {
                assert_eq!(seen(&first), owned(kind, "x", value), "{old:?} -> {new:?}");
                assert_eq!(first.revision, changed, "{old:?} -> {new:?}");
            }
            None => assert_eq!(seen(&first).1, "y", "{old:?} -> {new:?}"),
        }
    };
    check(None, Some("yes"), Some((EventType::Added, "yes"))).await;
    check(None, Some("no"), None).await;
    check(Some("no"), Some("yes"), Some((EventType::Added, "yes"))).await;
    check(Some("yes 1"), Some("yes 2"), Some((EventType::Modified, "yes 2"))).await;
    check(Some("yes"), Some("no"), Some((EventType::Deleted, "yes"))).await;
    check(Some("no 1"), Some("no 2"), None).await;
    check(Some("yes"), None, Some((EventType::Deleted, "yes"))).await;
    check(Some("no"), None, None).await;
}

#[tokio::test]
async fn initial_state_is_sorted_and_ends_with_bookmark() {
    let store = Recorded::with(&[("b", "yes"), ("c", "no"), ("a", "yes")]).await;
    let now = store.memory.current_revision().await.unwrap();
    let mut events = uncached(&store).watch(query(STATE, yes(), true)).await.unwrap();
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Added, "a", "yes"));
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Added, "b", "yes"));
    let end = next(&mut events).await;
    assert_eq!((end.kind, end.revision, end.initial_events_end), (EventType::Bookmark, now, true));
}

#[tokio::test]
async fn without_bookmarks_changes_follow_the_state_directly() {
    let store = Recorded::with(&[("a", "1")]).await;
    let mut events = uncached(&store).watch(query(STATE, any(), false)).await.unwrap();
    store.set("a", Some("2")).await;
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Added, "a", "1"));
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Modified, "a", "2"));
}

#[tokio::test]
async fn initial_events_have_their_objects_revision() {
    let store = Recorded::with(&[("a", "1"), ("b", "1")]).await;
    let mut events = uncached(&store).watch(query(STATE, any(), false)).await.unwrap();
    let event = next(&mut events).await;
    assert_eq!(Some(event.revision), event.element.map(|element| element.revision()));
}

#[tokio::test]
async fn resumed_watch_starts_with_next_change() {
    let store = Recorded::with(&[("a", "1")]).await;
    let from = store.memory.current_revision().await.unwrap();
    store.set("a", Some("2")).await;
    store.set("a", None).await;
    let mut events = uncached(&store).watch(query(WatchStart::After(from), any(), false)).await.unwrap();
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Modified, "a", "2"));
    assert_eq!(seen(&next(&mut events).await), owned(EventType::Deleted, "a", "2"));
}

#[tokio::test]
async fn single_key_watch_ignores_other_keys() {
    for start in [STATE, WatchStart::After(0)] {
        let store = Recorded::with(&[]).await;
        let mut query = query(start, any(), false);
        query.scope = only("a");
        let mut events = uncached(&store).watch(query).await.unwrap();
        for name in ["b", "ab", "a/b", "a"] {
            store.set(name, Some("1")).await;
        }
        assert_eq!(seen(&next(&mut events).await), owned(EventType::Added, "a", "1"), "{start:?}");
    }
}

#[tokio::test]
async fn initial_state_of_one_key_is_filtered() {
    let store = Recorded::with(&[("a", "no")]).await;
    let mut query = query(STATE, yes(), true);
    query.scope = only("a");
    let mut events = uncached(&store).watch(query).await.unwrap();
    assert!(next(&mut events).await.initial_events_end);
}

#[tokio::test]
async fn unreached_state_is_rejected() {
    let store = Recorded::with(&[("a", "1")]).await;
    let now = store.memory.current_revision().await.unwrap();
    let start = WatchStart::State(Freshness::NotOlderThan(now + 1));
    let error = uncached(&store).watch(query(start, any(), false)).await.err().unwrap();
    assert!(matches!(error, Error::FutureRevision { .. }), "{error:?}");
}

#[tokio::test]
async fn watch_from_compacted_revision_fails() {
    let store = Recorded::with(&[("a", "1")]).await;
    let from = store.memory.current_revision().await.unwrap();
    store.set("a", Some("2")).await;
    let now = store.set("a", Some("3")).await;
    store.memory.compact(now).await.unwrap();
    let started = uncached(&store).watch(query(WatchStart::After(from), any(), false)).await;
    let error = match started {
        Err(error) => error,
        Ok(mut events) => {
            let first = events.next().await.unwrap();
            assert!(events.next().await.is_none(), "a stream ends with its error");
            first.unwrap_err()
        }
    };
    assert!(matches!(error, Error::Storage(storage::Error::Compacted { .. })), "{error:?}");
}

#[tokio::test]
async fn unreadable_value_ends_the_watch() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let now = store.memory.current_revision().await.unwrap();
    let mut events = uncached(&store).watch(query(WatchStart::After(now), yes(), false)).await.unwrap();
    store.set("c", Some("broken")).await;
    store.set("b", Some("unserved")).await;
    let error = events.next().await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::Corrupt { key, .. } if key == "/r/p/b"), "{error:?}");
    assert!(events.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_before_end() {
    let store = Recorded::with(&[("a", "1")]).await;
    let now = store.memory.current_revision().await.unwrap();
    let start = Instant::now();
    let mut query = query(WatchStart::After(now), any(), true);
    query.deadline = start + Duration::from_secs(100);
    let mut events = uncached(&store).watch(query).await.unwrap();
    for seconds in [60, 98] {
        let event = next(&mut events).await;
        assert_eq!((event.kind, event.revision), (EventType::Bookmark, now));
        assert!(!event.initial_events_end);
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn follow_delivers_unreadable_objects() {
    let store = Recorded::with(&[("a", "yes"), ("b", "unserved")]).await;
    let driven = Driven::ready(store.clone()).await;
    for reader in [driven.reader(), uncached(&store)] {
        let start = WatchStart::State(Freshness::Consistent);
        assert!(matches!(reader.watch(watching(start)).await, Err(crate::Error::Corrupt { .. })));
        let mut events = reader.delegator.watch_internal(&reader.resource, start).await.unwrap();
        let mut next = async || {
            let event = events.next().await.unwrap().unwrap();
            let element = event.element.map(|element| (element.name().to_owned(), element.value().is_ok()));
            (event.kind, element)
        };
        let named = |name: &str, readable| Some((name.to_owned(), readable));
        assert_eq!(next().await, (EventType::Added, named("a", true)));
        assert_eq!(next().await, (EventType::Added, named("b", false)));
        assert_eq!(next().await, (EventType::Bookmark, None));
        store.set("a", Some("broken")).await;
        assert_eq!(next().await, (EventType::Modified, named("a", false)));
        store.set("a", Some("yes")).await;
        assert_eq!(next().await, (EventType::Modified, named("a", true)));
        store.set("b", None).await;
        assert_eq!(next().await, (EventType::Deleted, named("b", false)));
        store.set("b", Some("unserved")).await;
        assert_eq!(next().await, (EventType::Added, named("b", false)));
    }
}
