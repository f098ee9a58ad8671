//! Reads from filled caches.

use futures::future::join_all;
use futures::{FutureExt, StreamExt};

use super::*;
use crate::{Damage, Error, EventType};

const LATEST: Freshness = Freshness::Consistent;
const ANY: Freshness = Freshness::NotOlderThan(0);

/// A store whose watch breaks after its first item and cannot be reopened.
fn deaf() -> Arc<FaultyStorage<Memory>> {
    let broken_watch = (Operation::Watch, 0, Fault::BreakWatch { after: 0 });
    faulty(
        std::iter::once(broken_watch).chain((1..1000).map(|nth| (Operation::Watch, nth, Fault::FailBefore))),
    )
}

#[tokio::test(start_paused = true)]
async fn a_consistent_read_sees_every_acknowledged_write() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    for n in 0..200 {
        let name = format!("{}", n % 7);
        let value = (n % 3 > 0).then(|| format!("yes {n}"));
        if value.is_none() && store.get(&format!("{PREFIX}{name}")).await.unwrap().kv.is_none() {
            continue;
        }
        let written = set(&*store, &name, value.as_deref()).await;
        let page = reader.list(&all(LATEST)).await.unwrap();
        assert!(page.revision >= written);
        assert_eq!(names(&page).contains(&name), value.is_some());
        let response = reader.get(&format!("{PREFIX}{name}"), LATEST).await.unwrap();
        assert!(response.revision >= written);
        assert_eq!(response.element.map(|element| element.revision()), value.map(|_| written));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_read_their_writes() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let writers = (0..8).map(|writer| {
        let store = store.clone();
        let reader = driven.reader();
        tokio::spawn(async move {
            for n in 0..200 {
                let written = set(&*store, &format!("w{writer}"), Some(&format!("yes {n}"))).await;
                let response = reader.get(&format!("{PREFIX}w{writer}"), LATEST).await.unwrap();
                assert_eq!(response.element.map(|element| element.revision()), Some(written));
                let page = reader.list(&ListQuery { predicate: yes(), ..all(LATEST) }).await.unwrap();
                assert!(page.items.iter().any(|element| element.revision() == written));
                assert!(page.items.iter().all(|element| element.revision() <= page.revision));
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn peek_returns_cached_object_without_store() {
    let store = faulty([]);
    let key = format!("{PREFIX}a");
    let written = set(&*store, "a", Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    let peek = |key: &str| {
        let resource = driven.delegator.resource(PREFIX).unwrap();
        driven.delegator.peek(&resource, key).map(|element| element.revision())
    };
    let gets = store.calls(Operation::Get);
    assert_eq!((peek(&key), peek("/registry/none/a")), (Some(written), None));
    // No await in between, so the cache cannot have received the change.
    let later = store.put(&key, "later".into(), written, None).now_or_never();
    assert!(later.is_some_and(|later| later.is_ok()));
    assert_eq!(peek(&key), Some(written));
    assert_eq!(store.calls(Operation::Get), gets);
}

#[tokio::test(start_paused = true)]
async fn read_after_unrelated_write_needs_only_progress() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let written = put(&*store, "/elsewhere", Some("x")).await;
    let start = Instant::now();
    assert_eq!(driven.reader().list(&all(LATEST)).await.unwrap().revision, written);
    assert!(start.elapsed() < Duration::from_millis(20), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn lists_within_the_log_need_no_storage() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let second_revision = set(&store.memory, "b", Some("no")).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let filled = store.reads().len();
    let third_revision = set(&store.memory, "c", Some("yes")).await;
    set(&store.memory, "a", None).await;
    let now = set(&store.memory, "d", Some("yes")).await;

    let check = async |freshness, expected: &[&str], revision| {
        let page = reader.list(&all(freshness)).await.unwrap();
        assert_eq!(
            (names(&page), page.revision),
            (expected.iter().map(|n| n.to_string()).collect(), revision)
        );
    };
    check(LATEST, &["b", "c", "d"], now).await;
    check(ANY, &["b", "c", "d"], now).await;
    check(Freshness::NotOlderThan(third_revision), &["b", "c", "d"], now).await;
    check(Freshness::Exact(third_revision), &["a", "b", "c"], third_revision).await;
    check(Freshness::Exact(now), &["b", "c", "d"], now).await;
    assert_eq!(store.reads().len(), filled);
    check(Freshness::Exact(second_revision - 1), &["a"], second_revision - 1).await;
    assert_eq!(store.reads().len(), filled + 1);
}

#[tokio::test(start_paused = true)]
async fn compacted_revisions_are_not_served() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let old_revision = set(&*store, "a", Some("1")).await;
    let now = set(&*store, "a", Some("2")).await;
    let exact = all(Freshness::Exact(old_revision));
    driven.reader().list(&exact).await.unwrap();
    store.compact(now).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let error = driven.reader().list(&exact).await.unwrap_err();
    assert!(matches!(error, Error::Storage(storage::Error::Compacted { .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn past_of_one_object_comes_from_storage() {
    let store = Recorded::with(&[("a", "1")]).await;
    let driven = Driven::ready(store.clone()).await;
    let filled = store.reads().len();
    let old_revision = set(&store.memory, "a", Some("2")).await;
    let now = set(&store.memory, "a", Some("3")).await;
    let check = async |freshness, expected: Revision, reads| {
        let page = driven.reader().list(&ListQuery { scope: only("a"), ..all(freshness) }).await.unwrap();
        let revisions: Vec<Revision> = page.items.iter().map(|element| element.revision()).collect();
        assert_eq!((revisions, page.revision), (vec![expected], expected));
        assert_eq!(store.reads().len() - filled, reads);
    };
    check(LATEST, now, 0).await;
    check(Freshness::NotOlderThan(old_revision), now, 0).await;
    check(Freshness::Exact(old_revision), old_revision, 1).await;
}

#[tokio::test(start_paused = true)]
async fn any_state_lists_are_complete() {
    let store = Recorded::with(&[("a", "1"), ("b", "1"), ("c", "1")]).await;
    let reader = Driven::ready(store).await;
    let check = async |freshness, expected| {
        let query = ListQuery { limit: 2, ..all(freshness) };
        assert_eq!(names(&reader.reader().list(&query).await.unwrap()).len(), expected);
    };
    check(ANY, 3).await;
    check(LATEST, 2).await;
    check(Freshness::NotOlderThan(1), 2).await;
}

#[tokio::test(start_paused = true)]
async fn concurrent_reads_share_one_store_call() {
    let slow = (1..10).map(|nth| (Operation::CurrentRevision, nth, Fault::Delay(Duration::from_millis(1))));
    let store = faulty(slow);
    set(&*store, "a", Some("1")).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let key = format!("{PREFIX}a");
    let calls = |operation| store.calls(operation);
    let before = (calls(Operation::CurrentRevision), calls(Operation::Get), calls(Operation::List));
    let responses = join_all((0..100).map(|_| reader.get(&key, LATEST))).await;
    assert!(responses.iter().all(|responses| responses.as_ref().unwrap().element.is_some()));
    let after = (calls(Operation::CurrentRevision), calls(Operation::Get), calls(Operation::List));
    assert_eq!(after, (before.0 + 2, before.1, before.2), "one for the first, one for all others");
}

#[tokio::test(start_paused = true)]
async fn consistent_reads_fall_back_when_watch_is_broken() {
    let store = deaf();
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let written = set(&*store, "a", Some("1")).await;
    let start = Instant::now();
    let page = reader.list(&all(LATEST)).await.unwrap();
    assert_eq!((names(&page), page.revision), (vec!["a".to_owned()], written));
    assert_eq!(start.elapsed().as_secs(), 3);
    let response = reader.get(&format!("{PREFIX}a"), LATEST).await.unwrap();
    assert_eq!((response.element.is_some(), response.revision), (true, written));
    assert_eq!(start.elapsed().as_secs(), 6);
    assert_eq!(reader.resource.metrics.consistent.fallback.get(), 1);
    assert_eq!(names(&reader.list(&all(ANY)).await.unwrap()).len(), 0, "any state is at hand");
    assert_eq!(start.elapsed().as_secs(), 6);
}

#[tokio::test(start_paused = true)]
async fn consistent_list_can_skip_the_fallback() {
    let store = deaf();
    let driven = Driven::new(store.clone(), Options { skip_stale_fallback: true, ..Options::default() });
    driven.delegator.ready().await;
    let reader = driven.reader();
    let written = set(&*store, "a", Some("1")).await;
    let error = reader.list(&all(LATEST)).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(error, Error::StaleCache { requested, retry_after_seconds: 1, .. } if requested == written),
        "{error:?}"
    );
    assert_eq!(reader.resource.metrics.consistent.fallback_skipped.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn unreached_revision_fails_with_retry_delay() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let now = set(&*store, "a", Some("1")).await;
    let future_revision = now + 1;
    let start = Instant::now();
    let check = |error: Error, seconds| {
        assert!(
            matches!(error, Error::FutureRevision { requested, current, retry_after_seconds: 1 }
                if (requested, current) == (future_revision, now)),
            "{error:?}"
        );
        assert_eq!(start.elapsed().as_secs(), seconds);
    };
    let newer = Freshness::NotOlderThan(future_revision);
    check(reader.list(&all(newer)).await.unwrap_err(), 3);
    check(reader.list(&all(Freshness::Exact(future_revision))).await.unwrap_err(), 6);
    check(reader.get(&format!("{PREFIX}a"), newer).await.unwrap_err(), 9);
    check(reader.watch(watching(WatchStart::State(newer))).await.err().unwrap(), 12);
}

#[tokio::test(start_paused = true)]
async fn late_consistent_watch_is_rejected() {
    let store = deaf();
    let driven = Driven::ready(store.clone()).await;
    let written = set(&*store, "a", Some("1")).await;
    let error = driven.reader().watch(watching(WatchStart::State(LATEST))).await.err().unwrap();
    assert!(
        matches!(error, Error::FutureRevision { requested, retry_after_seconds: 1, .. } if requested == written),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn consistent_watch_starts_with_acknowledged_writes() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    for n in 0..20 {
        let written = set(&*store, "a", Some(&format!("yes {n}"))).await;
        let mut events = driven.reader().watch(watching(WatchStart::State(LATEST))).await.unwrap();
        let first = events.next().await.unwrap().unwrap();
        assert_eq!((first.kind, first.revision), (EventType::Added, written));
    }
}

#[tokio::test(start_paused = true)]
async fn uncached_resources_come_from_storage() {
    let store = Recorded::with(&[("a", "1")]).await;
    let configs = vec![crate::ResourceConfig { cached: false, ..config(PREFIX) }, config("/r/s/")];
    let (delegator, driver) = Delegator::new(store.clone(), ROOT, configs, Options::default());
    let driver = tokio::spawn(driver.run());
    delegator.ready().await;
    let reader = Reader::new(&delegator, PREFIX);
    let before = store.reads().len();
    assert_eq!(names(&reader.list(&all(ANY)).await.unwrap()), ["a"]);
    assert_eq!(store.reads().len(), before + 1);
    driver.abort();
}

#[tokio::test(start_paused = true)]
async fn unreadable_value_fails_only_its_reads() {
    let store = Recorded::with(&[("a", "yes"), ("b", "unserved"), ("c/1", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let corrupt =
        |error: Error| assert!(matches!(&error, Error::Corrupt { key, .. } if key == "/r/p/b"), "{error:?}");
    corrupt(reader.list(&all(ANY)).await.unwrap_err());
    corrupt(reader.get("/r/p/b", LATEST).await.unwrap_err());
    assert!(reader.get("/r/p/a", LATEST).await.unwrap().element.is_some());
    let scope = Scope { prefix: "/r/p/c/".to_owned(), exact: false };
    assert_eq!(names(&reader.list(&ListQuery { scope, ..all(LATEST) }).await.unwrap()), ["c/1"]);
    set(&store.memory, "b", Some("yes")).await;
    assert_eq!(names(&reader.list(&all(LATEST)).await.unwrap()).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn malformed_value_is_left_out() {
    let store = Recorded::with(&[("a", "yes"), ("b", "broken"), ("c/1", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let page = reader.list(&all(ANY)).await.unwrap();
    assert_eq!((names(&page), page.left_out), (vec!["a".to_owned(), "c/1".to_owned()], 1));
    let corrupt = reader.get("/r/p/b", LATEST).await.unwrap_err();
    assert!(matches!(&corrupt, Error::Corrupt { key, .. } if key == "/r/p/b"), "{corrupt:?}");
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn malformed_value_is_recorded() {
    let store = Recorded::with(&[("a", "yes"), ("b", "broken")]).await;
    let options = Options::default();
    let weakened = options.weakened.clone();
    let driven = Driven::new(store, options);
    driven.delegator.ready().await;
    let names: Vec<String> = weakened.recent().into_iter().map(|decision| decision.name).collect();
    assert_eq!(names, ["/r/p/b"]);
}

#[tokio::test(start_paused = true)]
async fn sealed_values_are_read_from_storage() {
    let store = Recorded::with(&[("a", "yes"), ("b", "sealed")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let sealed = |error| {
        assert!(
            matches!(&error, Error::Corrupt { key, damage: Damage::Undecryptable, .. } if key == "/r/p/b"),
            "{error:?}"
        );
    };
    sealed(reader.list(&all(ANY)).await.unwrap_err());
    sealed(reader.get("/r/p/b", LATEST).await.unwrap_err());
    assert!(reader.get("/r/p/a", LATEST).await.unwrap().element.is_some());
    store.locked.store(false, Relaxed);
    assert_eq!(names(&reader.list(&all(LATEST)).await.unwrap()), ["a", "b"]);
    assert!(reader.get("/r/p/b", LATEST).await.unwrap().element.is_some());
}

#[tokio::test(start_paused = true)]
async fn sealed_values_are_cached_once_decryptable() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    store.set("b", Some("sealed")).await;
    let sealed = store.set("c", Some("sealed")).await;
    assert!(reader.watch(watching(WatchStart::State(Freshness::NotOlderThan(sealed)))).await.is_err());
    // While the value cannot be decrypted, the cache stays in service unchanged.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(driven.fills(), 1);
    assert!(reader.get("/r/p/a", ANY).await.unwrap().element.is_some());
    store.locked.store(false, Relaxed);
    let last = store.set("d", Some("yes")).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(driven.fills(), 2);
    let reads = store.reads().len();
    let page = reader.list(&all(Freshness::NotOlderThan(last))).await.unwrap();
    assert_eq!(names(&page), ["a", "b", "c", "d"]);
    assert_eq!(store.reads().len(), reads, "the cache has answered");
    reader.watch(watching(WatchStart::State(LATEST))).await.unwrap();
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(driven.fills(), 2);
}

#[tokio::test(start_paused = true)]
async fn refill_misses_no_changes() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    for round in 0..20 {
        store.locked.store(true, Relaxed);
        store.set("b", Some("sealed")).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        store.locked.store(false, Relaxed);
        for n in 0..40 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let written = store.set("a", Some(&format!("{round} {n}"))).await;
            let response = reader.get("/r/p/a", Freshness::NotOlderThan(written)).await.unwrap();
            assert_eq!(response.element.unwrap().revision(), written);
        }
        assert_eq!(names(&reader.list(&all(LATEST)).await.unwrap()), ["a", "b"]);
    }
    assert!(driven.fills() > 1);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn doubtful_values_are_read_from_storage() {
    let store = Recorded::with(&[("a", "yes"), ("b", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    store.doubtful.store(store.current_revision().await.unwrap(), Relaxed);
    let b = store.set("b", Some("new")).await;
    let resource = &reader.resource;
    let gets = || store.gets.load(Relaxed);
    for (key, freshness, expected_gets) in [
        ("/r/p/a", LATEST, 1),
        ("/r/p/a", ANY, 0),
        ("/r/p/b", Freshness::NotOlderThan(b), 0),
        ("/r/p/b", LATEST, 0),
    ] {
        let before = gets();
        assert!(reader.get(key, freshness).await.unwrap().element.is_some());
        assert_eq!(gets() - before, expected_gets, "{key} {freshness:?}");
    }
    assert!(driven.delegator.peek(resource, "/r/p/a").is_none());
    assert!(driven.delegator.peek(resource, "/r/p/b").is_some());
}

#[tokio::test(start_paused = true)]
async fn decoder_panic_does_not_stop_the_driver() {
    let store = Recorded::with(&[("a", "mad")]).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    for _ in 0..2 {
        assert_eq!(reader.list(&all(LATEST)).await.unwrap().left_out, 1);
        assert!(matches!(reader.get("/r/p/a", LATEST).await, Err(Error::Corrupt { .. })));
        set(&store.memory, "a", Some("yes")).await;
        assert_eq!(names(&reader.list(&all(LATEST)).await.unwrap()), ["a"]);
        set(&store.memory, "a", Some("mad")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn unused_encoded_forms_are_dropped() {
    let store = Recorded::with(&[("a", "1")]).await;
    let driven = Driven::ready(store).await;
    let budget = driven.delegator.budget();
    let page = driven.reader().list(&all(ANY)).await.unwrap();
    let element = page.items.iter().next().unwrap();
    element.memo().shared(1, budget, || Ok::<_, ()>(Bytes::from_static(b"form"))).unwrap();
    assert_eq!(budget.used(), 4);
    tokio::time::sleep(Duration::from_secs(46)).await;
    assert_eq!(budget.used(), 0);
}
