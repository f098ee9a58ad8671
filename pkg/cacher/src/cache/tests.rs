//! Tests of a resource's cache as used by the driver and readers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod lists;
mod model;
mod past;
mod threads;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use futures::FutureExt as _;
use storage::Revision;
use tokio::time::Instant;

use super::*;
use crate::core::Snapshot;
use crate::core::testing::*;
use crate::{Error, EventType, Freshness, ListQuery, Page};

const PODS: &str = "/r/pods/";

/// A cache of pods with an index on the node, filled with these objects (key below the prefix, revision,
/// value; sorted by key) at `revision`.
fn filled(limits: Limits, objects: &[(&str, Revision, &str)], revision: Revision) -> Arc<Cache> {
    let config = CacheConfig { limits, ..CacheConfig::new(PODS, Some(0)) };
    config.fresh_revision.store(revision, SeqCst);
    let cache = Arc::new(Cache::new(config, Instant::now()));
    let elements = objects.iter().map(|(key, at, value)| element(&format!("{PODS}{key}"), *at, value));
    cache.fill(elements.collect(), revision, Vec::new(), Instant::now());
    cache
}

/// Applies one change of a key below the prefix and advances the freshness revision.
fn change(cache: &Cache, key: &str, revision: Revision, value: Option<&str>) {
    let key = format!("{PODS}{key}");
    let incoming = match value {
        Some(value) => put(&key, revision, value),
        None => delete(&key, revision),
    };
    cache.apply(vec![incoming], Instant::now());
    cache.config.fresh_revision.store(revision, SeqCst);
}

/// A list of a selection, or a page of it.
fn query(selection: &Selection, start: Option<&str>, limit: usize) -> ListQuery {
    ListQuery {
        scope: selection.scope.clone(),
        start: start.map(str::to_owned),
        limit,
        freshness: Freshness::NotOlderThan(0),
        predicate: selection.predicate.clone(),
    }
}

/// Runs a list that is short enough not to yield.
fn list(snapshot: &Arc<Snapshot>, query: &ListQuery, revision: Revision) -> Result<Page, Error> {
    snapshot.list(query, revision).now_or_never().unwrap()
}

fn listed(items: impl Iterator<Item = Arc<Element>>) -> Vec<Seen> {
    items.map(|element| seen(EventType::Added, &element, element.revision())).collect()
}

/// The keys of a list, below the prefix.
fn names(items: impl Iterator<Item = Arc<Element>>) -> Vec<String> {
    items.map(|element| element.key().strip_prefix(PODS).unwrap().to_owned()).collect()
}

fn watch_query(selection: &Selection, start: WatchStart, bookmarks: bool) -> WatchQuery {
    WatchQuery {
        scope: selection.scope.clone(),
        start,
        predicate: selection.predicate.clone(),
        bookmarks,
        deadline: Instant::now() + Duration::from_secs(3600),
    }
}
