//! The pure core of the watch cache: the state of one resource, the log of its changes, and who waits
//! for which of them. Nothing here waits, locks or tells the time.

mod log;
mod slab;
mod snapshot;
mod state;
mod topics;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use storage::Revision;

use crate::memo::{Budget, Memo};
use crate::{Element, Error, EventType, Predicate, Representation, Scope};

pub(crate) use slab::Slab;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{Walk, advance, rewind};
pub(crate) use state::{Mark, Position, Read, Sizes, State, Taken};
use topics::Interest;

/// A change of one key as it comes from storage.
#[derive(Debug, Clone)]
pub enum Incoming {
    /// The key has a new value.
    Put(Arc<Element>),
    /// The key is gone.
    Delete {
        /// The key.
        key: String,
        /// The revision of the deletion.
        revision: Revision,
    },
}

impl Incoming {
    /// The key that changed.
    pub fn key(&self) -> &str {
        match self {
            Incoming::Put(element) => element.key(),
            Incoming::Delete { key, .. } => key,
        }
    }

    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        match self {
            Incoming::Put(element) => element.revision(),
            Incoming::Delete { revision, .. } => *revision,
        }
    }
}

/// How much of the past is kept. It is what a watch can resume from, how far a slow one may fall
/// behind, and what memory a resource takes besides its objects.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// So many changes are kept however old they are.
    pub events_min: usize,
    /// More are never kept.
    pub events_max: usize,
    /// Older changes go (upstream's `eventFreshDuration`).
    pub age_max: Duration,
    /// What superseded objects may take, in bytes. It goes before `events_min`.
    pub bytes_max: usize,
    /// How many changes a reader that is far behind looks at in one go, and how many are undone in one
    /// go: what bounds the time that the log is locked.
    pub scan_max: usize,
    /// A state that is further back than so many changes is left to storage.
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

/// What a read selects.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Which keys.
    pub(crate) scope: Scope,
    /// Which elements are wanted.
    pub(crate) predicate: Predicate,
    /// Take what cannot be read for wanted instead of failing over it. For everything alone: nobody knows
    /// what such an element would have matched.
    pub(crate) lenient: bool,
}

/// A change of one key as watches see it. Shared by all of them.
#[derive(Debug)]
pub(crate) struct Change {
    /// The revision of the change. Several keys that went with one lease share theirs.
    pub(crate) revision: Revision,
    /// How the object is now; `None` after a deletion.
    pub(crate) new: Option<Arc<Element>>,
    /// How it was; `None` if there was none. At least one of the two is there.
    pub(crate) prev: Option<Arc<Element>>,
    /// The bytes that watches send for this change.
    pub(crate) frames: Frames,
}

impl Change {
    /// The element that says what the change is about: the new one, or what went.
    pub(crate) fn subject(&self) -> Option<&Arc<Element>> {
        self.new.as_ref().or(self.prev.as_ref())
    }

    /// The key that changed.
    pub(crate) fn key(&self) -> &str {
        self.subject().map_or("", |element| element.key())
    }

    /// What a watch with this scope and predicate sees: the kind of the event and the object to show.
    /// An object that ceases to match is deleted for it, one that begins to is added.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when a side of the change cannot be read: nobody knows then whether it
    /// matches.
    pub(crate) fn seen_by(&self, selection: &Selection) -> Result<Option<(EventType, &Arc<Element>)>, Error> {
        if !selection.scope.contains(self.key()) {
            return Ok(None);
        }
        let (prev, new) = if selection.lenient {
            (self.prev.as_ref(), self.new.as_ref())
        } else {
            let wanted = |element| wanted(element, &selection.predicate);
            (wanted(self.prev.as_ref())?, wanted(self.new.as_ref())?)
        };
        Ok(match (prev, new) {
            (None, None) => None,
            (None, Some(new)) => Some((EventType::Added, new)),
            (Some(_), Some(new)) => Some((EventType::Modified, new)),
            (Some(prev), None) => Some((EventType::Deleted, prev)),
        })
    }
}

/// The element if it is there and matches.
fn wanted<'a>(
    element: Option<&'a Arc<Element>>,
    predicate: &Predicate,
) -> Result<Option<&'a Arc<Element>>, Error> {
    match element {
        None => Ok(None),
        Some(element) => element.readable().map(|()| Some(element).filter(|_| predicate.matches(element))),
    }
}

/// The bytes that watches send for one change, encoded once while the budget of all such bytes lasts.
#[derive(Debug)]
pub(crate) struct Frames {
    memo: Memo,
    budget: Arc<Budget>,
}

impl Frames {
    /// None yet.
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Frames { memo: Memo::default(), budget: Arc::clone(budget) }
    }

    /// The frame in one representation.
    ///
    /// # Errors
    /// Those of `encode`.
    pub(crate) fn frame<E>(
        &self,
        representation: Representation,
        encode: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        self.memo.shared(representation, &self.budget, encode)
    }

    /// Gives up the bytes. Late readers encode for themselves.
    pub(crate) fn close(&self) {
        self.memo.close();
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
