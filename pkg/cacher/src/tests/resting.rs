//! Caches that are filled on the first list or watch.

use futures::StreamExt;
use futures::future::join3;

use super::*;

const LATE: &str = "/r/example.com/late/";
const LATEST: Freshness = Freshness::Consistent;

/// Resting caches of a store with scripted faults and the objects `a` and `b`.
async fn resting(store: &Arc<FaultyStorage<Memory>>, options: Options) -> Driven {
    for name in ["a", "b"] {
        set(&**store, name, Some("yes")).await;
    }
    let driven = Driven::new(store.clone(), Options { fill_on_demand: true, ..options });
    driven.delegator.ready().await;
    settle().await;
    driven
}

/// Lets the driver do its pending work.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn first_list_fills_only_its_cache() {
    let store = faulty([]);
    let driven = resting(&store, Options::default()).await;
    set(&*store, "c", Some("yes")).await;
    settle().await;
    assert_eq!((store.calls(Operation::List), driven.fills()), (0, 0));
    for _ in 0..2 {
        assert_eq!(names(&driven.reader().list(&all(LATEST)).await.unwrap()), ["a", "b", "c"]);
        assert_eq!((store.calls(Operation::List), driven.fills()), (1, 1));
    }
    set(&*store, "d", Some("yes")).await;
    assert_eq!(names(&driven.reader().list(&all(LATEST)).await.unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(store.calls(Operation::List), 1, "it is kept current");
}

#[tokio::test(start_paused = true)]
async fn concurrent_first_lists_share_one_fill() {
    let store = faulty([(Operation::List, 0, Fault::Delay(Duration::from_secs(1)))]);
    let driven = resting(&store, Options::default()).await;
    let reader = driven.reader();
    let query = all(Freshness::NotOlderThan(0));
    let watch = reader.watch(watching(WatchStart::State(LATEST)));
    let (first, second, watch) = join3(reader.list(&query), reader.list(&query), watch).await;
    assert_eq!(
        (names(&first.unwrap()), names(&second.unwrap()).len()),
        (vec!["a".to_owned(), "b".to_owned()], 2)
    );
    assert!(watch.unwrap().next().await.unwrap().is_ok());
    assert_eq!(store.calls(Operation::List), 1);
}

#[tokio::test(start_paused = true)]
async fn gets_do_not_fill_the_cache() {
    let store = faulty([]);
    let driven = resting(&store, Options::default()).await;
    let key = format!("{PREFIX}a");
    let before = store.calls(Operation::Get);
    for freshness in [LATEST, Freshness::NotOlderThan(0)] {
        let response = driven.reader().get(&key, freshness).await.unwrap();
        assert!(response.element.is_some());
        settle().await;
    }
    assert_eq!((store.calls(Operation::Get) - before, store.calls(Operation::List)), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn changes_before_first_use_are_not_held_back() {
    let store = faulty([]);
    let driven = resting(&store, Options { buffered_changes_max: 1, ..Options::default() }).await;
    for number in 0..9 {
        set(&*store, "a", Some(&format!("yes {number}"))).await;
    }
    settle().await;
    assert_eq!(driven.reader().list(&all(LATEST)).await.unwrap().items.iter().count(), 2);
    assert_eq!((store.calls(Operation::List), driven.fills()), (1, 1));
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn installed_resource_rests_until_awaited() {
    let store = faulty([]);
    let driven = resting(&store, Options::default()).await;
    put(&*store, &format!("{LATE}x"), Some("yes")).await;
    let resource = driven.delegator.install(config(LATE));
    settle().await;
    let rests = |driven: &Driven| driven.delegator.resource_stats().iter().filter(|row| row.dormant).count();
    assert_eq!((store.calls(Operation::List), resource.cached_objects(), rests(&driven)), (0, None, 4));
    assert!(resource.ready().await);
    assert_eq!((store.calls(Operation::List), resource.cached_objects(), rests(&driven)), (1, Some(1), 3));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_retired_resource_ends() {
    let store = faulty([(Operation::List, 0, Fault::Delay(Duration::from_secs(1)))]);
    let driven = resting(&store, Options::default()).await;
    let resource = driven.reader().resource;
    let (ready, ()) = tokio::join!(resource.ready(), async {
        driven.delegator.retire(PREFIX);
    });
    assert!(!ready);
}

#[tokio::test(start_paused = true)]
async fn pages_decoded_in_parts_stay_in_order() {
    let store = faulty([]);
    let long = format!("yes {}", "x".repeat(300 << 10));
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        set(&*store, name, Some(&long)).await;
    }
    let driven = Driven::ready(store.clone()).await;
    let page = driven.reader().list(&all(LATEST)).await.unwrap();
    assert_eq!(names(&page), ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(driven.delegator.differences().await.unwrap(), []);
}
