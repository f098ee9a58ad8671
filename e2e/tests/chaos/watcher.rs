//! A client that lists and watches like client-go, and records the events between two revisions.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::client::{Record, is_ours, revision};
use super::history::Observation;

const PAUSE: Duration = Duration::from_millis(100);
/// Timeout of a silent watch.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Watches until it is stopped and has seen the last acknowledged revision.
pub(super) async fn run(client: Client, record: Arc<Record>) {
    let api: Api<ConfigMap> = Api::namespaced(client, "chaos");
    let mut position: Option<i64> = None;
    while !is_over(&record, position) {
        let from = match position {
            Some(from) => from,
            None => match timeout(SILENCE_MAX, api.list(&ListParams::default())).await {
                Ok(Ok(list)) => list.metadata.resource_version.unwrap().parse().unwrap(),
                _ => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let start = record.now();
        let mut segment = Segment { from, to: from, events: Vec::new() };
        let goes_on = watch(&api, &record, &mut segment).await;
        position = goes_on.then_some(segment.to);
        record.note(start, Observation::Watch { from: segment.from, to: segment.to, events: segment.events });
        sleep(PAUSE).await;
    }
}

fn is_over(record: &Record, position: Option<i64>) -> bool {
    record.stop.load(Ordering::SeqCst) && position.is_some_and(|at| at >= record.floor.load(Ordering::SeqCst))
}

struct Segment {
    from: i64,
    to: i64,
    events: Vec<(i64, String, bool)>,
}

/// Reads one watch. Returns true if the next one can continue at its end.
async fn watch(api: &Api<ConfigMap>, record: &Record, segment: &mut Segment) -> bool {
    let params = WatchParams::default().timeout(60);
    let opened = timeout(SILENCE_MAX, api.watch(&params, &segment.from.to_string())).await;
    let Ok(Ok(events)) = opened else { return true };
    let mut events = events.boxed();
    while !is_over(record, Some(segment.to)) {
        let Ok(Some(Ok(event))) = timeout(SILENCE_MAX, events.next()).await else { return true };
        let (object, there) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
            WatchEvent::Deleted(object) => (object, false),
            WatchEvent::Bookmark(bookmark) => {
                segment.to = bookmark.metadata.resource_version.parse().unwrap();
                continue;
            }
            WatchEvent::Error(status) => return status.code != 410,
        };
        segment.to = revision(&object);
        if is_ours(&object) {
            segment.events.push((segment.to, object.metadata.name.unwrap(), there));
        }
    }
    true
}
