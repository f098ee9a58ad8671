//! Effects on clients when the caches' watch breaks.

use futures::StreamExt;

use super::*;
use crate::{Event, EventType};

fn broken_after(after: usize) -> (Operation, u64, Fault) {
    (Operation::Watch, 0, Fault::BreakWatch { after })
}

async fn next(events: &mut Watch) -> Event {
    events.next().await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn reopened_feed_is_invisible_to_clients() {
    // Breaks before, between and after events and their progress.
    for after in 0..12 {
        let store = faulty([broken_after(after)]);
        let driven = Driven::ready(store.clone()).await;
        let mut events = driven.reader().watch(watching(WatchStart::After(0))).await.unwrap();
        for n in 0..6 {
            let written = set(&*store, "a", Some(&format!("{n}"))).await;
            put(&*store, "/r/s/a", Some(&format!("{n}"))).await;
            if n == 3 {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            let event = next(&mut events).await;
            let kind = if n == 0 { EventType::Added } else { EventType::Modified };
            assert_eq!((event.kind, event.revision), (kind, written), "after {after}, {n}");
        }
        assert_eq!(driven.delegator.differences().await.unwrap(), []);
        assert_eq!(driven.fills(), 1);
        assert_eq!(store.calls(Operation::Watch), 2, "after {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn gap_ends_watches_and_refills_caches() {
    let down = (1..6).map(|nth| (Operation::Watch, nth, Fault::FailBefore));
    let store = faulty(std::iter::once(broken_after(2)).chain(down));
    set(&*store, "a", Some("0")).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let mut events = reader.watch(watching(WatchStart::After(0))).await.unwrap();
    // The last change that the watch delivers, with its progress.
    let last_revision = set(&*store, "a", Some("1")).await;
    assert_eq!(next(&mut events).await.revision, last_revision);
    set(&*store, "a", Some("2")).await;
    let now = set(&*store, "b", Some("1")).await;
    store.compact(now).await.unwrap();
    assert!(events.next().await.is_none(), "the watch ends, without an error");
    driven.delegator.ready().await;
    assert_eq!(driven.fills(), 2);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    let page = reader.list(&all(Freshness::NotOlderThan(now))).await.unwrap();
    assert_eq!((names(&page), page.revision), (vec!["a".to_owned(), "b".to_owned()], now));
    let resumed = reader.watch(watching(WatchStart::After(last_revision))).await;
    assert!(matches!(resumed, Err(crate::Error::TooOld { requested, .. }) if requested == last_revision));
}

#[tokio::test(start_paused = true)]
async fn broken_feed_still_serves_any_state() {
    let down = (1..1000).map(|nth| (Operation::Watch, nth, Fault::FailBefore));
    let store = faulty(std::iter::once(broken_after(2)).chain(down));
    let driven = Driven::ready(store.clone()).await;
    let last_revision = set(&*store, "a", Some("1")).await;
    driven.reader().list(&all(Freshness::NotOlderThan(last_revision))).await.unwrap();
    set(&*store, "b", Some("1")).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    for freshness in
        [Freshness::NotOlderThan(0), Freshness::NotOlderThan(last_revision), Freshness::Exact(last_revision)]
    {
        let page = driven.reader().list(&all(freshness)).await.unwrap();
        assert_eq!((names(&page), page.revision), (vec!["a".to_owned()], last_revision));
    }
}
