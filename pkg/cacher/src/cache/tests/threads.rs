//! Readers on other threads than the writer.

use std::thread;

use futures::StreamExt;

use super::*;

/// Runs a future to its end with a timeout: a watch that misses a wake-up would wait forever.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), future).await.unwrap() })
}

#[test]
fn no_wakeup_is_lost() {
    const CHANGES: Revision = 20_000;
    let limits = Limits { events_max: usize::MAX, age_max: Duration::MAX, ..Limits::default() };
    let limits = Limits { bytes_max: usize::MAX, ..limits };
    let cache = filled(limits, &[], 10);
    let scopes = [PODS, "/r/pods/a/", "/r/pods/a/1", PODS];
    let nodes = ["", "", "", "n1"];
    thread::scope(|threads| {
        for (scope, node) in scopes.into_iter().zip(nodes) {
            let selection = select(scope, node, "");
            let query = watch_query(&selection, WatchStart::After(10), false);
            let cache = Arc::clone(&cache);
            threads.spawn(move || {
                block_on(async {
                    let mut watch = cache.watch(query).unwrap();
                    for revision in 11..11 + CHANGES {
                        let event = watch.next().await.unwrap().unwrap();
                        assert_eq!(event.revision, revision, "{selection:?}");
                    }
                });
            });
        }
        (11..11 + CHANGES).for_each(|revision| change(&cache, "a/1", revision, Some("n1")));
    });
    assert_eq!(cache.stats().watches, 0);
}

#[test]
fn lists_are_complete_up_to_loaded_freshness() {
    const CHANGES: Revision = 20_000;
    let cache = filled(Limits::default(), &[], 10);
    let query = query(&select(PODS, "", ""), None, 0);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut fresh = 0;
                while fresh < 10 + CHANGES {
                    fresh = cache.fresh_revision();
                    let snapshot = cache.snapshot().unwrap();
                    let revision = fresh.max(snapshot.revision());
                    let page = list(&snapshot, &query, revision).unwrap();
                    let last = page.items.iter().map(|element| element.revision()).max();
                    assert_eq!(last.unwrap_or(10), revision);
                }
            });
        }
        for revision in 11..=10 + CHANGES {
            change(&cache, &format!("a/{}", revision % 7), revision, Some("n1"));
        }
    });
}
