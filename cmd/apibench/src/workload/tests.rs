//! Workloads against a correct server, and against a faulty one: a wrong response is an error, never a fast
//! result.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Context, all, chosen};
use crate::error::{Error, Result};
use crate::stats::Measured;
use crate::testing::{Handler, serve};

/// Runs one workload once, with 25 pods on one node. Each ends long before its time limit.
async fn run(name: &str, handler: Arc<Handler>) -> (Result<Measured>, Context) {
    let line =
        ["--objects", "25", "--seconds", "60", "--timeout", "20", "--watchers", "3", "--concurrency", "2"];
    let context = serve(&line, handler).await;
    let workload = chosen(&[name.to_owned()]).unwrap().pop().unwrap();
    (workload.run(&context).await, context)
}

fn list(items: u64) -> String {
    let item = format!(r#"{{"filler":"{}"}}"#, "x".repeat(100));
    let items = vec![item; usize::try_from(items).unwrap()].join(",");
    format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#)
}

/// Counts created and deleted objects; loses every `lost`-th creation.
fn store(lost: u64) -> Arc<Handler> {
    let pods = AtomicU64::new(0);
    let requests = AtomicU64::new(1);
    Arc::new(move |request| match request.split(' ').next() {
        Some("POST") => {
            let accepted = u64::from(!requests.fetch_add(1, Relaxed).is_multiple_of(lost));
            pods.fetch_add(accepted, Relaxed);
            (201, "x".repeat(3000))
        }
        Some("DELETE") if request.contains("/pods/") => {
            pods.fetch_sub(1, Relaxed);
            (200, "{}".to_owned())
        }
        Some("DELETE") => {
            pods.store(0, Relaxed);
            (200, "{}".to_owned())
        }
        _ => (200, list(pods.load(Relaxed))),
    })
}

#[tokio::test]
async fn creations_and_deletions_are_counted_and_limited() {
    for name in ["create", "delete"] {
        let measured = run(name, store(u64::MAX)).await.0.unwrap();
        assert_eq!((measured.operations, measured.errors), (25, 0), "{name}: {:?}", measured.first_error);
    }
}

#[tokio::test]
async fn lost_creation_is_an_error() {
    let measured = run("create", store(5)).await.0.unwrap();
    assert_eq!((measured.operations, measured.errors), (25, 1));
    assert_eq!(measured.first_error.as_deref(), Some("20 pods, expected 25"));
}

#[tokio::test]
async fn incomplete_list_is_not_measured() {
    let (outcome, context) = run("list-json", Arc::new(|_| (200, list(24)))).await;
    assert_eq!(outcome.unwrap_err().to_string(), "24 items, expected 25");
    assert_eq!(context.tally.operations.load(Relaxed), 0);
}

#[tokio::test]
async fn short_or_failed_lists_are_errors() {
    for (status, body) in [(200, list(3)), (429, "slow down".to_owned())] {
        let requests = AtomicU64::new(0);
        let handler = move |_: &str| match requests.fetch_add(1, Relaxed) {
            0 => (200, list(25)),
            _ => (status, body.clone()),
        };
        let measured = run("list-json", Arc::new(handler)).await.0.unwrap();
        assert_eq!(measured.operations, 0);
        // Each of 4 lanes stops after 20 failures; the check after the loop fails as well.
        assert_eq!(measured.errors, 81, "{:?}", measured.first_error);
    }
}

#[tokio::test]
async fn saturation_reports_windows_and_recovery() {
    let handler = |_: &str| (200, format!(r#"{{"seq":"x{}"}}"#, u32::MAX));
    let line = ["--objects", "25", "--saturation-seconds", "1", "--writers", "2"];
    let context = serve(&line, Arc::new(handler)).await;
    let workload = chosen(&["saturation".to_owned()]).unwrap().pop().unwrap();
    let measured = workload.run(&context).await.unwrap();
    assert_eq!(measured.errors, 0, "{:?}", measured.first_error);
    let [window] = &*measured.windows else { panic!("{:?}", measured.windows) };
    assert_eq!(window.until_s, 1.0);
    assert!(window.rate > 0.0 && window.rate <= measured.operations as f64, "{window:?}");
    let extra: Vec<_> = measured.extra.keys().copied().collect();
    assert_eq!(extra, ["p99_after_ms", "p99_before_ms", "recovery_s"]);
}

#[tokio::test]
async fn lost_patches_fail_saturation() {
    let context = serve(&["--objects", "25"], Arc::new(|_| (200, "{}".to_owned()))).await;
    let workload = chosen(&["saturation".to_owned()]).unwrap().pop().unwrap();
    let refused = workload.run(&context).await.unwrap_err().to_string();
    assert!(refused.contains("the label is missing"), "{refused}");
}

#[tokio::test]
async fn fairness_reports_quiet_client_latency() {
    let handler = |request: &str| match request {
        list if list.contains("limit=") => (429, String::new()),
        create if create.starts_with("POST") => (201, "{}".to_owned()),
        _ => (200, "{}".to_owned()),
    };
    let context = serve(&["--objects", "25", "--seconds", "1", "--greedy", "5"], Arc::new(handler)).await;
    let workload = chosen(&["fairness".to_owned()]).unwrap().pop().unwrap();
    let measured = workload.run(&context).await.unwrap();
    assert_eq!((measured.operations, measured.errors), (0, 0), "{:?}", measured.first_error);
    assert!(measured.extra["quiet_p99_storm_ms"] > 0.0, "{:?}", measured.extra);
}

#[tokio::test]
async fn apply_is_skipped_where_it_is_not_supported() {
    let outcome = run("apply", Arc::new(|_| (415, "{}".to_owned()))).await.0;
    assert!(matches!(outcome, Err(Error::Unsupported(_))), "{outcome:?}");
}

/// Returns the initial events of a node with this number of pods.
fn initial_events(pods: usize) -> String {
    let added = "{\"type\":\"ADDED\",\"object\":{}}\n".repeat(pods);
    let end = r#"{"k8s.io/initial-events-end":"true"}"#;
    format!("{added}{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"annotations\":{end}}}}}}}\n")
}

#[tokio::test]
async fn informer_syncs_only_with_all_pods() {
    let measured = run("watchlist-storm", Arc::new(|_| (200, initial_events(25)))).await.0.unwrap();
    assert_eq!((measured.operations, measured.errors), (3, 0), "{:?}", measured.first_error);
    let measured = run("watchlist-storm", Arc::new(|_| (200, initial_events(24)))).await.0.unwrap();
    assert_eq!((measured.operations, measured.errors), (0, 3));
    assert_eq!(measured.first_error.as_deref(), Some("node-0: 24 pods, expected 25"));
    let no_end = |_: &str| (200, "{\"type\":\"ADDED\",\"object\":{}}\n".to_owned());
    let measured = run("watchlist-storm", Arc::new(no_end)).await.0.unwrap();
    assert_eq!(measured.first_error.as_deref(), Some("the server ended the stream"));
}

/// A server with every CRD of [`crate::custom::ProviderCrd`], whose OpenAPI contains the kinds in `describes`.
fn definitions(describes: &'static [&'static str]) -> Arc<Handler> {
    Arc::new(move |request| match request.split_once(' ') {
        Some(("POST", _)) => (201, "{}".to_owned()),
        Some(("DELETE", _)) => (404, "{}".to_owned()),
        Some((_, "/openapi/v3")) => (200, "service0.provider.example.com".to_owned()),
        Some((_, path)) if path.starts_with("/openapi/") => {
            let kinds = describes.iter().map(|kind| format!(r#""kind":"{kind}","#));
            (200, kinds.collect())
        }
        _ => (200, r#"{"status":{"conditions":[{"type":"Established","status":"True"}]}}"#.to_owned()),
    })
}

#[tokio::test]
async fn definitions_complete_when_all_are_published() {
    let run = async |describes: &'static [&'static str], timeout: &str| {
        let line = ["--objects", "25", "--seconds", "1", "--definitions", "2", "--timeout", timeout];
        let context = serve(&line, without_definitions_at_first(definitions(describes))).await;
        chosen(&["definitions".to_owned()]).unwrap().pop().unwrap().run(&context).await
    };
    let measured = run(&["Thing0", "Thing1"], "20").await.unwrap();
    assert_eq!((measured.operations, measured.errors), (2, 0));
    let extra: Vec<_> = measured.extra.keys().copied().collect();
    assert_eq!(extra, ["created_s", "established_s", "in_open_api_s", "served_s"]);
    let refused = run(&["Thing0"], "1").await.unwrap_err().to_string();
    assert_eq!(refused, "service0.provider.example.com lacks kinds in its document");
}

/// Wraps a server so that CRDs do not exist before their creation.
fn without_definitions_at_first(handler: Arc<Handler>) -> Arc<Handler> {
    let created = AtomicU64::new(0);
    Arc::new(move |request| match request.split_once(' ') {
        Some(("GET", path)) if path.contains("/customresourcedefinitions/") && created.load(Relaxed) == 0 => {
            (404, "{}".to_owned())
        }
        Some((method, _)) => {
            created.fetch_add(u64::from(method == "POST"), Relaxed);
            handler(request)
        }
        None => handler(request),
    })
}

#[test]
fn a_family_is_chosen_by_its_name() {
    let names: Vec<_> =
        chosen(&["custom".to_owned()]).unwrap().iter().map(|workload| workload.name()).collect();
    assert_eq!(names, ["custom-get", "custom-list", "custom-watch", "custom-create", "custom-apply"]);
}

#[tokio::test]
async fn rejected_large_writes_are_errors() {
    let patches = AtomicU64::new(0);
    let handler = move |request: &str| match request.split(' ').next() {
        Some("POST") => (201, "{}".to_owned()),
        // The writes of the pod's managers.
        Some("PATCH") if request.contains("fieldManager=") => (200, "{}".to_owned()),
        Some("PATCH") if patches.fetch_add(1, Relaxed) == 0 => (200, "verified".to_owned()),
        Some("PATCH") => (429, String::new()),
        _ => (200, list(0)),
    };
    let measured = run("large-patch-50k-4", Arc::new(handler)).await.0.unwrap();
    // Each of 4 writers stops after 20 failures; the check after the loop fails as well.
    assert_eq!((measured.operations, measured.errors), (0, 81), "{:?}", measured.first_error);
}

#[test]
fn names_are_unique_and_choose() {
    let names: Vec<_> = all().iter().map(|workload| workload.name()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let count_chosen = |name: &str| chosen(&[name.to_owned()]).unwrap().len();
    assert_eq!(count_chosen("all") + count_chosen("large"), names.len());
    assert_eq!([count_chosen("large-put-4k"), count_chosen("large-put-4k-1")], [7, 1]);
    let two = chosen(&["watch-fanout".to_owned(), "get".to_owned()]).unwrap();
    assert_eq!(two.iter().map(|w| w.name()).collect::<Vec<_>>(), ["get", "watch-fanout"]);
    assert!(chosen(&["gett".to_owned()]).is_err());
}
