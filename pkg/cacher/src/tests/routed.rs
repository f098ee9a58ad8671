//! Caches of several stores.

use storage::RoutedStorage;

use super::*;
use crate::EventType;

/// Prefix of the resource in the other store.
const OTHER: &str = "/r/s/";

/// Caches of [`PREFIX`] in `main` and of [`OTHER`] in `other`.
async fn ready(main: Arc<dyn Storage>, other: Arc<dyn Storage>) -> Driven {
    let store = RoutedStorage::new(main).with_route(OTHER.to_owned(), other);
    let configs = vec![config(PREFIX), config(OTHER)];
    let (delegator, driver) = Delegator::over(store, ROOT, configs, Options::default());
    let driven = Driven { delegator, driver: tokio::spawn(driver.run()) };
    driven.delegator.ready().await;
    driven
}

fn other_scope() -> Scope {
    Scope { prefix: OTHER.to_owned(), exact: false }
}

/// A list of everything in the other store.
fn of_other(freshness: Freshness) -> ListQuery {
    ListQuery { scope: other_scope(), ..all(freshness) }
}

/// Writes `count` keys of [`PREFIX`]. Returns the last revision.
async fn fill(store: &dyn Storage, count: usize) -> Revision {
    let mut last = 0;
    for n in 0..count {
        last = set(store, &format!("k{n}"), Some("v")).await;
    }
    last
}

#[tokio::test(start_paused = true)]
async fn lists_have_the_revisions_of_their_store() {
    let main = Recorded::with(&[]).await;
    let other = Recorded::with(&[]).await;
    let newest = fill(&*main, 20).await;
    let written = put(&*other, "/r/s/a", Some("v")).await;
    let driven = ready(main.clone(), other.clone()).await;
    let lists_before = (main.reads().len(), other.reads().len());
    let page = driven.reader().list(&all(Freshness::Consistent)).await.unwrap();
    assert_eq!((page.items.len_max(), page.revision), (20, newest));
    let reader = Reader::new(&driven.delegator, OTHER);
    let page = reader.list(&of_other(Freshness::Consistent)).await.unwrap();
    assert_eq!((page.items.len_max(), page.revision), (1, written));
    assert_eq!((main.reads().len(), other.reads().len()), lists_before, "the caches served both");
}

#[tokio::test(start_paused = true)]
async fn consistent_read_sees_writes_to_other_store() {
    let main = Recorded::with(&[]).await;
    let other = Recorded::with(&[]).await;
    let driven = ready(main, other.clone()).await;
    let written = driven.delegator.storage().put("/r/s/a", "v".into(), 0, None).await.unwrap();
    let PutResult::Done(revision) = written else { panic!("the key is new") };
    let reader = Reader::new(&driven.delegator, OTHER);
    let found = reader.get("/r/s/a", Freshness::Consistent).await.unwrap();
    assert_eq!(found.element.map(|element| element.revision()), Some(revision));
    assert_eq!(other.get("/r/s/a").await.unwrap().revision, revision, "the route holds for writes");
}

#[tokio::test(start_paused = true)]
async fn watch_delivers_the_changes_of_its_store() {
    let main = Recorded::with(&[]).await;
    let other = Recorded::with(&[]).await;
    let driven = ready(main.clone(), other.clone()).await;
    let reader = Reader::new(&driven.delegator, OTHER);
    let query = WatchQuery { scope: other_scope(), ..watching(WatchStart::After(0)) };
    let mut events = reader.watch(query).await.unwrap();
    // A leftover in the main store under the other store's prefix.
    put(&*main, "/r/s/old", Some("v")).await;
    let written = put(&*other, "/r/s/a", Some("v")).await;
    let event = events.next().await.unwrap().unwrap();
    assert_eq!((event.kind, event.revision), (EventType::Added, written));
}

#[tokio::test(start_paused = true)]
async fn gap_in_one_store_leaves_other_caches() {
    let main = Recorded::with(&[]).await;
    fill(&*main, 1).await;
    let other = faulty([(Operation::Watch, 0, Fault::BreakWatch { after: 2 })]);
    put(&*other, "/r/s/a", Some("0")).await;
    let driven = ready(main, other.clone()).await;
    put(&*other, "/r/s/a", Some("1")).await;
    put(&*other, "/r/s/a", Some("2")).await;
    let newest = put(&*other, "/r/s/b", Some("1")).await;
    other.compact(newest).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    driven.delegator.ready().await;
    let reader = Reader::new(&driven.delegator, OTHER);
    assert_eq!(reader.resource.metrics.initializations.get(), 2);
    assert_eq!(driven.fills(), 1);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn lost_store_fails_only_its_own_consistent_reads() {
    let main = Recorded::with(&[]).await;
    fill(&*main, 3).await;
    let other = faulty([]);
    put(&*other, "/r/s/a", Some("0")).await;
    let driven = ready(main, other.clone()).await;
    let down = [Operation::CurrentRevision, Operation::List];
    let faults = down.into_iter().flat_map(|call| (0..100).map(move |nth| (call, nth, Fault::FailBefore)));
    other.set_plan(Plan::script(faults));
    let reader = Reader::new(&driven.delegator, OTHER);
    let lost = reader.list(&of_other(Freshness::Consistent)).await;
    assert!(matches!(lost, Err(crate::Error::Storage(Error::Unavailable(_)))), "{lost:?}");
    let cached = reader.list(&of_other(Freshness::NotOlderThan(0))).await.unwrap();
    assert_eq!(cached.items.len_max(), 1);
    let page = driven.reader().list(&all(Freshness::Consistent)).await.unwrap();
    assert_eq!(page.items.len_max(), 3);
}

#[tokio::test(start_paused = true)]
async fn resource_installed_later_is_cached_from_its_store() {
    let main = Recorded::with(&[]).await;
    let other = Recorded::with(&[]).await;
    fill(&*main, 5).await;
    let written = put(&*other, "/r/s/a", Some("v")).await;
    let store = RoutedStorage::new(main).with_route(OTHER.to_owned(), other);
    let (delegator, driver) = Delegator::over(store, ROOT, vec![config(PREFIX)], Options::default());
    let driven = Driven { delegator, driver: tokio::spawn(driver.run()) };
    driven.delegator.ready().await;
    let resource = driven.delegator.install(config(OTHER));
    assert!(resource.ready().await);
    let page = driven.delegator.list(&resource, of_other(Freshness::Consistent)).await.unwrap();
    assert_eq!((page.items.len_max(), page.revision), (1, written));
}
