//! Installing and retiring resources while the caches run.

use std::sync::Weak;

use futures::StreamExt;
use tokio::time::timeout;

use super::*;
use crate::EventType;

/// Prefix of the resource that is installed later.
const LATE: &str = "/r/example.com/late/";
/// Duration of a slow list.
const SLOW: Duration = Duration::from_secs(1);
/// Number of lists before that of [`LATE`].
const FOUNDING_LISTS: u64 = 3;
const LATEST: Freshness = Freshness::Consistent;

fn late_scope() -> Scope {
    Scope { prefix: LATE.to_owned(), exact: false }
}

/// A list of everything below [`LATE`].
fn late(freshness: Freshness) -> ListQuery {
    ListQuery { scope: late_scope(), ..all(freshness) }
}

/// A watch of everything below [`LATE`].
fn late_watch(start: WatchStart) -> WatchQuery {
    WatchQuery { scope: late_scope(), ..watching(start) }
}

/// The keys on a page, without the prefix.
fn late_names(page: &Page) -> Vec<String> {
    page.items.iter().map(|element| element.key().strip_prefix(LATE).unwrap().to_owned()).collect()
}

/// A store with one object of [`LATE`], whose first list is slow.
async fn slow_late_list() -> Arc<FaultyStorage<Memory>> {
    let store = faulty([(Operation::List, FOUNDING_LISTS, Fault::Delay(SLOW))]);
    put(&*store, &format!("{LATE}a"), Some("yes")).await;
    store
}

impl Driven {
    /// Installs [`LATE`] and waits until it is ready.
    async fn late(&self) -> Reader {
        let resource = self.delegator.install(config(LATE));
        assert!(resource.ready().await);
        Reader::new(&self.delegator, LATE)
    }
}

