//! The metrics page.

use component_base::metrics::{MetricsRegistry, Selection};
use futures::FutureExt;

use super::*;

pub(super) fn metrics_page(delegator: &Delegator) -> String {
    let registry = MetricsRegistry::default();
    delegator.register_metrics(&registry);
    registry.render(&Selection::default().show_hidden())
}

#[tokio::test(start_paused = true)]
async fn metrics_have_upstream_names() {
    let store = Recorded::with(&[("a", "yes"), ("b", "no")]).await;
    let old_revision = set(&store.memory, "b", Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    let reader = driven.reader();
    let last_revision = set(&store.memory, "c", Some("yes")).await;
    reader.list(&all(Freshness::Consistent)).await.unwrap();
    reader.list(&ListQuery { predicate: yes(), ..all(Freshness::NotOlderThan(0)) }).await.unwrap();
    reader.list(&all(Freshness::Exact(old_revision - 1))).await.unwrap();
    let page = metrics_page(&driven.delegator);
    let labels = "group=\"test\",resource=\"p\"";
    for line in [
        format!("apiserver_watch_cache_events_received_total{{{labels}}} 1"),
        format!("apiserver_watch_cache_events_dispatched_total{{{labels}}} 1"),
        format!("apiserver_watch_cache_initializations_total{{{labels}}} 1"),
        format!("apiserver_watch_cache_initialization_duration_seconds_count{{{labels}}} 1"),
        format!("apiserver_watch_cache_resource_version{{{labels}}} {last_revision}"),
        format!("apiserver_storage_events_received_total{{{labels}}} 1"),
        "apiserver_cache_list_total{group=\"test\",index=\"\",resource=\"p\"} 1".to_string(),
        "apiserver_cache_list_fetched_objects_total{group=\"test\",index=\"\",resource=\"p\"} 3".to_string(),
        "apiserver_cache_list_total{group=\"test\",index=\"f\",resource=\"p\"} 1".to_string(),
        "apiserver_cache_list_fetched_objects_total{group=\"test\",index=\"f\",resource=\"p\"} 3".to_string(),
        format!("apiserver_cache_list_returned_objects_total{{{labels}}} 3"),
        "apiserver_storage_list_total{group=\"test\",index=\"\",resource=\"p\",storage=\"etcd\"} 2"
            .to_string(),
        "apiserver_storage_list_total{group=\"test\",index=\"f\",resource=\"p\",storage=\"watchcache\"} 1"
            .to_string(),
        format!("apiserver_storage_list_evaluated_objects_total{{{labels},storage=\"etcd\"}} 4"),
        format!("apiserver_storage_list_returned_objects_total{{{labels},storage=\"etcd\"}} 4"),
        format!("apiserver_storage_list_returned_objects_total{{{labels},storage=\"watchcache\"}} 3"),
        format!(
            "apiserver_watch_cache_consistent_read_total{{fallback=\"false\",{labels},success=\"true\"}} 1"
        ),
        format!("apiserver_watch_cache_read_wait_seconds_bucket{{{labels},le=\"3\"}} 2"),
        format!("apiserver_watch_cache_read_wait_seconds_count{{{labels}}} 2"),
        format!("apiserver_storage_list_duration_seconds_count{{{labels},streamed=\"false\"}} 2"),
    ] {
        assert!(page.lines().any(|present| present == line), "no {line:?} in\n{page}");
    }
}

/// The number of events on the page that were dispatched to watches in a stage.
fn dispatched(page: &str, stage: &str) -> u64 {
    let labels = format!("group=\"test\",resource=\"p\",stage={stage:?}");
    let start = format!("apiserver_watch_events_dispatch_duration_seconds_count{{{labels}}} ");
    page.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn dispatch_of_live_events_is_measured() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let driven = Driven::ready(store.clone()).await;
    let replayed = set(&store.memory, "a", Some("yes again")).await;
    let reader = driven.reader();
    reader.list(&all(Freshness::Consistent)).await.unwrap();
    let mut watch = reader.watch(watching(WatchStart::After(replayed - 1))).await.unwrap();
    assert!(watch.next().await.unwrap().unwrap().element.is_some());
    // The watch becomes live when it has nothing left to read.
    assert!(watch.next().now_or_never().is_none());
    assert_eq!(dispatched(&metrics_page(&driven.delegator), "total"), 0);
    set(&store.memory, "b", Some("yes")).await;
    assert!(watch.next().await.unwrap().unwrap().element.is_some());
    let page = metrics_page(&driven.delegator);
    for stage in ["storage_to_cache", "cache_to_watcher", "total"] {
        assert_eq!(dispatched(&page, stage), 1, "{stage}");
    }
}

#[tokio::test]
async fn metrics_page_is_well_formed() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let driven = Driven::ready(store).await;
    driven.reader().list(&all(Freshness::Consistent)).await.unwrap();
    let page = metrics_page(&driven.delegator);
    let mut families: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for line in page.lines().filter(|line| !line.starts_with("# ")) {
        assert!(line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok()), "{line}");
    }
    let count = families.len();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), count);
}
