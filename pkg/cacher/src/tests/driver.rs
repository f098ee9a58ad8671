//! Filling of the caches.

use super::*;
use crate::Error;

const LATEST: Freshness = Freshness::Consistent;
/// Duration of a slow operation.
const SLOW: Duration = Duration::from_secs(1);

async fn write_many(store: &dyn Storage, count: usize) {
    for n in 0..count {
        set(store, &format!("{:02}/{n:05}", n % 10), Some(&format!("yes {n}"))).await;
    }
}

/// The retry delay and reason of a list that fails because the cache is not ready.
async fn refusal(reader: &Reader) -> (u32, Option<String>) {
    match reader.list(&all(LATEST)).await {
        Err(Error::NotReady { retry_after_seconds, reason }) => (retry_after_seconds, reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn caches_converge_to_storage() {
    let store = Arc::new(Memory::new());
    write_many(&*store, 1200).await;
    put(&*store, "/r/group/q/a", Some("1")).await;
    put(&*store, "/r/other/x", Some("1")).await;
    let driven = Driven::ready(store.clone()).await;
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    for n in 0..50 {
        put(&*store, &format!("/r/group/q/{n}"), Some("2")).await;
        put(&*store, &format!("/r/s/{n}"), Some("2")).await;
        put(&*store, &format!("/r/{n}"), Some("2")).await;
        set(&*store, &format!("00/{:05}", n * 10), None).await;
    }
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    let counts = ["/r/p/", "/r/group/q/", "/r/s/"]
        .map(|prefix| driven.delegator.resource(prefix).unwrap().cached_objects().unwrap());
    assert_eq!(counts, [1150, 51, 50]);
}

#[tokio::test(start_paused = true)]
async fn unfilled_cache_leaves_cheap_reads_to_storage() {
    let store = Recorded::with(&[("a", "yes"), ("b", "yes")]).await;
    let (delegator, _driver) = Delegator::new(store.clone(), ROOT, vec![config(PREFIX)], Options::default());
    let reader = Reader::new(&delegator, PREFIX);
    assert!(reader.get("/r/p/a", LATEST).await.unwrap().element.is_some());
    assert!(reader.get("/r/p/a", Freshness::NotOlderThan(0)).await.unwrap().element.is_some());
    let paged = ListQuery { limit: 1, ..all(LATEST) };
    assert_eq!(names(&reader.list(&paged).await.unwrap()), ["a"]);
    let selective = ListQuery { predicate: yes(), ..paged };
    assert!(matches!(reader.list(&selective).await, Err(Error::NotReady { .. })));
    let watch = reader.watch(watching(WatchStart::After(0))).await;
    assert!(matches!(watch, Err(Error::NotReady { .. })));
}

#[tokio::test(start_paused = true)]
async fn retry_delay_grows_until_the_cache_is_filled() {
    let store = Recorded::with(&[]).await;
    let (delegator, _driver) = Delegator::new(store, ROOT, vec![config(PREFIX)], Options::default());
    let reader = Reader::new(&delegator, PREFIX);
    let start = Instant::now();
    // int(e^(0.06 t)), from 1 to 30.
    for (seconds, expected) in [(0, 1), (10, 1), (12, 2), (40, 11), (56, 28), (57, 30), (1000, 30)] {
        tokio::time::sleep_until(start + Duration::from_secs(seconds)).await;
        assert_eq!(refusal(&reader).await, (expected, None), "after {seconds} s");
    }
}

/// A store with two pages of [`PREFIX`]; the second page is slow. The preceding calls are the first pages of
/// the three resources.
async fn slow_second_page() -> Arc<FaultyStorage<Memory>> {
    let store = faulty([(Operation::List, 3, Fault::Delay(SLOW))]);
    write_many(&*store, 700).await;
    store
}

#[tokio::test(start_paused = true)]
async fn changes_during_the_fill_are_not_lost() {
    let store = slow_second_page().await;
    let driven = Driven::new(store.clone(), Options::default());
    tokio::time::sleep(SLOW / 2).await;
    set(&*store, "00/00000", Some("no")).await;
    set(&*store, "09/00699", Some("no")).await;
    set(&*store, "01/00001", None).await;
    set(&*store, "new", Some("yes")).await;
    driven.delegator.ready().await;
    assert_eq!(store.calls(Operation::List), 4);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn fill_with_too_many_changes_is_repeated() {
    let store = slow_second_page().await;
    let driven = Driven::new(store.clone(), Options { buffered_changes_max: 3, ..Options::default() });
    tokio::time::sleep(SLOW / 2).await;
    for n in 0..10 {
        set(&*store, &format!("00/{:05}", n * 10), None).await;
    }
    driven.delegator.ready().await;
    assert_eq!(store.calls(Operation::List), 6);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    assert_eq!(driven.fills(), 1);
}

#[tokio::test(start_paused = true)]
async fn failed_fill_is_retried_and_reported() {
    let store = faulty((0..9).map(|nth| (Operation::List, nth, Fault::FailBefore)));
    write_many(&*store, 20).await;
    let driven = Driven::new(store.clone(), Options::default());
    tokio::time::sleep(Duration::from_millis(10)).await;
    let (_, reason) = refusal(&driven.reader()).await;
    assert!(reason.as_ref().is_some_and(|reason| reason.contains("injected failure")), "{reason:?}");
    driven.delegator.ready().await;
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn fill_restarts_after_a_compaction() {
    let store = slow_second_page().await;
    let driven = Driven::new(store.clone(), Options::default());
    tokio::time::sleep(SLOW / 2).await;
    let now = set(&*store, "new", Some("yes")).await;
    store.compact(now).await.unwrap();
    driven.delegator.ready().await;
    assert!(store.calls(Operation::List) >= 6, "{}", store.calls(Operation::List));
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_is_retried() {
    let failing = |operation| (0..5).map(move |nth| (operation, nth, Fault::FailBefore));
    let store = faulty(failing(Operation::CurrentRevision).chain(failing(Operation::Watch)));
    set(&*store, "a", Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    assert_eq!(names(&driven.reader().list(&all(LATEST)).await.unwrap()), ["a"]);
}
