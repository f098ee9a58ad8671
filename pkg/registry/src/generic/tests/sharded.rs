//! Tests of requests for a shard of a collection.

use api::options::ListOptions;
use apimachinery::sharding::hash;
use component_base::features::Gate;
use futures::StreamExt;
use tokio::time::Instant;

use super::*;
use crate::generic::{ListPage, WatchEvent};

/// Upper bound of the hashes of half of the test objects.
fn cut() -> u64 {
    let mut hashes: Vec<_> = (1..=20).map(|number| hash(&format!("uid-{number}"))).collect();
    hashes.sort_unstable();
    hashes[10]
}

fn half(key: &str, half: usize) -> ListOptions {
    let ends = [0, u128::from(cut()), 1 << 64];
    let start = ends[half];
    let end = ends[half + 1];
    let shard_selector = format!("shardRange(object.metadata.{key}, '0x{start:016x}', '0x{end:016x}')");
    ListOptions { shard_selector, ..ListOptions::default() }
}

/// Index of the half that contains a value.
fn half_of(value: &str) -> usize {
    usize::from(hash(value) >= cut())
}

fn uids(page: &ListPage) -> Vec<String> {
    let uid = |element: Arc<cacher::Element>| uid_of(&element);
    page.items.iter().map(uid).collect()
}

fn uid_of(element: &cacher::Element) -> String {
    decode("configmaps", StoredRef::element(element))["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Twenty config maps with uids that end in 1 to 20.
async fn twenty(open: bool) -> World {
    let world = World::gated(Gates::default().with(Gate::ShardedListAndWatch, open));
    for number in 0..20 {
        world.create_object("configmaps", &format!("c{number:02}"), json!({})).await;
    }
    world
}

fn expected(half: usize) -> Vec<String> {
    (1..=20).map(|number| format!("uid-{number}")).filter(|uid| half_of(uid) == half).collect()
}

#[tokio::test]
async fn shard_list_has_its_objects_and_selector() {
    let world = twenty(true).await;
    for half in [0, 1] {
        let options = self::half("uid", half);
        let page = world.registry.list(&target("configmaps", ""), &options).await.unwrap();
        assert_eq!(uids(&page), expected(half));
        assert_eq!(page.shard_selector, options.shard_selector);
    }
    let page = world.registry.list(&target("configmaps", ""), &ListOptions::default()).await.unwrap();
    assert_eq!((page.items.iter().count(), page.shard_selector.as_str()), (20, ""));
}

#[tokio::test]
async fn shards_by_namespace_keep_a_namespace_together() {
    let world = twenty(true).await;
    for half in [0, 1] {
        let options = self::half("namespace", half);
        let count = world.registry.list(&target("configmaps", ""), &options).await.unwrap();
        assert_eq!(count.items.iter().count(), if half == half_of(NAMESPACE) { 20 } else { 0 });
        // The namespace of a cluster-scoped object is empty.
        world.create_object("nodes", &format!("n{half}"), json!({})).await;
        let nodes = world.registry.list(&target("nodes", ""), &options).await.unwrap();
        assert_eq!(nodes.items.iter().count(), if half == half_of("") { half + 1 } else { 0 });
    }
}

#[tokio::test]
async fn shard_pages_are_full() {
    let world = twenty(true).await;
    let mut options = ListOptions { limit: 3, ..half("uid", 1) };
    let mut listed = Vec::new();
    let mut remaining = Vec::new();
    loop {
        let page = world.registry.list(&target("configmaps", ""), &options).await.unwrap();
        listed.extend(uids(&page));
        remaining.push(page.remaining);
        if page.continue_token.is_empty() {
            break;
        }
        assert_eq!(page.items.iter().count(), 3);
        options.continue_token = page.continue_token;
    }
    assert_eq!(listed, expected(1));
    assert!(remaining.len() > 1 && remaining.first().unwrap().is_some(), "{remaining:?}");
    assert_eq!(remaining.last(), Some(&None));
}

#[tokio::test]
async fn a_watch_of_a_shard_shows_its_objects() {
    let world = twenty(true).await;
    let later = Instant::now() + Duration::from_secs(3600);
    let events = world.registry.watch(&target("configmaps", ""), &half("uid", 0), later).await.unwrap();
    for number in 20..40 {
        world.create_object("configmaps", &format!("c{number:02}"), json!({})).await;
    }
    let expected: Vec<_> =
        (1..=40).map(|number| format!("uid-{number}")).filter(|uid| half_of(uid) == 0).collect();
    let events: Vec<_> = events.take(expected.len()).collect().await;
    let actual = events.iter().map(|event| match event {
        WatchEvent::Event(event) => uid_of(event.element.as_ref().unwrap()),
        WatchEvent::Error(status) => panic!("{}", status.message),
    });
    assert_eq!(actual.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_collection_is_deleted_by_shard() {
    let world = twenty(true).await;
    let options = DeleteOptions::default();
    let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
    let collection = target("configmaps", "");
    let page = world.registry.delete_collection(&collection, &half("uid", 0), &request).await.unwrap();
    assert_eq!((uids(&page), page.shard_selector), (expected(0), half("uid", 0).shard_selector));
    let remaining = world.registry.list(&collection, &ListOptions::default()).await.unwrap();
    assert_eq!(uids(&remaining), expected(1));
}

#[tokio::test]
async fn invalid_shard_selector_is_500() {
    let world = twenty(true).await;
    let options = ListOptions { shard_selector: "x".to_owned(), ..ListOptions::default() };
    let text =
        "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator";
    let listed = world.registry.list(&target("configmaps", ""), &options).await;
    assert_eq!(failure(listed), expected_failure(500, Reason::Unknown, text));
    let watched = world.registry.watch(&target("configmaps", ""), &options, Instant::now()).await;
    assert_eq!(failure(watched), expected_failure(500, Reason::Unknown, text));
}

#[tokio::test]
async fn selector_is_ignored_without_gate() {
    let world = twenty(false).await;
    for options in [half("uid", 0), ListOptions { shard_selector: "x".to_owned(), ..ListOptions::default() }]
    {
        let page = world.registry.list(&target("configmaps", ""), &options).await.unwrap();
        assert_eq!((page.items.iter().count(), page.shard_selector.as_str()), (20, ""));
    }
}
