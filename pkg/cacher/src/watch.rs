//! Queries and events of watches.

mod cached;
mod lag;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use storage::Revision;
use tokio::time::Instant;

use crate::core::Change;
use crate::memo::Representation;
use crate::{Element, Error, Freshness, Predicate, Scope};

pub(crate) use cached::{CachedWatch, Start};
pub use lag::{Lag, Progress};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// The object was created, or matches now.
    Added,
    Modified,
    /// The object was deleted, or no longer matches.
    Deleted,
    /// No event up to the event's revision.
    Bookmark,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub kind: EventType,
    /// The object: for `Deleted` its last matching state. `None` for bookmarks.
    pub element: Option<Arc<Element>>,
    /// The revision to report: for `Deleted` that of the deletion.
    pub revision: Revision,
    /// True for the bookmark after the initial events.
    pub initial_events_end: bool,
    /// The change, shared with other watches. `None` for events of this watch alone.
    change: Option<Arc<Change>>,
}

impl Event {
    pub fn bookmark(revision: Revision, initial_events_end: bool) -> Self {
        Event { kind: EventType::Bookmark, element: None, revision, initial_events_end, change: None }
    }

    pub fn object(kind: EventType, element: Arc<Element>, revision: Revision) -> Self {
        Event { kind, element: Some(element), revision, initial_events_end: false, change: None }
    }

    /// The event of a change for a watch.
    pub(crate) fn of_change(kind: EventType, element: Arc<Element>, change: Arc<Change>) -> Self {
        let revision = change.revision;
        Event { change: Some(change), ..Event::object(kind, element, revision) }
    }

    /// The object before the change; `None` if there was none, and for events of this watch alone.
    pub fn before(&self) -> Option<&Arc<Element>> {
        self.change.as_ref()?.prev.as_ref()
    }

    /// True if other watches share the event, so that [`frame`](Self::frame) saves encoding. Objects of the
    /// initial state are not shared as events; their own memos serve for them.
    pub fn is_shared(&self) -> bool {
        self.change.is_some()
    }

    /// Returns the encoded event, encoded once for all watches that share it. Event types must have different
    /// `representation`s.
    ///
    /// # Errors
    /// The errors of `encode`.
    pub fn frame<E>(
        &self,
        representation: Representation,
        encode: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        match &self.change {
            Some(change) => change.frames.frame(representation, encode),
            None => encode(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchStart {
    /// The current state, then changes.
    State(Freshness),
    /// Changes after this revision; 0 for the next change.
    After(Revision),
}

#[derive(Debug, Clone)]
pub struct WatchQuery {
    pub scope: Scope,
    pub start: WatchStart,
    pub predicate: Predicate,
    /// True to send bookmarks.
    pub bookmarks: bool,
    /// End of the watch; the last bookmark is sent 2 s before.
    pub deadline: Instant,
}

/// A running watch: events in order; it ends after an `Err`. It ends without an error at the deadline, if the
/// watch was too slow, or if the cache was reset. The client then resumes from its last event.
pub struct Watch(Source);

enum Source {
    Cache(Box<CachedWatch>),
    Storage {
        events: BoxStream<'static, Result<Event, Error>>,
        /// Number of outstanding initial events.
        initial: usize,
    },
}

impl Watch {
    pub(crate) fn from_cache(watch: CachedWatch) -> Self {
        Watch(Source::Cache(Box::new(watch)))
    }

    /// A watch of storage that starts with `initial` events of the initial state.
    pub(crate) fn from_storage(events: BoxStream<'static, Result<Event, Error>>, initial: usize) -> Self {
        Watch(Source::Storage { events, initial })
    }

    /// True if the initial state has been delivered or was not requested.
    pub fn is_current(&self) -> bool {
        match &self.0 {
            Source::Cache(watch) => watch.is_current(),
            Source::Storage { initial, .. } => *initial == 0,
        }
    }

    /// Shared handle to the progress of the watch; `None` without a cache.
    pub fn progress(&mut self) -> Option<Progress> {
        match &mut self.0 {
            Source::Cache(watch) => Some(watch.progress()),
            Source::Storage { .. } => None,
        }
    }
}

impl Stream for Watch {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            Source::Cache(watch) => watch.poll_next(cx),
            Source::Storage { events, initial } => {
                let next = events.as_mut().poll_next(cx);
                *initial = initial.saturating_sub(usize::from(next.is_ready()));
                next
            }
        }
    }
}
