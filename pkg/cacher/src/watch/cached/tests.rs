//! Start, bookmarks and end of cached watches.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use futures::{FutureExt, StreamExt};

use super::*;
use crate::cache::{CacheConfig, KeyChange, Limits};
use crate::core::testing::*;
use crate::{Freshness, Lag, Scope, Watch, WatchQuery, WatchStart};

const PODS: &str = "/r/pods/";
const STATE: WatchStart = WatchStart::State(Freshness::NotOlderThan(0));

struct Fixture {
    cache: Arc<Cache>,
    fresh: Arc<AtomicI64>,
}

impl Fixture {
    /// Pods `a/1` and `a/2`, on different nodes, at revision 10.
    fn new(limits: Limits) -> Self {
        let config = CacheConfig { limits, ..CacheConfig::new(PODS, Some(0)) };
        let fresh = Arc::clone(&config.fresh_revision);
        let cache = Arc::new(Cache::new(config, Instant::now()));
        let elements = vec![element("/r/pods/a/1", 5, "n1 x"), element("/r/pods/a/2", 4, "n2 x")];
        cache.fill(elements, 10, Vec::new(), Instant::now());
        fresh.store(10, SeqCst);
        Fixture { cache, fresh }
    }

    /// Applies a change and advances the freshness revision.
    fn apply(&self, change: KeyChange) {
        let revision = change.revision();
        self.cache.apply(vec![change], Instant::now());
        self.fresh.store(revision, SeqCst);
    }

    fn query(start: WatchStart, bookmarks: bool, seconds: u64) -> WatchQuery {
        let Selection { scope, predicate, .. } = select(PODS, "", "");
        let deadline = Instant::now() + Duration::from_secs(seconds);
        WatchQuery { scope, start, predicate, bookmarks, deadline }
    }

    fn watch(&self, start: WatchStart, bookmarks: bool, seconds: u64) -> Watch {
        self.cache.watch(Self::query(start, bookmarks, seconds)).unwrap()
    }
}

/// The next event as text: type, name, revision.
async fn next(watch: &mut Watch) -> String {
    match watch.next().await {
        None => "the end".to_owned(),
        Some(Err(error)) => format!("{error:?}"),
        Some(Ok(event)) => {
            let name = event.element.as_ref().map_or("-", |element| element.name());
            let end = if event.initial_events_end { " of the state" } else { "" };
            format!("{:?}{end} {name} {}", event.kind, event.revision)
        }
    }
}

/// All events that are available now.
fn ready(watch: &mut Watch) -> Vec<String> {
    std::iter::from_fn(|| next(watch).now_or_never()).take_while(|event| event != "the end").collect()
}

#[test]
fn an_idle_watch_is_small() {
    assert!(size_of::<CachedWatch>() <= 256, "{}", size_of::<CachedWatch>());
    assert!(size_of::<Sleep>() <= 128, "{}", size_of::<Sleep>());
}

#[tokio::test(start_paused = true)]
async fn state_then_bookmark_then_changes() {
    let check = |bookmarks, expected: &[&str]| {
        let fixture = Fixture::new(Limits::default());
        fixture.fresh.store(12, SeqCst);
        let mut watch = fixture.watch(STATE, bookmarks, 3600);
        fixture.apply(put("/r/pods/a/1", 13, "n1 y"));
        fixture.apply(delete("/r/pods/a/2", 14));
        assert_eq!(ready(&mut watch), expected);
        assert_eq!(fixture.cache.stats().initial_events, 2);
    };
    check(true, &["Added 1 5", "Added 2 4", "Bookmark of the state - 12", "Modified 1 13", "Deleted 2 14"]);
    check(false, &["Added 1 5", "Added 2 4", "Modified 1 13", "Deleted 2 14"]);
}

#[tokio::test(start_paused = true)]
async fn watch_from_revision_starts_with_next_change() {
    let check = |after, expected: &[&str]| {
        let fixture = Fixture::new(Limits::default());
        fixture.apply(put("/r/pods/a/1", 12, "n1 y"));
        fixture.apply(put("/r/pods/a/1", 14, "n1 y"));
        let mut watch = fixture.watch(WatchStart::After(after), true, 3600);
        fixture.apply(put("/r/pods/a/1", 16, "n1 y"));
        fixture.apply(put("/r/pods/a/1", 18, "n1 y"));
        assert_eq!(ready(&mut watch), expected, "after {after}");
    };
    check(0, &["Modified 1 16", "Modified 1 18"]);
    check(10, &["Modified 1 12", "Modified 1 14", "Modified 1 16", "Modified 1 18"]);
    check(12, &["Modified 1 14", "Modified 1 16", "Modified 1 18"]);
    check(13, &["Modified 1 14", "Modified 1 16", "Modified 1 18"]);
    check(14, &["Modified 1 16", "Modified 1 18"]);
    check(17, &["Modified 1 18"]);
    check(18, &[]);
    check(99, &[]);
}

