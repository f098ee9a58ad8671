//! The log of a resource's changes: a window over its recent past.
//!
//! Positions of changes are consecutive and never reused. Changes that leave the window are dropped; a watch
//! that still needs them detects this by its position.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use storage::Revision;
use tokio::time::Instant;

use super::{Change, Limits};
use crate::Element;

/// A change and the time of its arrival.
#[derive(Debug)]
struct Entry {
    added_at: Instant,
    change: Arc<Change>,
}

#[derive(Debug)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    /// The position of the first entry, and the position at which the log was opened.
    first: u64,
    opening_position: u64,
    /// Changes up to this revision are not, or no longer, in the log.
    start_revision: Revision,
    /// Size of the superseded objects in bytes.
    bytes: usize,
}

impl Log {
    pub(crate) fn new() -> Self {
        Log { entries: VecDeque::new(), first: 0, opening_position: 0, start_revision: 0, bytes: 0 }
    }

    /// Restarts the log after `revision`. Positions of the former log are not reused. Returns the former
    /// changes.
    pub(crate) fn open(&mut self, revision: Revision) -> Vec<Arc<Change>> {
        let former = std::mem::take(&mut self.entries);
        self.first += former.len() as u64 + 1;
        (self.opening_position, self.start_revision, self.bytes) = (self.first, revision, 0);
        former.into_iter().map(|entry| entry.change).collect()
    }

    /// True if the position is from before the log was opened.
    pub(crate) fn is_before_opening(&self, position: u64) -> bool {
        position < self.opening_position
    }

    /// The position of the first change in the log.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The position of the next change.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Number of changes, and capacity.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.entries.capacity())
    }

    /// The revision of the last change, or the revision at which the log was opened.
    pub(crate) fn revision(&self) -> Revision {
        self.revision_before(self.end())
    }

    pub(crate) fn revision_before(&self, position: u64) -> Revision {
        let change = position.checked_sub(1).and_then(|position| self.get(position));
        change.map_or(self.start_revision, |change| change.revision)
    }

    /// The earliest revision after which all changes are in the log. Like upstream, once changes have been
    /// dropped it is the revision before that of the first change.
    pub(crate) fn oldest(&self) -> Revision {
        match self.entries.front() {
            Some(entry) if self.first > self.opening_position => {
                self.start_revision.max(entry.change.revision - 1)
            }
            _ => self.start_revision,
        }
    }

    /// The change at a position, if it is still in the log.
    pub(crate) fn get(&self, position: u64) -> Option<&Arc<Change>> {
        let at = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.entries.get(at).map(|entry| &entry.change)
    }

    /// The arrival time of the change at a position, if it is still in the log.
    pub(crate) fn time_of(&self, position: u64) -> Option<Instant> {
        let at = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.entries.get(at).map(|entry| entry.added_at)
    }

    /// Size of the superseded objects in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The position of the first change after a revision.
    pub(crate) fn after(&self, revision: Revision) -> u64 {
        self.first + self.entries.partition_point(|entry| entry.change.revision <= revision) as u64
    }

    /// The changes between two positions that are still in the log, in order.
    pub(crate) fn range(
        &self,
        positions: Range<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Arc<Change>)> {
        let at = |position: u64| {
            let at = position.clamp(self.first, self.end()) - self.first;
            usize::try_from(at).unwrap_or(usize::MAX)
        };
        let from = at(positions.start);
        let to = at(positions.end);
        let from = from.min(to);
        let first = self.first + from as u64;
        let entries = self.entries.range(from..to).enumerate();
        entries.map(move |(at, entry)| (first + at as u64, &entry.change))
    }

    /// Appends a change and returns its position.
    pub(crate) fn push(&mut self, change: Arc<Change>, now: Instant) -> u64 {
        self.bytes += superseded(&change);
        self.entries.push_back(Entry { added_at: now, change });
        self.end() - 1
    }

    /// Removes the first change if it exceeds the limits.
    pub(crate) fn evict(&mut self, limits: &Limits, now: Instant) -> Option<(u64, Arc<Change>)> {
        let len = self.entries.len();
        let first = self.entries.front()?;
        let old = || now.saturating_duration_since(first.added_at) > limits.age_max;
        let keep = len <= limits.events_max
            && self.bytes <= limits.bytes_max
            && (len <= limits.events_min || !old());
        if keep {
            return None;
        }
        let Entry { change, .. } = self.entries.pop_front()?;
        self.bytes = self.bytes.saturating_sub(superseded(&change));
        self.start_revision = change.revision;
        self.first += 1;
        Some((self.first - 1, change))
    }

    /// Releases memory after a burst.
    pub(crate) fn shrink(&mut self) {
        let len = self.entries.len();
        if self.entries.capacity() > 4 * len.max(64) {
            self.entries.shrink_to(2 * len);
        }
    }
}

/// Memory that only this change keeps alive.
fn superseded(change: &Change) -> usize {
    change.prev.as_deref().map_or(0, Element::size)
}
