//! Requests wait for what is not served yet, and others do not.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use apimachinery::clock::TestClock;
use apimachinery::query::Query;
use apimachinery::request_info::request_info;
use apimachinery::time::UnixTime;
use futures::FutureExt;
use tokio::time::{Instant, sleep};

use super::*;
use crate::route::depends_on_definitions;

fn served(new: fn(Catalog, Description) -> Served) -> Arc<Served> {
    let catalog = Catalog::builtin(|row| !row.off_by_default);
    let clock = Arc::new(TestClock::at(UnixTime::default()));
    let (server_address, version) = ("localhost:6443".to_owned(), VersionInfo::of_this_build());
    Arc::new(new(catalog, Description { server_address, version, formats: Formats::default(), clock }))
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_until_everything_is_served() {
    let served = served(Served::incomplete);
    assert!(served.for_request(|_| false).now_or_never().is_some(), "what depends on nothing more does not wait");
    assert!(served.asked().now_or_never().is_none());
    let waiting = tokio::spawn({
        let served = Arc::clone(&served);
        async move { served.for_request(|catalog| catalog.group("apps").is_some()).await.map(|now| now.number()) }
    });
    served.asked().await;
    sleep(Duration::from_secs(9)).await;
    assert!(!waiting.is_finished());
    served.change(Clone::clone);
    served.complete();
    assert_eq!(waiting.await.unwrap().unwrap(), 1, "the generation is that in which everything is served");
    assert!(served.for_request(|_| true).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_waited_long_is_told_to_come_again() {
    let (served, began) = (served(Served::incomplete), Instant::now());
    let status = served.for_request(|_| true).await.map(drop).unwrap_err();
    assert_eq!((began.elapsed(), status.code, status.retry_after_seconds()), (INCOMPLETE_MAX, 503, 5));
}

#[tokio::test]
async fn a_server_that_has_everything_lets_nobody_wait() {
    assert!(served(Served::new).for_request(|_| true).now_or_never().is_some());
}

#[test]
fn what_nobody_has_built_in_depends_on_definitions() {
    let served = served(Served::new);
    let check = |path: &str, expected: bool| {
        let info = request_info("GET", path, &Query::default()).unwrap();
        assert_eq!(depends_on_definitions(&served.now().catalog, &info), expected, "{path}");
    };
    for path in ["/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3/apis/apps/v1"] {
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
