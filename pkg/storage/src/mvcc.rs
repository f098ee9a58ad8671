//! The pure core of a revisioned key-value store: keys with their versions, the log of changes,
//! compaction and deadlines. No clock, no I/O, no waiting; [`crate::memory`] drives it as it is, the
//! embedded store keeps it as the index in front of its durable log.
//!
//! A write takes two steps. [`Write::decide`] says what a conditional write would do to a given
//! current state, and [`Mvcc::apply`] makes it so. A durable store commits between the two, so that
//! nobody reads what a crash could still take back.
//!
//! What is kept, for a store compacted at revision C: every change from C on, and for each key the
//! version that was current at C. A superseded *value* may be given up earlier
//! ([`Mvcc::trim_log`]) by a store that can read it back from elsewhere.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::tree::Tree;
use crate::{Error, KeyValue, Revision};

mod archive;
mod change;
mod deadlines;
mod image;
mod versions;

pub use archive::{Archive, ArchivedKey, Part};
pub use change::{Change, Previous, Write};
pub use deadlines::{Deadlines, Millis};
pub use image::Image;

use versions::{Entry, Version, VersionValue, Versions};

/// The revision of a store that has never been written, as in etcd: the first write makes 2. It is
/// above 0 because clients read resource version 0 as "anything will do".
pub const REVISION_EMPTY: Revision = 1;

/// A key's state as of some revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The key.
    pub key: Arc<str>,
    /// The revision of the write that made the value.
    pub mod_revision: Revision,
    /// The value, `None` when it was given up by [`Mvcc::trim_log`] and has to come from the durable
    /// log, where it stands under `mod_revision`.
    pub value: Option<Bytes>,
}

/// Which keys to scan.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// Only keys that begin with this.
    pub prefix: &'a str,
    /// Only keys from this one on.
    pub start: Bound<&'a str>,
    /// As of this revision; it must have passed [`Mvcc::readable`].
    pub at: Revision,
    /// Return at most so many; the others are only counted.
    pub take: usize,
    /// Look at no more than so many keys, living or deleted. It bounds the time that a lock is held.
    pub visit_max: usize,
    /// Count the others no further than to the first of them.
    pub uncounted: bool,
}

/// What a [`Scan`] found.
#[derive(Debug, Default)]
pub struct Scanned {
    /// The first keys, in byte order.
    pub found: Vec<Found>,
    /// How many keys there were, those in `found` included; of an uncounted scan at most one more.
    pub count: u64,
    /// The last key looked at, when `visit_max` ended the scan: go on after it.
    pub resume_after: Option<Arc<str>>,
}

/// Where the log stands for a reader that wants changes from some revision on.
#[derive(Debug)]
pub enum LogRead<'a> {
    /// The changes, oldest first, without gaps. Empty when the reader has seen all.
    Changes(std::collections::vec_deque::Iter<'a, Change>),
    /// The first change wanted is no longer in memory; the durable log has those before `until`.
    Trimmed {
        /// The oldest revision that the log in memory still has.
        until: Revision,
    },
}

/// The store's state. See the module for what it keeps.
#[derive(Debug)]
pub struct Mvcc {
    revision: Revision,
    compacted: Revision,
    keys: Tree<Arc<Entry>>,
    /// Contiguous; the last one is at `revision`.
    log: VecDeque<Change>,
    log_bytes: usize,
    /// Which key each revision since the last sweep touched.
    unswept: VecDeque<(Revision, Arc<str>)>,
    deadlines: Deadlines,
}

impl Default for Mvcc {
    fn default() -> Self {
        Mvcc {
            revision: REVISION_EMPTY,
            compacted: 0,
            keys: Tree::default(),
            log: VecDeque::new(),
            log_bytes: 0,
            unswept: VecDeque::new(),
            deadlines: Deadlines::default(),
        }
    }
}

impl Mvcc {
    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest readable revision; 0 when nothing was ever compacted.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// When keys expire.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// The key's present value and its revision.
    pub fn current(&self, key: &str) -> Option<(Revision, &Bytes)> {
        let newest = self.keys.get(key)?.versions.newest();
        match &newest.value {
            VersionValue::Live(value) => Some((newest.revision, value)),
            VersionValue::Elsewhere | VersionValue::Deleted => None,
        }
    }

