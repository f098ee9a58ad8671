//! Watches: starts, filters, and completeness.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{TestPrefix, all_at_once, text};
use crate::{EventKind, KeyValue, WatchItem, WatchOptions};

/// A watch from now delivers exactly the writes after its establishment.
pub async fn a_watch_from_now_starts_with_the_next_write(prefix: TestPrefix) {
    prefix.create("before", "1").await;
    let mut watch = prefix.watch_from(0).await;
    let after = prefix.create("after", "1").await;
    assert_eq!(watch.change().await, ("after".to_owned(), after));
}

/// A watch from a past revision delivers that revision and all later ones.
pub async fn a_watch_from_a_past_revision_replays_it(prefix: TestPrefix) {
    prefix.create("a", "1").await;
    let second = prefix.create("b", "1").await;
    let third = prefix.update("b", "2", second).await;
    let mut watch = prefix.watch_from(second).await;
    let fourth = prefix.create("c", "1").await;
    assert_eq!(watch.change().await, ("b".to_owned(), second));
    assert_eq!(watch.change().await, ("b".to_owned(), third));
    assert_eq!(watch.change().await, ("c".to_owned(), fourth));
}

/// A watch from a future revision is accepted and skips earlier writes.
pub async fn a_watch_from_a_future_revision_waits_for_it(prefix: TestPrefix) {
    let start = prefix.store.current_revision().await.unwrap() + 6;
    let mut watch = prefix.watch_from(start).await;
    let mut expected = Vec::new();
    for i in 0..20 {
        let name = format!("{i}");
        let revision = prefix.create(&name, "1").await;
        if revision >= start {
            expected.push((name, revision));
        }
    }
    for change in expected {
        assert_eq!(watch.change().await, change);
    }
}

/// Creation, update, deletion and another creation, each with its revision and content.
pub async fn events_have_kind_and_content(prefix: TestPrefix) {
    let mut watch = prefix.watch_from(0).await;
    let created = prefix.create("a", "1").await;
    let updated = prefix.update("a", "2", created).await;
    let deleted = prefix.delete("a", updated).await;
    let again = prefix.create("a", "3").await;
    let expected = [
        (EventKind::Create, created, "1"),
        (EventKind::Update, updated, "2"),
        (EventKind::Delete, deleted, ""),
        (EventKind::Create, again, "3"),
    ];
    for (kind, mod_revision, value) in expected {
        let event = watch.event().await;
        let value = Bytes::from_static(value.as_bytes());
        assert_eq!(event.kind, kind);
        assert_eq!(event.kv, KeyValue::new(prefix.key("a"), value, mod_revision));
    }
}

/// Updates and deletions have the previous value on watches that request it.
pub async fn previous_values_are_delivered_on_request(prefix: TestPrefix) {
    let options = WatchOptions { prev_kv: true, ..WatchOptions::default() };
    let mut watch_with_previous = prefix.watch(options).await;
    let mut watch_without_previous = prefix.watch_from(0).await;
    let created = prefix.create("a", "1").await;
    let updated = prefix.update("a", "2", created).await;
    prefix.delete("a", updated).await;
    prefix.create("a", "3").await;
    for expected in [None, Some((created, "1")), Some((updated, "2")), None] {
        let previous = watch_with_previous.event().await.prev;
        let actual = previous.as_ref().map(|kv| (kv.mod_revision, text(kv)));
        assert_eq!(actual, expected.map(|(revision, value)| (revision, value.to_owned())));
        assert!(previous.is_none_or(|kv| kv.key == prefix.key("a")));
        assert_eq!(watch_without_previous.event().await.prev, None);
    }
}

/// A watch of one key ignores keys that start with its name.
pub async fn an_exact_watch_ignores_longer_keys(prefix: TestPrefix) {
    let options = WatchOptions { exact: true, ..WatchOptions::default() };
    let mut watch = prefix.watch_below("a", options).await;
    for name in ["ab", "a/b", "a-", "A"] {
        prefix.create(name, "1").await;
    }
    let expected = prefix.create("a", "1").await;
    assert_eq!(watch.change().await, ("a".to_owned(), expected));
}

/// A watch of a prefix ignores keys that sort next to it.
pub async fn a_prefix_watch_ignores_siblings(prefix: TestPrefix) {
    let mut watch = prefix.watch_below("a/", WatchOptions::default()).await;
    for name in ["a", "ab", "ab/1", "a-b/1", "a0", "b/a/1"] {
        prefix.create(name, "1").await;
    }
    let expected = prefix.create("a/b/c", "1").await;
    assert_eq!(watch.change().await, ("a/b/c".to_owned(), expected));
}

/// With many writers, a watch delivers each acknowledged write once, in the order of revisions.
pub async fn concurrent_writers_cause_no_gaps_or_repetition(prefix: TestPrefix) {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 25;
    let mut watch = prefix.watch_from(0).await;
    let writers = (0..WRITERS).map(|writer| {
        let prefix = prefix.clone();
        async move {
            let name = format!("{writer}");
            let mut written = Vec::new();
            for round in 0..ROUNDS {
                let created = prefix.create(&name, &round.to_string()).await;
                let updated = prefix.update(&name, "again", created).await;
                written.extend([created, updated, prefix.delete(&name, updated).await]);
            }
            written
        }
    });
    let acknowledged: BTreeSet<_> = all_at_once(writers).await.concat().into_iter().collect();
    for expected in acknowledged {
        assert_eq!(watch.change().await.1, expected);
    }
}

