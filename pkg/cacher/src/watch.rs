//! Watches from storage: initial state, selector transitions, bookmarks
//! (upstream's `etcd3/watcher.go`).

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use storage::{EventKind, KeyValue, Revision, WatchItem, WatchOptions, WatchStream};
use tokio::time::{Instant, interval_at, sleep_until};

use crate::{Delegator, Error, Filter, Freshness, ListQuery};

/// Time between bookmarks on a watch that wants them.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// A last bookmark is sent so long before a watch reaches its deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// What happened, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// The object appeared, or began to match.
    Added,
    /// The object changed.
    Modified,
    /// The object went, or ceased to match.
    Deleted,
    /// Nothing happened up to the event's revision.
    Bookmark,
}

/// One event of a watch.
#[derive(Debug, Clone)]
pub struct Event {
    /// What happened.
    pub kind: EventType,
    /// The object: for `Deleted` its last wanted state. `None` for bookmarks.
    pub object: Option<KeyValue>,
    /// The revision to report, which for `Deleted` is that of the deletion.
    pub revision: Revision,
    /// A bookmark that says: the initial state has been sent completely.
    pub initial_events_end: bool,
}

/// Where a watch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchStart {
    /// With the current state, then changes.
    State(Freshness),
    /// With changes after this revision; 0 with the next change.
    After(Revision),
}

/// What to watch.
#[derive(Clone)]
pub struct WatchQuery {
    /// Keys below this prefix (ends in `/`), or the exact key if `exact`.
    pub prefix: String,
    /// Watch one key.
    pub exact: bool,
    /// Where to start.
    pub start: WatchStart,
    /// Which objects are wanted; `None` for all.
    pub filter: Option<Filter>,
    /// Send bookmarks.
    pub bookmarks: bool,
    /// When the watch will be ended by its caller; the last bookmark goes out 2 s before.
    pub deadline: Instant,
}

/// Events in order; after an `Err` the stream ends.
pub type EventStream = BoxStream<'static, Result<Event, Error>>;

impl Delegator {
    /// Starts a watch. Every event has a revision greater than those before it, except the initial
    /// state, which is sorted by key.
    ///
    /// # Errors
    /// Those of the initial read and of the store's `watch`.
    pub async fn watch(&self, query: WatchQuery) -> Result<EventStream, Error> {
        let (initial, after) = match query.start {
            WatchStart::After(revision) => (Vec::new(), revision),
            WatchStart::State(freshness) => self.state(&query, freshness).await?,
        };
        let state = matches!(query.start, WatchStart::State(_));
        let start = if after == 0 { 0 } else { after + 1 };
        let options = WatchOptions { start, prev_kv: true, exact: query.exact, progress: query.bookmarks };
        let changes = self.store.watch(&query.prefix, options).await?;
        let end = (state && query.bookmarks).then_some(after);
        Ok(self.clone().run(query, initial, end, changes))
    }

    async fn state(
        &self,
        query: &WatchQuery,
        freshness: Freshness,
    ) -> Result<(Vec<KeyValue>, Revision), Error> {
        if !query.exact {
            let list = ListQuery {
                prefix: query.prefix.clone(),
                start: None,
                limit: 0,
                freshness,
                filter: query.filter.clone(),
            };
            let page = self.list(&list).await?;
            return Ok((page.items, page.revision));
        }
        let lookup = self.get(&query.prefix, freshness).await?;
        let mut items = Vec::new();
        if let Some(kv) = lookup.kv
            && wanted(&query.filter, &kv)?
        {
            items.push(kv);
        }
        Ok((items, lookup.revision))
    }

    fn run(
        self,
        query: WatchQuery,
        initial: Vec<KeyValue>,
        end: Option<Revision>,
        mut changes: WatchStream,
    ) -> EventStream {
        let stream = async_stream::stream! {
            for kv in initial {
                yield Ok(Event { kind: EventType::Added, revision: kv.mod_revision, object: Some(kv), initial_events_end: false });
            }
            if let Some(revision) = end {
                yield Ok(Event { kind: EventType::Bookmark, object: None, revision, initial_events_end: true });
            }
            let mut tick = interval_at(Instant::now() + BOOKMARK_INTERVAL, BOOKMARK_INTERVAL);
            let last = sleep_until(query.deadline.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(query.deadline));
            tokio::pin!(last);
            let mut last_sent = false;
            let mut due = false;
            loop {
                tokio::select! {
                    item = changes.next() => match item {
                        None => return,
                        Some(Err(error)) => { yield Err(error.into()); return; }
                        Some(Ok(WatchItem::Progress(revision))) => if due {
                            due = false;
                            yield Ok(Event { kind: EventType::Bookmark, object: None, revision, initial_events_end: false });
                        },
                        Some(Ok(WatchItem::Event(event))) => match transform(&query.filter, event) {
                            Ok(Some(event)) => yield Ok(event),
                            Ok(None) => {}
                            Err(error) => { yield Err(error); return; }
                        },
                    },
                    _ = tick.tick(), if query.bookmarks => { due = true; self.progress().await; }
                    () = &mut last, if query.bookmarks && !last_sent => { last_sent = true; due = true; self.progress().await; }
                }
            }
        };
        stream.boxed()
    }

    /// Asks for progress; a store that does not answer only delays a bookmark.
    async fn progress(&self) {
        if let Err(error) = self.store.request_progress().await {
            tracing::debug!(%error, "no progress for a bookmark");
        }
    }
}

fn wanted(filter: &Option<Filter>, kv: &KeyValue) -> Result<bool, Error> {
    match filter {
        None => Ok(true),
        Some(filter) => filter(kv).map_err(|message| Error::Corrupt { key: kv.key.clone(), message }),
    }
}

/// Turns a change of a key into what a watcher with this filter sees: an object that stops matching
/// is deleted for it, one that begins to match is added.
fn transform(filter: &Option<Filter>, event: storage::WatchEvent) -> Result<Option<Event>, Error> {
    let revision = event.kv.mod_revision;
    let is_wanted = event.kind != EventKind::Delete && wanted(filter, &event.kv)?;
    let was_wanted = match (&event.prev, event.kind) {
        (_, EventKind::Create) => false,
        (Some(prev), _) => wanted(filter, prev)?,
        (None, _) => {
            return Err(Error::Storage(storage::Error::Internal(format!(
                "no previous value for {}",
                event.kv.key
            ))));
        }
    };
    let (kind, object) = match (was_wanted, is_wanted) {
        (false, false) => return Ok(None),
        (false, true) => (EventType::Added, event.kv),
        (true, true) => (EventType::Modified, event.kv),
        (true, false) => match event.prev {
            Some(prev) => (EventType::Deleted, prev),
            None => return Ok(None),
        },
    };
    Ok(Some(Event { kind, object: Some(object), revision, initial_events_end: false }))
}