/// Lets the driver do its pending work.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn installing_affects_no_other_resource() {
    let store = faulty([]);
    put(&*store, &format!("{LATE}a"), Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    let mut other_watch = driven.reader().watch(watching(WatchStart::After(0))).await.unwrap();
    let reader = driven.late().await;
    assert_eq!((store.calls(Operation::List), driven.fills()), (FOUNDING_LISTS + 1, 1));
    let written = put(&*store, &format!("{LATE}b"), Some("yes")).await;
    let page = reader.list(&late(LATEST)).await.unwrap();
    assert_eq!((late_names(&page), page.revision), (vec!["a".to_owned(), "b".to_owned()], written));
    assert_eq!(store.calls(Operation::List), FOUNDING_LISTS + 1, "its cache answers");
    let written = set(&*store, "x", Some("yes")).await;
    assert_eq!(other_watch.next().await.unwrap().unwrap().revision, written);
    assert_eq!(store.calls(Operation::Watch), 1);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn changes_during_install_are_not_lost() {
    let store = slow_late_list().await;
    let driven = Driven::ready(store.clone()).await;
    let resource = driven.delegator.install(config(LATE));
    tokio::time::sleep(SLOW / 2).await;
    for name in ["a", "b", "c"] {
        put(&*store, &format!("{LATE}{name}"), Some("no")).await;
    }
    put(&*store, &format!("{LATE}b"), None).await;
    let written = set(&*store, "x", Some("yes")).await;
    let page = timeout(Duration::from_millis(50), driven.reader().list(&all(LATEST))).await.unwrap().unwrap();
    assert_eq!((names(&page), page.revision), (vec!["x".to_owned()], written));
    assert_eq!(resource.cached_objects(), None);
    assert!(resource.ready().await);
    assert_eq!((driven.delegator.differences().await.unwrap(), resource.cached_objects()), (vec![], Some(2)));
}

#[tokio::test(start_paused = true)]
async fn ready_ignores_later_resources() {
    let driven = Driven::ready(slow_late_list().await).await;
    let resource = driven.delegator.install(config(LATE));
    timeout(Duration::from_millis(1), driven.delegator.ready()).await.unwrap();
    // Until the cache is filled, reads are served like those of any unfilled cache.
    let reader = Reader::new(&driven.delegator, LATE);
    let key = format!("{LATE}a");
    assert!(reader.get(&key, LATEST).await.unwrap().element.is_some());
    let refused = reader.list(&late(LATEST)).await;
    assert!(matches!(refused, Err(crate::Error::NotReady { retry_after_seconds: 1, reason: None })));
    let refused = reader.watch(late_watch(WatchStart::After(0))).await;
    assert!(matches!(refused, Err(crate::Error::NotReady { .. })));
    assert!(resource.ready().await);
    assert!(reader.list(&late(LATEST)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn ready_ignores_retired_resources() {
    let store = faulty([(Operation::List, 0, Fault::Delay(60 * SLOW))]);
    let driven = Driven::new(store, Options { concurrent_lists_max: 1, ..Options::default() });
    settle().await;
    // The first in order of prefixes: the other lists wait for its end.
    assert!(driven.delegator.retire("/r/group/q/").is_some());
    timeout(SLOW, driven.delegator.ready()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retiring_ends_watches_without_error() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let cached = driven.late().await;
    let other_watch = driven.reader().watch(watching(WatchStart::After(0))).await;
    let (uncached, _driver) =
        Delegator::new(store, ROOT, vec![], Options { enabled: false, ..Options::default() });
    uncached.install(config(LATE));
    for reader in [cached, Reader::new(&uncached, LATE)] {
        let start = WatchStart::State(LATEST);
        let mut waiting = reader.watch(late_watch(start)).await.unwrap();
        let mut asleep = reader.watch(late_watch(start)).await.unwrap();
        let waiting = tokio::spawn(async move { waiting.next().await.is_none() });
        settle().await;
        reader.delegator.retire(LATE);
        assert!(waiting.await.unwrap(), "it is woken");
        assert!(asleep.next().await.is_none());
    }
    assert!(timeout(SLOW, other_watch.unwrap().next()).await.is_err(), "others go on");
}

#[tokio::test(start_paused = true)]
async fn retired_resource_releases_its_objects() {
    let store = Arc::new(Memory::new());
    put(&*store, &format!("{LATE}a"), Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    let delegator = &driven.delegator;
    let reader = driven.late().await;
    let mut watch = reader.watch(late_watch(WatchStart::State(LATEST))).await.unwrap();
    let budgets = || (delegator.budget().used(), delegator.inner.frames.used());
    let encode = || Ok::<_, ()>(Bytes::from_static(b"form"));
    for kind in [EventType::Added, EventType::Modified] {
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!(event.kind, kind);
        event.element.as_ref().unwrap().memo().shared(1, delegator.budget(), encode).unwrap();
        event.frame(1, encode).unwrap();
        put(&*store, &format!("{LATE}a"), Some("yes")).await;
    }
    drop(watch);
    assert_eq!(budgets(), (4, 4));
    let resource = Arc::downgrade(&reader.resource);
    let cache = Arc::downgrade(reader.resource.cache.as_ref().unwrap());
    drop((reader, delegator.retire(LATE)));
    assert_eq!(budgets(), (0, 0));
    settle().await;
    assert_eq!((resource.strong_count(), cache.strong_count()), (0, 0));
    let page = super::metrics::metrics_page(delegator);
    assert!(page.contains("resource=\"p\"") && !page.contains("late"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn resource_retired_during_list_is_not_filled() {
    let store = slow_late_list().await;
    let driven = Driven::ready(store.clone()).await;
    let resource = driven.delegator.install(config(LATE));
    let ready = tokio::spawn({
        let resource = Arc::clone(&resource);
        async move { resource.ready().await }
    });
    tokio::time::sleep(SLOW / 2).await;
    driven.delegator.retire(LATE);
    assert!(!ready.await.unwrap());
    tokio::time::sleep(2 * SLOW).await;
    assert_eq!(resource.cached_objects(), None);
    assert_eq!(resource.metrics.initializations.get(), 0);
    assert_eq!(Arc::strong_count(&resource), 1, "the list that was under way is gone");
    // A reader that still holds the resource is served by the store or gets an error.
    let response = driven.delegator.get(&resource, &format!("{LATE}a"), LATEST).await.unwrap();
    assert!(response.element.is_some());
    let refused = driven.delegator.list(&resource, late(LATEST)).await;
    assert!(matches!(refused, Err(crate::Error::NotReady { .. })));
}

#[tokio::test(start_paused = true)]
async fn reinstalled_prefix_starts_fresh() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let first = driven.late().await;
    let key = format!("{LATE}a");
    let first_revision = put(&*store, &key, Some("1")).await;
    assert_eq!(late_names(&first.list(&late(LATEST)).await.unwrap()), ["a"]);
    driven.delegator.retire(LATE);
    put(&*store, &key, None).await;
    put(&*store, &format!("{LATE}b"), Some("1")).await;
    settle().await;
    let second = driven.late().await;
    assert_eq!(late_names(&second.list(&late(LATEST)).await.unwrap()), ["b"]);
    assert_eq!(second.resource.metrics.events.get(), 0);
    let resumed = second.watch(late_watch(WatchStart::After(first_revision))).await;
    assert!(matches!(resumed, Err(crate::Error::TooOld { requested, .. }) if requested == first_revision));
    // Installing over an existing resource retires it first.
    let mut watch = second.watch(late_watch(WatchStart::After(0))).await.unwrap();
    let third = driven.late().await;
    assert!(watch.next().await.is_none());
    assert!(!Arc::ptr_eq(&second.resource, &third.resource));
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn install_and_retire_while_feed_is_down() {
    let down = (1..6).map(|nth| (Operation::Watch, nth, Fault::FailBefore));
    let broken = (Operation::Watch, 0, Fault::BreakWatch { after: 2 });
    let store = faulty(std::iter::once(broken).chain(down));
    let driven = Driven::ready(store.clone()).await;
    let retired = driven.late().await;
    let mut watch = retired.watch(late_watch(WatchStart::After(0))).await.unwrap();
    set(&*store, "a", Some("1")).await;
    let now = set(&*store, "a", Some("2")).await;
    store.compact(now).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(driven.reader().resource.cached_objects(), None, "there was a gap");
    driven.delegator.retire(LATE);
    assert!(watch.next().await.is_none());
    let installed = driven.delegator.install(config("/r/example.com/other/"));
    put(&*store, "/r/example.com/other/x", Some("1")).await;
    assert!(installed.ready().await);
    driven.delegator.ready().await;
    assert_eq!(installed.cached_objects(), Some(1));
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
    drop(watch);
    settle().await;
    assert_eq!((retired.resource.cached_objects(), Arc::strong_count(&retired.resource)), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn retired_resources_leak_nothing() {
    let store = Arc::new(Memory::new());
    let driven = Driven::ready(store.clone()).await;
    let delegator = &driven.delegator;
    let ingest: Arc<dyn Ingest> = Arc::new(Words);
    let founding = delegator.resources().len();
    let counts = || (Arc::strong_count(&ingest), Arc::strong_count(&delegator.inner.frames));
    let before = counts();
    let mut references: Vec<Weak<Resource>> = Vec::new();
    for wave in 0..10 {
        let prefixes: Vec<String> = (0..100).map(|n| format!("/r/example.com/r{n}/")).collect();
        for prefix in &prefixes {
            let config = ResourceConfig { ingest: Arc::clone(&ingest), ..config(prefix) };
            references.push(Arc::downgrade(&delegator.install(config)));
            put(&*store, &format!("{prefix}a"), Some("yes")).await;
        }
        assert_eq!(delegator.resources().len(), founding + 100);
        // Some are retired before their list, some during it, some in use.
        if wave % 3 > 0 {
            settle().await;
        }
        if wave % 3 > 1 {
            let last = delegator.resource(&prefixes[99]).unwrap();
            assert!(last.ready().await);
            delegator.list(&last, ListQuery { scope: last.full_scope(), ..all(LATEST) }).await.unwrap();
        }
        for prefix in &prefixes {
            assert!(delegator.retire(prefix).is_some());
            put(&*store, &format!("{prefix}a"), None).await;
        }
    }
    settle().await;
    assert_eq!(
        (references.len(), references.iter().filter(|resource| resource.strong_count() > 0).count()),
        (1000, 0)
    );
    assert_eq!((counts(), delegator.resources().len()), (before, founding));
    assert_eq!(driven.fills(), 1);
    assert_eq!(delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn unmappable_prefixes_are_not_cached() {
    let driven = Driven::ready(Arc::new(Memory::new())).await;
    for prefix in ["/r/a/b/c/", "/elsewhere/p/"] {
        assert!(driven.delegator.install(config(prefix)).cache.is_none(), "{prefix}");
    }
}
