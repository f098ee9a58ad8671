//! Tests of requests for resources that are not served yet.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use apimachinery::query::Query;
use apimachinery::request_info::request_info;
use apimachinery::time::UnixTime;
use component_base::clock::TestClock;
use component_base::features::Effective;
use jsontree::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;
use crate::testing::custom_group;

fn served() -> (Arc<ServedApi>, ResourceRequests) {
    let catalog = Catalog::builtin(|row| !row.off_by_default);
    let clock = Arc::new(TestClock::at(UnixTime::default()));
    let server_address = "localhost:6443".to_owned();
    let version = VersionInfo::of_this_build();
    let about = Description {
        server_address,
        version,
        hashes_for: Some(Effective::default()),
        formats: Formats::default(),
        beta_discovery: false,
        clock,
    };
    let (served, requests) = ServedApi::incomplete(catalog, about);
    (Arc::new(served), requests)
}

fn request(path: &str) -> RequestInfo {
    request_info("GET", path, &Query::default()).unwrap()
}

/// Generation number that a request uses.
fn ask(served: &Arc<ServedApi>, path: &str) -> JoinHandle<u64> {
    let served = Arc::clone(served);
    let info = request(path);
    tokio::spawn(async move { served.for_request(&info).await.unwrap().number() })
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_until_everything_is_served() {
    let (served, mut requests) = served();
    assert_eq!(ask(&served, "/apis/apps/v1/deployments").await.unwrap(), 0, "it depends on nothing more");
    let waiting = ask(&served, "/apis");
    assert_eq!(requests.recv().await, Some(None));
    sleep(Duration::from_secs(9)).await;
    served.change(Clone::clone);
    sleep(Duration::from_millis(1)).await;
    assert!(!waiting.is_finished());
    served.change(Clone::clone);
    served.complete();
    assert_eq!(waiting.await.unwrap(), 2, "the generation is that in which everything is served");
    assert_eq!(ask(&served, "/apis").await.unwrap(), 2);
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_request_waits_until_its_resource_is_served() {
    let (served, mut requests) = served();
    let waiting = ["foos", "bars"].map(|plural| ask(&served, &format!("/apis/example.com/v1/{plural}")));
    for plural in ["foos", "bars"] {
        assert_eq!(requests.recv().await, Some(Some(GroupResource::new("example.com", plural))));
    }
    let names = json!({"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"});
    let versions = json!([{"name": "v1", "served": true, "storage": true}]);
    let spec = json!({"group": "example.com", "scope": "Cluster", "names": names, "versions": versions});
    let stored = custom_group(&[spec]);
    served.change(|catalog| {
        let mut changed = catalog.clone();
        changed.put(stored.clone());
        changed
    });
    let [foos, bars] = waiting;
    assert_eq!(foos.await.unwrap(), 1);
    assert!(!bars.is_finished());
    served.complete();
    assert_eq!(bars.await.unwrap(), 1, "it is not there, as it turns out");
}

#[tokio::test(start_paused = true)]
async fn long_wait_returns_503() {
    let (served, _requests) = served();
    let start = Instant::now();
    let status = served.for_request(&request("/openapi/v2")).await.map(drop).unwrap_err();
    assert_eq!((start.elapsed(), status.code, status.retry_after_seconds()), (INCOMPLETE_MAX, 503, 5));
}

/// More notifications than the queue holds, without a receiver; the requests still complete.
#[tokio::test]
async fn requests_wait_without_receiver() {
    let (served, mut requests) = served();
    let waiting: Vec<_> =
        (0..2 * REQUEST_QUEUE_MAX).map(|n| ask(&served, &format!("/apis/g{n}/v1/foos"))).collect();
    for n in 0..REQUEST_QUEUE_MAX {
        assert_eq!(requests.recv().await, Some(Some(GroupResource::new(format!("g{n}"), "foos"))));
    }
    drop(requests);
    served.complete();
    for request in waiting {
        assert_eq!(request.await.unwrap(), 0);
    }
}

#[test]
fn unknown_resources_depend_on_crds() {
    let (served, _asked) = served();
    let check = |path: &str, expected: bool| {
        assert_eq!(depends_on_definitions(&served.now().catalog, &request(path)), expected, "{path}");
    };
    for path in ["/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3/apis/apps/v1"]
    {
        check(path, true);
    }
    check("/apis/example.com/v1/namespaces/a/foos/b", true);
    check("/apis/apps/v1/foos", true);
    check("/apis/apps/v1/namespaces/a/deployments/b/status", false);
    check("/api/v1/namespaces/a/foos", false);
    for path in ["/api", "/api/v1", "/version", "/apisx", "/healthz", "/"] {
        check(path, false);
    }
}
