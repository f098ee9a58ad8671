//! Tests of GET, lists and watches, beyond those of the delegator.

use api::options::{ListOptions, MATCH_EXACT, MATCH_NOT_OLDER_THAN};
use apimachinery::{fields, labels};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::Instant;

use super::stale::Frozen;
use super::*;
use crate::generic::{EventType, ListPage, WatchEvent};

fn names(plural: &str, page: &ListPage) -> Vec<String> {
    page.items
        .iter()
        .map(|item| {
            decode(plural, StoredRef::element(&item))["metadata"]["name"].as_str().unwrap().to_owned()
        })
        .collect()
}

fn options(limit: i64, token: &str) -> ListOptions {
    ListOptions { limit, continue_token: token.to_owned(), ..ListOptions::default() }
}

async fn three() -> World {
    let world = World::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let more = json!({"metadata": {"labels": {"app": app}}, "spec": {"nodeName": format!("node-{app}")}});
        world.create_object("pods", name, more).await;
    }
    world
}

#[tokio::test]
async fn future_version_times_out() {
    let world = three().await;
    let result = world.registry.get(&target("pods", "a"), "1000").await;
    let (code, reason, message) = failure(result);
    assert_eq!((code, reason), (504, Reason::Timeout));
    assert!(message.starts_with("Timeout: Too large resource version: 1000, current: "), "{message}");
}

#[tokio::test]
async fn code_of_invalid_version_depends_on_watch_cache() {
    let world = World::new();
    let error = "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
    let check = async |plural: &str, code: u16, message: &str| {
        let refused = failure(world.registry.get(&target(plural, "a"), "x").await);
        assert_eq!((refused.0, refused.2.as_str()), (code, message), "{plural}");
    };
    check("pods", 500, error).await;
    check("events", 400, &format!("invalid resource version: {error}")).await;
}

#[tokio::test]
async fn selectors_pick_from_a_list() {
    let world = three().await;
    let check = async |label: &str, field: &str, expected: &[&str]| {
        let options = ListOptions {
            label_selector: labels::parse(label).unwrap(),
            field_selector: fields::parse(field).unwrap(),
            ..ListOptions::default()
        };
        let page = world.registry.list(&target("pods", ""), &options).await.unwrap();
        assert_eq!(names("pods", &page), expected, "{label} {field}");
    };
    check("app=x", "", &["a", "c"]).await;
    check("app!=x", "", &["b"]).await;
    check("none", "", &[]).await;
    check("", "metadata.name=b", &["b"]).await;
    check("", "metadata.name!=b", &["a", "c"]).await;
    check("", "metadata.name=nobody", &[]).await;
    check("app=x", "metadata.name=b", &[]).await;
    check("", "spec.nodeName=node-y", &["b"]).await;
    check("", "status.phase=Pending,spec.nodeName=node-x", &["a", "c"]).await;
}

#[tokio::test]
async fn chunked_list_is_consistent() {
    let world = three().await;
    let first = world.registry.list(&target("pods", ""), &options(2, "")).await.unwrap();
    assert_eq!((names("pods", &first), first.remaining), (vec!["a".to_owned(), "b".to_owned()], Some(1)));
    world.delete_and_get("pods", "c").await;
    world.create_object("pods", "d", json!({"spec": {}})).await;
    let token = &first.continue_token;
    let last = world.registry.list(&target("pods", ""), &options(2, token)).await.unwrap();
    assert_eq!(names("pods", &last), ["c"]);
    assert_eq!((last.revision, last.continue_token.as_str(), last.remaining), (first.revision, "", None));
}

#[tokio::test]
async fn expired_token_returns_fresh_token() {
    let world = three().await;
    let first = world.registry.list(&target("pods", ""), &options(1, "")).await.unwrap();
    world.create_object("pods", "d", json!({"spec": {}})).await;
    world.store.compact(world.revision().await).await.unwrap();
    let token = &first.continue_token;
    let status = world.registry.list(&target("pods", ""), &options(1, token)).await.err().unwrap();
    assert_eq!((status.code, &status.reason), (410, &Reason::Expired));
    let token = &status.metadata.continue_token;
    let rest = world.registry.list(&target("pods", ""), &options(0, token)).await.unwrap();
    assert_eq!(names("pods", &rest), ["b", "c", "d"]);
}

/// Names of the pods on a page of one at version 0, and the next token.
async fn at_zero(world: &World, token: &str) -> (Vec<String>, String) {
    let options = ListOptions { resource_version: "0".to_owned(), ..options(1, token) };
    let page = world.registry.list(&target("pods", ""), &options).await.unwrap();
    (names("pods", &page), page.continue_token)
}

#[tokio::test]
async fn a_cache_ignores_the_limit_at_version_zero() {
    let outside = three().await;
    let revision = outside.revision().await.to_string();
    let world = Frozen::after(outside).await.world;
    let (all, token) = at_zero(&world, "").await;
    assert_eq!((all.len(), token.as_str()), (3, ""));
    let newer = ListOptions {
        resource_version: revision,
        resource_version_match: MATCH_NOT_OLDER_THAN.to_owned(),
        ..options(1, "")
    };
    let first = world.registry.list(&target("pods", ""), &newer).await.unwrap();
    let (rest, token) = at_zero(&world, &first.continue_token).await;
    assert_eq!((rest, token.as_str()), (vec!["b".to_owned(), "c".to_owned()], ""));
}

