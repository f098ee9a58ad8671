//! Watches directly from storage: initial state, selector transitions, bookmarks (upstream's
//! `etcd3/watcher.go`).

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use storage::{EventKind, Revision, Storage, WatchItem, WatchOptions, WatchStream};
use tokio::time::{Instant, interval_at, sleep_until};

use super::{Selected, list, list_range, select_element};
use crate::{
    Error, Event, EventType, Freshness, Items, ListQuery, Predicate, Resource, Watch, WatchQuery, WatchStart,
};

const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// A last bookmark is sent this long before the deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Starts a watch. A lenient watch of everything also delivers unreadable values.
pub(crate) async fn watch(
    store: Arc<dyn Storage>,
    resource: Arc<Resource>,
    query: WatchQuery,
    lenient: bool,
) -> Result<Watch, Error> {
    let (initial, after) = match query.start {
        WatchStart::After(revision) => (Items::listed(Vec::new()), revision),
        WatchStart::State(freshness) => {
            list_initial_state(&*store, &resource, &query, freshness, lenient).await?
        }
    };
    let start = if after == 0 { 0 } else { after + 1 };
    let options = WatchOptions { start, prev_kv: true, exact: query.scope.exact, progress: query.bookmarks };
    let changes = store.watch(&query.scope.prefix, options).await?;
    let end = (matches!(query.start, WatchStart::State(_)) && query.bookmarks).then_some(after);
    let events = initial.len_max() + usize::from(end.is_some());
    Ok(Watch::from_storage(run(store, resource, query, initial, end, changes, lenient), events))
}

async fn list_initial_state(
    store: &dyn Storage,
    resource: &Resource,
    query: &WatchQuery,
    freshness: Freshness,
    lenient: bool,
) -> Result<(Items, Revision), Error> {
    let list_query = ListQuery {
        scope: query.scope.clone(),
        start: None,
        limit: 0,
        freshness,
        predicate: query.predicate.clone(),
    };
    let page = if lenient {
        list_range(store, resource, &list_query, true).await?
    } else {
        list(store, resource, &list_query).await?
    };
    Ok((page.items, page.revision))
}

fn run(
    store: Arc<dyn Storage>,
    resource: Arc<Resource>,
    query: WatchQuery,
    initial: Items,
    end: Option<Revision>,
    mut changes: WatchStream,
    lenient: bool,
) -> BoxStream<'static, Result<Event, Error>> {
    let stream = async_stream::stream! {
        for element in initial.iter() {
            if Instant::now() >= query.deadline {
                return;
            }
            let revision = element.revision();
            yield Ok(Event::object(EventType::Added, element, revision));
        }
        drop(initial);
        if let Some(revision) = end {
            yield Ok(Event::bookmark(revision, true));
        }
        let mut tick = interval_at(Instant::now() + BOOKMARK_INTERVAL, BOOKMARK_INTERVAL);
        let last = sleep_until(query.deadline.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(query.deadline));
        let over = sleep_until(query.deadline);
        let retired = resource.retired();
        tokio::pin!(last, over, retired);
        let mut last_sent = false;
        let mut due = false;
        loop {
            // The fixed order makes simulations deterministic. Rare events come first.
            tokio::select! {
                biased;
                () = &mut over => return,
                () = &mut retired => return,
                _ = tick.tick(), if query.bookmarks => { due = true; send_progress_request(&*store).await; }
                () = &mut last, if query.bookmarks && !last_sent => {
                    last_sent = true;
                    due = true;
                    send_progress_request(&*store).await;
                }
                item = changes.next() => match item {
                    None => return,
                    Some(Err(error)) => { yield Err(error.into()); return; }
                    Some(Ok(WatchItem::Progress(revision))) => if due {
                        due = false;
                        yield Ok(Event::bookmark(revision, false));
                    },
                    Some(Ok(WatchItem::Event(event))) => match transform(&resource, &query.predicate, event, lenient) {
                        Ok(Some(event)) => yield Ok(event),
                        Ok(None) => {}
                        Err(error) => { yield Err(error); return; }
                    },
                },
            }
        }
    };
    stream.boxed()
}

/// Requests progress; a failure only delays a bookmark.
async fn send_progress_request(store: &dyn Storage) {
    if let Err(error) = store.request_progress().await {
        tracing::debug!(%error, "progress request for a bookmark failed");
    }
}

/// Converts a change of a key into an event for this predicate: an object that no longer matches is deleted,
/// one that now matches is added.
fn transform(
    resource: &Resource,
    predicate: &Predicate,
    event: storage::WatchEvent,
    lenient: bool,
) -> Result<Option<Event>, Error> {
    let revision = event.kv.mod_revision;
    let matching = |kv| {
        select_element(resource, kv, predicate, lenient).map(|selected| match selected {
            Selected::Match(element) => Some(element),
            Selected::NoMatch | Selected::LeftOut => None,
        })
    };
    let new = match event.kind {
        EventKind::Delete => None,
        _ => matching(event.kv)?,
    };
    let old = match (event.prev, event.kind) {
        (_, EventKind::Create) => None,
        (Some(prev), _) => matching(prev)?,
        (None, _) => {
            let message = format!("no previous value for a change at {revision}");
            return Err(Error::Storage(storage::Error::Internal(message)));
        }
    };
    Ok(match (old, new) {
        (None, None) => None,
        (None, Some(new)) => Some(Event::object(EventType::Added, new, revision)),
        (Some(_), Some(new)) => Some(Event::object(EventType::Modified, new, revision)),
        (Some(old), None) => Some(Event::object(EventType::Deleted, old, revision)),
    })
}