    /// The key's present state in the contract's words.
    pub fn get(&self, key: &str) -> Option<KeyValue> {
        self.current(key).map(|(mod_revision, value)| KeyValue::new(key, value.clone(), mod_revision))
    }

    /// Resolves the revision of a read: 0 is the present.
    ///
    /// # Errors
    /// [`Error::Compacted`] and [`Error::FutureRevision`].
    pub fn readable(&self, revision: Revision) -> Result<Revision, Error> {
        match revision {
            0 => Ok(self.revision),
            at if at > self.revision => Err(Error::FutureRevision { requested: at, current: self.revision }),
            at if at < self.compacted => Err(Error::Compacted { oldest: self.compacted }),
            at => Ok(at),
        }
    }

    /// Walks part of the keys in byte order. Cost: the keys looked at.
    pub fn scan(&self, scan: &Scan<'_>) -> Scanned {
        let start = match scan.start {
            Bound::Included(key) | Bound::Excluded(key) if key < scan.prefix => Bound::Included(scan.prefix),
            Bound::Unbounded => Bound::Included(scan.prefix),
            bound => bound,
        };
        let mut out = Scanned::default();
        let keys = self.keys.range(start, Bound::Unbounded);
        for (visited, entry) in keys.enumerate() {
            let key = &entry.key;
            if !key.starts_with(scan.prefix) {
                break;
            }
            if let Some(version) = entry.versions.at(scan.at) {
                out.count += 1;
                if out.found.len() < scan.take {
                    out.found.push(Found {
                        key: key.clone(),
                        mod_revision: version.revision,
                        value: version.value.live().cloned(),
                    });
                } else if scan.uncounted {
                    break;
                }
            }
            if visited + 1 >= scan.visit_max {
                out.resume_after = Some(key.clone());
                break;
            }
        }
        out
    }

    /// Makes a decided change part of the state. Its revision must be the next one; decided against
    /// this state, it is.
    pub fn apply(&mut self, change: Change) {
        debug_assert_eq!(change.revision, self.revision + 1, "revisions are consecutive");
        self.revision = change.revision;
        self.index(&change);
        self.log_bytes += change.bytes();
        self.log.push_back(change);
    }

    /// An empty state to [`restore`](Mvcc::restore) a durable log into that was compacted so far.
    pub fn restoring(compacted: Revision) -> Self {
        Mvcc { compacted, ..Mvcc::default() }
    }

    /// Takes in a change from a durable log, oldest first, without keeping it in the log in memory:
    /// its superseded value stays [elsewhere](Found::value). Revisions below the compacted one may be
    /// missing, as they were swept.
    pub fn restore(&mut self, change: &Change) {
        self.revision = change.revision;
        self.index(change);
        let compacted = self.compacted;
        let settled = self.edit(&change.key, |versions| {
            versions.drop_superseded_value();
            versions.is_settled()
        });
        if change.revision < compacted && settled == Some(true) {
            self.unswept.pop_back();
        }
    }

    fn index(&mut self, change: &Change) {
        let value = match &change.value {
            Some(value) => VersionValue::Live(value.clone()),
            None => VersionValue::Deleted,
        };
        let version = Version { revision: change.revision, value };
        let entry = match self.keys.remove(&change.key) {
            Some(mut entry) => {
                Arc::make_mut(&mut entry).versions.push(version);
                entry
            }
            None => Arc::new(Entry::new(change.key.clone(), version)),
        };
        self.keys.insert(entry);
        self.unswept.push_back((change.revision, change.key.clone()));
        self.deadlines.set(&change.key, change.expires_at);
    }

    /// Changes the versions of a key that is there. Taken out meanwhile, so that what no copy of the state shares is
    /// changed in place.
    fn edit<T>(&mut self, key: &str, edit: impl FnOnce(&mut Versions) -> T) -> Option<T> {
        let mut entry = self.keys.remove(key)?;
        let edited = edit(&mut Arc::make_mut(&mut entry).versions);
        self.keys.insert(entry);
        Some(edited)
    }