/// A watch that is resumed after the last seen revision continues exactly there.
pub async fn a_resumed_watch_goes_on_without_gap_or_repetition(prefix: TestPrefix) {
    let mut expected = Vec::new();
    let mut watch = prefix.watch_from(0).await;
    let mut revision = 0;
    for round in 0..30 {
        revision = prefix.update("a", &round.to_string(), revision).await;
        expected.push(revision);
    }
    let mut delivered = Vec::new();
    while delivered.len() < expected.len() {
        for _ in 0..7.min(expected.len() - delivered.len()) {
            delivered.push(watch.change().await.1);
        }
        watch = prefix.watch_from(delivered.last().unwrap() + 1).await;
    }
    assert_eq!(delivered, expected);
    let last = prefix.update("a", "last", revision).await;
    assert_eq!(watch.change().await.1, last);
}

/// All watches of a prefix get all events.
pub async fn many_watches_see_the_same(prefix: TestPrefix) {
    let mut watches = Vec::new();
    for _ in 0..50 {
        watches.push(prefix.watch_from(0).await);
    }
    let mut expected = Vec::new();
    for name in ["a", "b", "c"] {
        expected.push((name.to_owned(), prefix.create(name, "1").await));
    }
    for mut watch in watches {
        for change in &expected {
            assert_eq!(watch.change().await, *change);
        }
    }
}

/// Dropping a watch does not affect other watches.
pub async fn a_dropped_watch_does_not_disturb_the_others(prefix: TestPrefix) {
    let dropped = prefix.watch_from(0).await;
    let mut remaining = prefix.watch_from(0).await;
    let first = prefix.create("a", "1").await;
    drop(dropped);
    let second = prefix.create("b", "1").await;
    assert_eq!(remaining.change().await.1, first);
    assert_eq!(remaining.change().await.1, second);
}

/// After a write has been delivered, progress for it follows without any further event.
pub async fn progress_follows_acknowledged_writes(prefix: TestPrefix) {
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = prefix.watch(options).await;
    for name in ["a", "b", "c"] {
        let created = prefix.create(name, "1").await;
        let written = prefix.delete(name, created).await;
        let mut delivered = 0;
        loop {
            match watch.item().await.unwrap() {
                WatchItem::Event(event) => delivered = event.kv.mod_revision,
                WatchItem::Progress(revision) if revision < written => {}
                WatchItem::Progress(revision) => {
                    assert_eq!((revision, delivered), (written, written));
                    break;
                }
            }
        }
    }
}

/// With many writers, each batch ends with progress at its last event; progress never decreases; no event
/// follows progress that covers it.
pub async fn progress_closes_every_batch_and_never_goes_back(prefix: TestPrefix) {
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = prefix.watch(options).await;
    let writers = (0..6).map(|writer| {
        let prefix = prefix.clone();
        async move {
            let mut written = Vec::new();
            for round in 0..40 {
                written.push(prefix.create(&format!("{writer}/{round}"), "1").await);
            }
            written
        }
    });
    let acknowledged: BTreeSet<_> = all_at_once(writers).await.concat().into_iter().collect();
    let last = *acknowledged.last().unwrap();
    let mut delivered = BTreeSet::new();
    let mut progress = 0;
    while progress < last {
        match watch.item().await.unwrap() {
            WatchItem::Event(event) => {
                assert!(event.kv.mod_revision > progress, "covered already");
                delivered.insert(event.kv.mod_revision);
            }
            WatchItem::Progress(revision) => {
                assert!(revision >= progress, "{revision} after {progress}");
                assert!(delivered.iter().eq(acknowledged.range(..=revision)), "it covers what has come");
                progress = revision;
            }
        }
    }
    assert_eq!(delivered, acknowledged);
}

/// Progress at a revision means that every change up to it has been delivered.
pub async fn progress_comes_after_what_it_covers(prefix: TestPrefix) {
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = prefix.watch(options).await;
    let mut written = Vec::new();
    let mut delivered = Vec::new();
    let mut progress = 0;
    let mut name = 0;
    for _ in 0..5 {
        for _ in 0..3 {
            name += 1;
            written.push(prefix.create(&name.to_string(), "1").await);
        }
        let expected = *written.last().unwrap();
        while progress < expected {
            prefix.store.request_progress().await.unwrap();
            match watch.item().await.unwrap() {
                WatchItem::Event(event) => {
                    assert!(event.kv.mod_revision > progress, "announced as delivered already");
                    delivered.push(event.kv.mod_revision);
                }
                WatchItem::Progress(revision) => progress = revision,
            }
        }
        assert_eq!(delivered, written);
    }
}

/// A watch without `progress` gets only events.
pub async fn progress_is_only_sent_on_request(prefix: TestPrefix) {
    let mut watch = prefix.watch_from(0).await;
    for name in ["a", "b", "c"] {
        prefix.store.request_progress().await.unwrap();
        let revision = prefix.create(name, "1").await;
        match watch.item().await.unwrap() {
            WatchItem::Event(event) => assert_eq!(event.kv.mod_revision, revision),
            other => panic!("wanted an event, got {other:?}"),
        }
    }
}
