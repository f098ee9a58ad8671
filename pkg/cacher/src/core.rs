//! The pure core of the watch cache: the state of one resource, the log of its changes, and the watches of
//! each change. Nothing here waits, locks or reads the clock.

mod log;
mod slab;
mod snapshot;
mod state;
mod topics;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use storage::Revision;
use tokio::time::Instant;

use crate::memo::{Budget, Memo};
use crate::{Element, Error, EventType, Predicate, Representation, Scope};

pub(crate) use slab::Slab;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{Walk, advance, rewind};
pub(crate) use state::{ChangeBatch, Mark, Position, ReadOutcome, Sizes, State};
use topics::Interest;

/// A change of one key as received from storage.
#[derive(Debug, Clone)]
pub enum KeyChange {
    Put(Arc<Element>),
    Delete { key: String, revision: Revision },
}

impl KeyChange {
    pub fn key(&self) -> &str {
        match self {
            KeyChange::Put(element) => element.key(),
            KeyChange::Delete { key, .. } => key,
        }
    }

    pub fn revision(&self) -> Revision {
        match self {
            KeyChange::Put(element) => element.revision(),
            KeyChange::Delete { revision, .. } => *revision,
        }
    }
}

/// Bounds of the change log. They determine how far back a watch can resume, how far a slow watch can fall
/// behind, and the memory of a resource besides its objects.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Minimum number of changes, kept regardless of their age.
    pub events_min: usize,
    pub events_max: usize,
    /// Maximum age of further changes (upstream's `eventFreshDuration`).
    pub age_max: Duration,
    /// Maximum size in bytes of superseded objects. Takes precedence over `events_min`.
    pub bytes_max: usize,
    /// Maximum number of changes that a late reader scans, or that are undone, at a time. It bounds the time
    /// the log is locked.
    pub scan_max: usize,
    /// Maximum number of changes to undo for a past state. Storage serves older states.
    pub rewind_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            events_min: 100,
            events_max: 102_400,
            age_max: Duration::from_secs(75),
            bytes_max: 64 << 20,
            scan_max: 1024,
            rewind_max: 16_384,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) scope: Scope,
    pub(crate) predicate: Predicate,
    /// Selects unreadable elements instead of failing. Only valid for a selection of everything, because an
    /// unreadable element cannot be matched.
    pub(crate) lenient: bool,
}

/// Times on the way of a change to the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The change was received from storage.
    pub(crate) received: Instant,
    /// The change was added to the log.
    pub(crate) cached: Instant,
}

impl Arrival {
    /// The arrival of a change that is received and added at once.
    pub(crate) fn at(now: Instant) -> Self {
        Arrival { received: now, cached: now }
    }
}

/// A change of one key, shared by all watches.
#[derive(Debug)]
pub(crate) struct Change {
    /// The revision of the change. Keys deleted by one lease expiration share a revision.
    pub(crate) revision: Revision,
    /// The new object; `None` after a deletion.
    pub(crate) new: Option<Arc<Element>>,
    /// The previous object; `None` if there was none. `new` and `prev` are never both `None`.
    pub(crate) prev: Option<Arc<Element>>,
    pub(crate) arrival: Arrival,
    /// The encoded events for this change.
    pub(crate) frames: Frames,
}

impl Change {
    /// The new element, or the deleted one.
    pub(crate) fn subject(&self) -> Option<&Arc<Element>> {
        self.new.as_ref().or(self.prev.as_ref())
    }

    pub(crate) fn key(&self) -> &str {
        self.subject().map_or("", |element| element.key())
    }

    /// Returns the event for a watch with this selection: its type and object. An object that no longer
    /// matches is deleted; an object that now matches is added.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if one side of the change is unreadable and may not be left out, because it cannot
    /// be matched. A side that is left out counts as absent.
    pub(crate) fn event_for(
        &self,
        selection: &Selection,
    ) -> Result<Option<(EventType, &Arc<Element>)>, Error> {
        if !selection.scope.contains(self.key()) {
            return Ok(None);
        }
        let (prev, new) = if selection.lenient {
            (self.prev.as_ref(), self.new.as_ref())
        } else {
            let selected = |element| matching_element(element, &selection.predicate);
            (selected(self.prev.as_ref())?, selected(self.new.as_ref())?)
        };
        Ok(match (prev, new) {
            (None, None) => None,
            (None, Some(new)) => Some((EventType::Added, new)),
            (Some(_), Some(new)) => Some((EventType::Modified, new)),
            (Some(prev), None) => Some((EventType::Deleted, prev)),
        })
    }
}

/// Returns the element if there is one and it matches.
fn matching_element<'a>(
    element: Option<&'a Arc<Element>>,
    predicate: &Predicate,
) -> Result<Option<&'a Arc<Element>>, Error> {
    match element {
        None => Ok(None),
        Some(element) => element.listable().map(|()| Some(element).filter(|_| predicate.matches(element))),
    }
}

/// The encoded events of one change. Each representation is encoded once while the shared budget lasts.
#[derive(Debug)]
pub(crate) struct Frames {
    memo: Memo,
    budget: Arc<Budget>,
}

impl Frames {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Frames { memo: Memo::default(), budget: Arc::clone(budget) }
    }

    /// Returns the frame in one representation.
    ///
    /// # Errors
    /// The errors of `encode`.
    pub(crate) fn frame<E>(
        &self,
        representation: Representation,
        encode: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        self.memo.shared(representation, &self.budget, encode)
    }

    /// Drops the bytes. Late readers encode for themselves.
    pub(crate) fn close(&self) {
        self.memo.close();
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
