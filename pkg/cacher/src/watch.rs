//! What a watch asks for and what it delivers.

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
    pub element: Option<Arc<Element>>,
    /// The revision to report, which for `Deleted` is that of the deletion.
    pub revision: Revision,
    /// A bookmark that says: the initial state has been sent completely.
    pub initial_events_end: bool,
    /// The change that others see too. `None` for events of this watch alone.
    change: Option<Arc<Change>>,
}

impl Event {
    /// A bookmark.
    pub fn bookmark(revision: Revision, initial_events_end: bool) -> Self {
        Event { kind: EventType::Bookmark, element: None, revision, initial_events_end, change: None }
    }

    /// An event with an object.
    pub fn object(kind: EventType, element: Arc<Element>, revision: Revision) -> Self {
        Event { kind, element: Some(element), revision, initial_events_end: false, change: None }
    }

    /// What a change is for a watch.
    pub(crate) fn of_change(kind: EventType, element: Arc<Element>, change: Arc<Change>) -> Self {
        let revision = change.revision;
        Event { change: Some(change), ..Event::object(kind, element, revision) }
    }

    /// How the object was before the change; `None` if there was none, and for events of this watch alone.
    pub fn before(&self) -> Option<&Arc<Element>> {
        self.change.as_ref()?.prev.as_ref()
    }

    /// Whether other watches see the same event, so that [`frame`](Self::frame) spares them the work.
    /// Objects of the initial state are not shared as events; their own memos serve for those.
    pub fn is_shared(&self) -> bool {
        self.change.is_some()
    }

    /// The event's bytes on the wire, made once for all watches that share the event.
    /// `representation` must tell event types apart.
    ///
    /// # Errors
    /// Those of `encode`.
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

/// Where a watch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchStart {
    /// With the current state, then changes.
    State(Freshness),
    /// With changes after this revision; 0 with the next change.
    After(Revision),
}

/// What to watch.
#[derive(Debug, Clone)]
pub struct WatchQuery {
    /// Which keys.
    pub scope: Scope,
    /// Where to start.
    pub start: WatchStart,
    /// Which elements are wanted.
    pub predicate: Predicate,
    /// Send bookmarks.
    pub bookmarks: bool,
    /// When the watch ends; the last bookmark goes out 2 s before.
    pub deadline: Instant,
}

/// A watch under way: events in order; after an `Err` it ends. An end without an error means that
/// the deadline is reached, that the watch could not keep up, or that the cache started anew: the
/// client resumes from what it saw last.
pub struct Watch(Source);

enum Source {
    Cache(CachedWatch),
    Storage {
        events: BoxStream<'static, Result<Event, Error>>,
        /// How many events of the initial state are still to come.
        initial: usize,
    },
}

impl Watch {
    /// A watch of a cache.
    pub(crate) fn from_cache(watch: CachedWatch) -> Self {
        Watch(Source::Cache(watch))
    }

    /// A watch straight from storage, which begins with so many events of the initial state.
    pub(crate) fn from_storage(events: BoxStream<'static, Result<Event, Error>>, initial: usize) -> Self {
        Watch(Source::Storage { events, initial })
    }

    /// Whether the initial state has been delivered, or none was asked for.
    pub fn is_current(&self) -> bool {
        match &self.0 {
            Source::Cache(watch) => watch.is_current(),
            Source::Storage { initial, .. } => *initial == 0,
        }
    }

    /// What tells others how far the watch is from now on; `None` for one that is not of a cache.
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