    /// Resolves where a watch begins: 0 is the next write, and before the first write there is nothing.
    ///
    /// # Errors
    /// [`Error::Compacted`].
    pub fn watch_start(&self, start: Revision) -> Result<Revision, Error> {
        if start == 0 {
            return Ok(self.revision + 1);
        }
        let start = start.max(REVISION_EMPTY + 1);
        if start < self.compacted {
            return Err(Error::Compacted { oldest: self.compacted });
        }
        Ok(start)
    }

    /// The changes from `next` on, which is a revision that a write made or will make.
    ///
    /// # Errors
    /// [`Error::Compacted`].
    pub fn changes(&self, next: Revision) -> Result<LogRead<'_>, Error> {
        if next < self.compacted {
            return Err(Error::Compacted { oldest: self.compacted });
        }
        let first = self.revision + 1 - self.log.len() as Revision;
        if next < first && first > self.compacted.max(REVISION_EMPTY + 1) {
            return Ok(LogRead::Trimmed { until: first });
        }
        let skip = usize::try_from(next.saturating_sub(first)).unwrap_or(0).min(self.log.len());
        Ok(LogRead::Changes(self.log.range(skip..)))
    }

    /// Makes `revision` the oldest readable one. History goes with [`Mvcc::sweep`].
    ///
    /// # Errors
    /// [`Error::FutureRevision`]. An older revision than the present compacted one does nothing.
    pub fn compact(&mut self, revision: Revision) -> Result<(), Error> {
        if revision > self.revision {
            return Err(Error::FutureRevision { requested: revision, current: self.revision });
        }
        self.compacted = self.compacted.max(revision);
        Ok(())
    }

    /// Drops history that the last compaction made unreadable, looking at the keys of at most
    /// `changes_max` changes. Returns the revisions that nothing needs any more (a durable log deletes
    /// them), and whether there is more to do. A key changed often gives up all of them at once.
    pub fn sweep(&mut self, changes_max: usize) -> (Vec<Revision>, bool) {
        let mut dead = Vec::new();
        for _ in 0..changes_max {
            let Some((revision, key)) = self.unswept.front() else { return (dead, false) };
            let revision = *revision;
            if revision > self.compacted {
                return (dead, false);
            }
            forget_before(&mut self.keys, key, self.compacted, &mut dead);
            // The change at the compacted revision itself stays readable, a deletion too, so the
            // next compaction has to come back to it.
            if revision == self.compacted {
                return (dead, false);
            }
            self.unswept.pop_front();
            while self.log.front().is_some_and(|c| c.revision <= revision) {
                self.pop_log();
            }
        }
        (dead, true)
    }

    /// What to compact to when the log in memory takes more than `bytes_max`: about half of it goes then.
    pub fn overflow_revision(&self, bytes_max: usize) -> Option<Revision> {
        if self.log_bytes <= bytes_max {
            return None;
        }
        let mut excess = self.log_bytes - bytes_max / 2;
        let kept = self.log.iter().find(|change| {
            excess = excess.saturating_sub(change.bytes());
            excess == 0
        });
        kept.map(|change| change.revision)
    }

    /// Keeps the log in memory under `bytes_max`. The values that a dropped change superseded are
    /// given up with it: only for a store with a durable log.
    pub fn trim_log(&mut self, bytes_max: usize) {
        while self.log_bytes > bytes_max {
            let Some(change) = self.pop_log() else { return };
            let Some(previous) = &change.previous else { continue };
            self.edit(&change.key, |versions| versions.give_up(previous.mod_revision));
        }
    }

    fn pop_log(&mut self) -> Option<Change> {
        let change = self.log.pop_front()?;
        self.log_bytes -= change.bytes();
        Some(change)
    }
}

/// Drops the versions of a key that no read at `oldest` or later can see, and the key with its last one.
fn forget_before(keys: &mut Tree<Arc<Entry>>, key: &str, oldest: Revision, dead: &mut Vec<Revision>) {
    if !keys.get(key).is_some_and(|entry| entry.versions.may_forget(oldest)) {
        return;
    }
    let Some(mut entry) = keys.remove(key) else { return };
    if !Arc::make_mut(&mut entry).versions.forget_before(oldest, dead) {
        keys.insert(entry);
    }
}

#[cfg(test)]
mod tests;