#[tokio::test]
async fn storage_honours_the_limit_at_version_zero() {
    let world = three().await;
    let (first, token) = at_zero(&world, "").await;
    assert_eq!(first, ["a"]);
    let (second, token) = at_zero(&world, &token).await;
    assert_eq!(second, ["b"]);
    assert_eq!(at_zero(&world, &token).await, (vec!["c".to_owned()], String::new()));
}

#[tokio::test]
async fn an_exact_list_shows_the_past() {
    let world = three().await;
    let past_revision = world.revision().await;
    world.create_object("pods", "d", json!({"spec": {}})).await;
    let options = ListOptions {
        resource_version: past_revision.to_string(),
        resource_version_match: MATCH_EXACT.to_owned(),
        ..ListOptions::default()
    };
    let page = world.registry.list(&target("pods", ""), &options).await.unwrap();
    assert_eq!((page.items.iter().count(), page.revision), (3, past_revision));
}

#[tokio::test]
async fn bad_versions_and_tokens_are_bad_requests() {
    let world = three().await;
    let check = async |version: &str, token: &str, expected: &str| {
        let options = ListOptions { resource_version: version.to_owned(), ..options(1, token) };
        let (code, _, message) = failure(world.registry.list(&target("pods", ""), &options).await);
        assert_eq!(code, 400, "{version:?} {token:?}");
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    };
    let first = world.registry.list(&target("pods", ""), &options(1, "")).await.unwrap();
    check("x", "", "invalid resource version").await;
    check("", "%", "invalid continue token").await;
    for version in ["5", "x"] {
        let expected = "specifying resource version is not allowed when using continue";
        check(version, &first.continue_token, expected).await;
    }
}

#[tokio::test]
async fn malformed_value_is_left_out_of_its_lists() {
    let world = three().await;
    world.store.put("/registry/pods/other/bad", Bytes::from_static(b"k8s\0\xff"), 0, None).await.unwrap();
    let options = ListOptions { label_selector: labels::parse("app=x").unwrap(), ..ListOptions::default() };
    let page = world.registry.list(&target("pods", ""), &options).await.unwrap();
    assert_eq!(names("pods", &page), ["a", "c"], "it is in another namespace");
    let everywhere = Target { namespace: "", ..target("pods", "") };
    assert_eq!(page.left_out, 0);
    let page = world.registry.list(&everywhere, &options).await.unwrap();
    assert_eq!((names("pods", &page), page.left_out), (vec!["a".to_owned(), "c".to_owned()], 1));
    let (code, reason, message) = failure(page.complete());
    assert_eq!((code, reason), (500, Reason::InternalError));
    assert!(message.contains("1 stored objects cannot be decoded"), "{message}");
}

#[tokio::test]
async fn watch_reports_deletion_at_its_revision() {
    let world = three().await;
    let options =
        ListOptions { resource_version: world.revision().await.to_string(), ..ListOptions::default() };
    let later = Instant::now() + Duration::from_secs(3600);
    let mut events = world.registry.watch(&target("pods", ""), &options, later).await.unwrap();
    let at_once = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    world.delete("pods", "a", &at_once).await.unwrap();
    let now = world.revision().await;
    loop {
        match events.next().await.unwrap() {
            WatchEvent::Event(event) if event.kind == EventType::Deleted => {
                assert_eq!(event.revision, now);
                return;
            }
            WatchEvent::Event(_) => {}
            _ => panic!("no errors were to come"),
        }
    }
}

#[tokio::test]
async fn watch_from_compacted_revision_is_one_error() {
    let world = three().await;
    world.store.compact(world.revision().await).await.unwrap();
    let options = ListOptions { resource_version: "1".to_owned(), ..ListOptions::default() };
    let later = Instant::now() + Duration::from_secs(3600);
    let mut events = world.registry.watch(&target("pods", ""), &options, later).await.unwrap();
    match events.next().await.unwrap() {
        WatchEvent::Error(status) => assert_eq!((status.code, &status.reason), (410, &Reason::Expired)),
        _ => panic!("the past is gone"),
    }
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn watch_without_version_sends_initial_state() {
    let world = three().await;
    let later = Instant::now() + Duration::from_secs(3600);
    for version in ["", "0"] {
        let options = ListOptions {
            resource_version: version.to_owned(),
            allow_watch_bookmarks: true,
            ..ListOptions::default()
        };
        let events = world.registry.watch(&target("pods", ""), &options, later).await.unwrap();
        world.create_object("configmaps", &format!("between{version}"), json!({})).await;
        let at_once = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let name = if version.is_empty() { "a" } else { "b" };
        world.delete("pods", name, &at_once).await.unwrap();
        let events: Vec<_> = events.take(if version.is_empty() { 4 } else { 3 }).collect().await;
        let kinds = events.iter().map(|event| match event {
            WatchEvent::Event(event) => event.kind,
            WatchEvent::Error(status) => panic!("{}", status.message),
        });
        let kinds: Vec<_> = kinds.collect();
        let (last, first) = kinds.split_last().unwrap();
        assert!(first.iter().all(|kind| *kind == EventType::Added), "no bookmark in between: {kinds:?}");
        assert!(matches!(last, EventType::Modified | EventType::Deleted), "{kinds:?}");
    }
}