#[tokio::test(start_paused = true)]
async fn watch_from_before_the_log_is_rejected() {
    let fixture = Fixture::new(Limits::default());
    let refused = fixture.cache.watch(Fixture::query(WatchStart::After(9), false, 3600)).err();
    assert!(matches!(refused, Some(Error::TooOld { requested: 9, oldest: 10 })), "{refused:?}");
    assert_eq!(fixture.cache.stats().watches, 0);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_before_end() {
    let check = async |start, bookmarks, expected: &[(u64, &str)]| {
        let fixture = Fixture::new(Limits::default());
        let mut watch = fixture.watch(start, bookmarks, 100);
        let start = Instant::now();
        fixture.fresh.store(30, SeqCst);
        ready(&mut watch);
        for (seconds, event) in expected {
            assert_eq!(next(&mut watch).await, *event);
            assert_eq!(start.elapsed().as_secs(), *seconds, "{event}");
        }
    };
    let expected = [(60, "Bookmark - 30"), (98, "Bookmark - 30"), (100, "the end"), (100, "the end")];
    check(WatchStart::After(10), true, &expected).await;
    check(STATE, true, &expected).await;
    check(WatchStart::After(10), false, &[(100, "the end")]).await;
    // The revision that the client requested is not reached.
    check(WatchStart::After(31), true, &[(100, "the end")]).await;
}

#[tokio::test(start_paused = true)]
async fn bookmark_follows_all_available_changes() {
    let fixture = Fixture::new(Limits::default());
    let mut watch = fixture.watch(WatchStart::After(10), true, 3600);
    assert_eq!(ready(&mut watch), [""; 0]);
    tokio::time::advance(Duration::from_secs(61)).await;
    for revision in 11..100 {
        fixture.cache.apply(vec![put("/r/pods/a/1", revision, "n1 x")], Instant::now());
    }
    // The batch is not yet published as fresh.
    let events = ready(&mut watch);
    assert_eq!((events.len(), &*events[88], &*events[89]), (90, "Modified 1 99", "Bookmark - 99"));
}

#[tokio::test(start_paused = true)]
async fn busy_watch_ends_at_its_deadline() {
    let fixture = Fixture::new(Limits::default());
    let mut watch = fixture.watch(WatchStart::After(10), false, 1);
    for revision in 11..200 {
        fixture.apply(put("/r/pods/a/1", revision, "n1 x"));
    }
    assert_eq!(next(&mut watch).await, "Modified 1 11");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(ready(&mut watch).len() < 100);
    assert_eq!(next(&mut watch).await, "the end");
}

#[tokio::test(start_paused = true)]
async fn slow_watch_ends_after_taken_changes() {
    let fixture = Fixture::new(Limits { events_max: 50, ..Limits::default() });
    let mut watch = fixture.watch(WatchStart::After(10), false, 3600);
    fixture.apply(put("/r/pods/a/1", 11, "n1 x"));
    fixture.apply(put("/r/pods/a/1", 12, "n1 x"));
    assert_eq!(next(&mut watch).await, "Modified 1 11");
    (13..100).for_each(|revision| fixture.apply(put("/r/pods/a/1", revision, "n1 x")));
    assert_eq!(next(&mut watch).await, "Modified 1 12");
    assert_eq!(next(&mut watch).await, "the end");
    assert_eq!(fixture.cache.stats().terminated, 1);
}

#[tokio::test(start_paused = true)]
async fn unrelated_changes_do_not_overrun() {
    let fixture = Fixture::new(Limits { events_max: 50, ..Limits::default() });
    let Selection { scope, predicate, .. } = select("/r/pods/a/", "", "");
    let query = WatchQuery { scope, predicate, ..Fixture::query(STATE, true, 3600) };
    let mut watch = fixture.cache.watch(query).unwrap();
    assert_eq!(next(&mut watch).await, "Added 1 5");
    (11..100).for_each(|revision| fixture.apply(put("/r/pods/b/1", revision, "n1 x")));
    fixture.apply(put("/r/pods/a/1", 100, "n1 x"));
    assert_eq!(ready(&mut watch), ["Added 2 4", "Bookmark of the state - 10", "Modified 1 100"]);
}

#[tokio::test(start_paused = true)]
async fn reset_ends_watches_until_refill() {
    let fixture = Fixture::new(Limits::default());
    let mut watch = fixture.watch(WatchStart::After(10), true, 3600);
    fixture.cache.reset(Some("gap".to_owned()), Instant::now());
    assert_eq!(next(&mut watch).await, "the end");
    assert_eq!(fixture.cache.stats().terminated, 0);
    let refused = fixture.cache.watch(Fixture::query(STATE, true, 3600)).err();
    assert!(
        matches!(&refused, Some(Error::NotReady { reason: Some(reason), .. }) if reason == "gap"),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn unreadable_object_ends_concerned_watches() {
    let fixture = Fixture::new(Limits::default());
    let corrupt = |event: &str| event.starts_with("Corrupt") && event.contains("/r/pods/a/1");
    let mut watch = fixture.watch(WatchStart::After(10), false, 3600);
    fixture.apply(put("/r/pods/a/1", 11, "unserved"));
    assert!(corrupt(&next(&mut watch).await));
    assert_eq!(next(&mut watch).await, "the end");
    let refused = fixture.cache.watch(Fixture::query(STATE, false, 3600)).err();
    assert!(matches!(refused, Some(Error::Corrupt { .. })), "{refused:?}");
    drop(watch);
    assert_eq!(fixture.cache.stats().watches, 0);
    fixture.apply(put("/r/pods/a/1", 12, "n1 x"));
    assert_eq!(ready(&mut fixture.watch(STATE, false, 3600)), ["Added 1 12", "Added 2 4"]);
}

#[tokio::test(start_paused = true)]
async fn malformed_object_counts_as_absent() {
    let fixture = Fixture::new(Limits::default());
    let mut watch = fixture.watch(WatchStart::After(10), false, 3600);
    fixture.apply(put("/r/pods/a/1", 11, "broken"));
    assert_eq!(next(&mut watch).await, "Deleted 1 11");
    assert_eq!(ready(&mut fixture.watch(STATE, false, 3600)), ["Added 2 4"]);
    fixture.apply(put("/r/pods/a/1", 12, "broken again"));
    fixture.apply(put("/r/pods/a/1", 13, "n1 x"));
    assert_eq!(next(&mut watch).await, "Added 1 13");
}

#[tokio::test(start_paused = true)]
async fn long_scan_without_match_yields() {
    let config = CacheConfig::new(PODS, None);
    let cache = Arc::new(Cache::new(config, Instant::now()));
    let pod = |at: usize| element(&format!("/r/pods/a/{at:05}"), 1, if at < 5000 { "n1 x" } else { "n2 x" });
    cache.fill((0..5001).map(pod).collect(), 1, Vec::new(), Instant::now());
    let Selection { scope, predicate, .. } = select(PODS, "n2", "");
    let query = WatchQuery { scope, predicate, ..Fixture::query(STATE, false, 3600) };
    let mut watch = cache.watch(query).unwrap();
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.waker();
    let mut polls = 0;
    while watch.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending() {
        polls += 1;
        assert_eq!(wakes.take(), 1);
    }
    assert_eq!(polls, 5000 / SCANS_PER_POLL);
}

#[tokio::test(start_paused = true)]
async fn watches_share_frames_of_changes_only() {
    let fixture = Fixture::new(Limits::default());
    let mut watches = [fixture.watch(STATE, false, 3600), fixture.watch(STATE, false, 3600)];
    fixture.apply(put("/r/pods/a/1", 11, "n1 x"));
    let mut encoded = 0;
    let mut shared = Vec::new();
    for watch in &mut watches {
        for _ in 0..3 {
            let event = watch.next().await.unwrap().unwrap();
            shared.push(event.is_shared());
            let frame = event.frame(1, || {
                encoded += 1;
                Ok::<_, ()>(bytes::Bytes::from_static(b"frame"))
            });
            frame.unwrap();
        }
    }
    assert_eq!((shared, encoded), ([false, false, true].repeat(2), 5));
}

#[tokio::test(start_paused = true)]
async fn lag_counts_own_changes_and_age() {
    let check = async |scope: &str, changes: u64, seconds: u64| {
        let fixture = Fixture::new(Limits::default());
        let scope = Scope { prefix: scope.to_owned(), exact: false };
        let query = WatchQuery { scope: scope.clone(), ..Fixture::query(WatchStart::After(0), false, 3600) };
        let mut watch = fixture.cache.watch(query).unwrap();
        let progress = watch.progress().unwrap();
        assert_eq!(progress.lag(), Lag::default());
        fixture.apply(put("/r/pods/a/1", 12, "n1 y"));
        tokio::time::advance(Duration::from_secs(2)).await;
        fixture.apply(put("/r/pods/b/1", 13, "n1 x"));
        tokio::time::advance(Duration::from_secs(3)).await;
        let age = Some(Duration::from_secs(seconds));
        assert_eq!(progress.lag(), Lag { changes, age }, "{scope:?}");
        assert_eq!(ready(&mut watch).len() as u64, changes);
        assert_eq!(progress.lag(), Lag::default(), "{scope:?}");
        fixture.cache.reset(None, Instant::now());
        assert_eq!(progress.lag(), Lag::default(), "{scope:?}");
    };
    check(PODS, 2, 5).await;
    check("/r/pods/a/", 1, 5).await;
    check("/r/pods/b/", 1, 3).await;
}
