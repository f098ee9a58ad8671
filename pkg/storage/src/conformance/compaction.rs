//! Effects of compaction. These tests affect all readers of history from the same store, so they run alone.

use futures::StreamExt;

use super::{PATIENCE, TestPrefix, Watching, pairs};
use crate::{Error, ListOptions, Revision, WatchItem, WatchOptions};

/// Writes `a` five times; returns the revisions.
async fn history(prefix: &TestPrefix) -> Vec<Revision> {
    let mut revisions = vec![prefix.create("a", "0").await];
    for round in 1..5 {
        let last = *revisions.last().unwrap();
        revisions.push(prefix.update("a", &round.to_string(), last).await);
    }
    revisions
}

/// Reads before the compacted revision are rejected.
pub async fn a_compacted_revision_cannot_be_listed(prefix: TestPrefix) {
    let revisions = history(&prefix).await;
    prefix.store.compact(revisions[3]).await.unwrap();
    for revision in &revisions[..3] {
        let listing = prefix.list_at(*revision).await;
        assert!(matches!(listing, Err(Error::Compacted { .. })), "at {revision}: {listing:?}");
    }
}

/// The compacted revision itself and all later ones stay readable, including objects deleted since.
pub async fn the_oldest_revision_can_be_listed(prefix: TestPrefix) {
    let deleted = prefix.create("gone", "1").await;
    let revisions = history(&prefix).await;
    prefix.delete("gone", deleted).await;
    prefix.store.compact(revisions[2]).await.unwrap();
    for (revision, expected) in [(revisions[2], "2"), (revisions[3], "3"), (revisions[4], "4")] {
        let listing = prefix.list_at(revision).await.unwrap();
        let expected = [("a".to_owned(), expected.to_owned()), ("gone".to_owned(), "1".to_owned())];
        assert_eq!(pairs(&prefix, &listing), expected, "at {revision}");
    }
}

/// A watch from before the compacted revision is rejected, at once or with its first item.
pub async fn a_watch_from_a_compacted_revision_is_compacted(prefix: TestPrefix) {
    let revisions = history(&prefix).await;
    prefix.store.compact(revisions[3]).await.unwrap();
    let options = WatchOptions { start: revisions[1], ..WatchOptions::default() };
    let error = match prefix.store.watch(&prefix.path, options).await {
        Err(error) => error,
        Ok(stream) => {
            let mut watch = Watching { stream, prefix: prefix.path.clone() };
            let error = watch.item().await.unwrap_err();
            assert!(watch.stream.next().await.is_none(), "an error ends the watch");
            error
        }
    };
    assert!(matches!(error, Error::Compacted { .. }), "{error:?}");
}

/// A watch right after the compacted revision delivers all later changes.
pub async fn a_watch_from_the_oldest_revision_misses_nothing(prefix: TestPrefix) {
    let revisions = history(&prefix).await;
    let deleted = prefix.delete("a", revisions[4]).await;
    prefix.store.compact(revisions[2]).await.unwrap();
    let mut watch = prefix.watch_from(revisions[2] + 1).await;
    for expected in [revisions[3], revisions[4], deleted] {
        assert_eq!(watch.change().await.1, expected);
    }
}

/// A watch that was not read for long may fail because of compaction, but never omits events.
pub async fn overtaken_watch_misses_nothing_silently(prefix: TestPrefix) {
    let mut watch = prefix.watch_from(0).await;
    let revisions = history(&prefix).await;
    prefix.store.compact(revisions[4]).await.unwrap();
    for expected in revisions {
        match watch.item().await {
            Ok(WatchItem::Event(event)) => assert_eq!(event.kv.mod_revision, expected),
            Ok(WatchItem::Progress(revision)) => panic!("progress {revision} was not asked for"),
            Err(Error::Compacted { .. }) => return,
            Err(other) => panic!("wanted Compacted, got {other:?}"),
        }
    }
}

/// An up-to-date watch is not affected.
pub async fn an_open_watch_survives_compaction(prefix: TestPrefix) {
    let mut watch = prefix.watch_from(0).await;
    let revisions = history(&prefix).await;
    for expected in &revisions {
        assert_eq!(watch.change().await.1, *expected);
    }
    prefix.store.compact(revisions[4]).await.unwrap();
    let next = prefix.update("a", "next", revisions[4]).await;
    assert_eq!(watch.change().await.1, next);
}

/// Current values remain regardless of age; deleted keys stay deleted; writes continue.
pub async fn compaction_keeps_the_present(prefix: TestPrefix) {
    let old = prefix.create("old", "old").await;
    let deleted = prefix.create("gone", "1").await;
    prefix.delete("gone", deleted).await;
    let revisions = history(&prefix).await;
    prefix.store.compact(revisions[4]).await.unwrap();
    let listing = prefix.list(ListOptions::default()).await;
    let expected = [("a".to_owned(), "4".to_owned()), ("old".to_owned(), "old".to_owned())];
    assert_eq!(pairs(&prefix, &listing), expected);
    assert_eq!(prefix.get("old").await.unwrap().mod_revision, old);
    assert_eq!(prefix.get("gone").await, None);
    let updated = prefix.update("old", "new", old).await;
    let recreated = prefix.create("gone", "2").await;
    assert!(revisions[4] < updated && updated < recreated);
}

/// Compacting to the same or an older revision is a no-op.
pub async fn compacting_again_is_not_an_error(prefix: TestPrefix) {
    let revisions = history(&prefix).await;
    for revision in [revisions[3], revisions[3], revisions[1]] {
        prefix.store.compact(revision).await.unwrap();
    }
    assert!(prefix.list_at(revisions[3]).await.is_ok());
}

/// Receivers of the compacted revision see each compaction, including earlier ones.
pub async fn compactions_are_published(prefix: TestPrefix) {
    let mut receiver = prefix.store.compacted();
    let revisions = history(&prefix).await;
    for revision in [revisions[1], revisions[3], revisions[2]] {
        let before = *receiver.borrow();
        prefix.store.compact(revision).await.unwrap();
        let published = tokio::time::timeout(PATIENCE, receiver.wait_for(|published| *published >= revision));
        let published = *published.await.expect("it is told in time").unwrap();
        assert!(before <= published && published <= revisions[3], "{published} after {before}");
        assert!(*prefix.store.compacted().borrow() >= published);
    }
}

/// A compaction above the store's revision is an error and removes nothing.
pub async fn compacting_the_future_is_an_error(prefix: TestPrefix) {
    let last = prefix.create("a", "1").await;
    let error = prefix.store.compact(last + 1_000_000).await.unwrap_err();
    assert!(matches!(error, Error::FutureRevision { .. }), "{error:?}");
    assert_eq!(prefix.value("a").await.as_deref(), Some("1"));
}
