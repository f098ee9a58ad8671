//! The pure core of a revisioned key-value store: keys with their versions, the log of changes, compaction
//! and deadlines. No clock, no I/O, no waiting. [`crate::memory`] uses it directly; the embedded store uses
//! it as the index of its durable log.
//!
//! A write has two steps. [`Write::decide`] computes the effect of a conditional write on a given current
//! state, and [`Mvcc::apply`] applies it. A durable store commits between the two, so that no reader sees a
//! write that a crash could undo.
//!
//! A store that is compacted at revision C keeps every change from C on, and for each key the version that
//! was current at C. A store that can read superseded *values* from elsewhere may drop them earlier
//! ([`Mvcc::trim_log`]).

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

pub use archive::{Archive, ArchiveError, ArchivedKey, PartInfo};
pub use change::{Change, Previous, Write};
pub use deadlines::{Deadlines, Millis};
pub use image::Image;

use versions::{Entry, Version, VersionValue, Versions};

/// The revision of an empty store, as in etcd: the first write has revision 2. It is above 0 because resource
/// version 0 means "any version" to clients.
pub const REVISION_EMPTY: Revision = 1;

/// A key's state at some revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKey {
    /// Full key.
    pub key: Arc<str>,
    /// The revision of the value's write.
    pub mod_revision: Revision,
    /// The value, `None` if it was dropped by [`Mvcc::trim_log`] and must be read from the durable log at
    /// `mod_revision`.
    pub value: Option<Bytes>,
}

/// Range of a scan.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// Prefix of all visited keys.
    pub prefix: &'a str,
    /// Bound of the first key.
    pub start: Bound<&'a str>,
    /// The revision to read; it must come from [`Mvcc::readable`].
    pub revision: Revision,
    /// Maximum number of returned keys; the others are only counted.
    pub limit: usize,
    /// Maximum number of visited keys, including deleted ones. It bounds the time that a lock is held.
    pub visit_max: usize,
    /// True to stop counting after the first key that is not returned.
    pub uncounted: bool,
}

/// Result of [`Mvcc::scan`].
#[derive(Debug, Default)]
pub struct ScanPage {
    /// The first keys, in byte order.
    pub keys: Vec<FoundKey>,
    /// Number of keys, including those in `keys`; in an uncounted scan at most one more than `keys`.
    pub count: u64,
    /// The last visited key if the scan ended at `visit_max`: continue after it.
    pub resume_after: Option<Arc<str>>,
}

/// The log from a revision on.
#[derive(Debug)]
pub enum LogRead<'a> {
    /// The changes, oldest first, without gaps. Empty if the reader is up to date.
    Changes(std::collections::vec_deque::Iter<'a, Change>),
    /// The first change is no longer in memory; the durable log has those before `until`.
    Trimmed {
        /// The oldest revision of the log in memory.
        until: Revision,
    },
}

/// The store's state; see the module documentation.
#[derive(Debug)]
pub struct Mvcc {
    revision: Revision,
    compacted: Revision,
    keys: Tree<Arc<Entry>>,
    /// Contiguous; the last change is at `revision`.
    log: VecDeque<Change>,
    log_bytes: usize,
    /// The changed key of each revision since the last sweep.
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
    /// The revision of the last write; [`REVISION_EMPTY`] before the first one.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest readable revision; 0 if nothing was ever compacted.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// The deadlines of all expiring keys. The driver must delete due keys, because this module has no clock.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// The key's present value and its revision.
    pub fn current(&self, key: &str) -> Option<(Revision, &Bytes)> {
        let newest = self.keys.get(key)?.versions.newest();
        match &newest.value {
            VersionValue::Live(value) => Some((newest.revision, value)),
            VersionValue::InLog | VersionValue::Deleted => None,
        }
    }

    /// The key's present state as a [`KeyValue`].
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

    /// Walks a range of keys in byte order. The cost is proportional to the visited keys.
    pub fn scan(&self, scan: &Scan<'_>) -> ScanPage {
        let start = match scan.start {
            Bound::Included(key) | Bound::Excluded(key) if key < scan.prefix => Bound::Included(scan.prefix),
            Bound::Unbounded => Bound::Included(scan.prefix),
            bound => bound,
        };
        let mut out = ScanPage::default();
        let keys = self.keys.range(start, Bound::Unbounded);
        for (visited, entry) in keys.enumerate() {
            let key = &entry.key;
            if !key.starts_with(scan.prefix) {
                break;
            }
            if let Some(version) = entry.versions.at_revision(scan.revision) {
                out.count += 1;
                if out.keys.len() < scan.limit {
                    out.keys.push(FoundKey {
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

    /// Applies a decided change. It must have been decided against this state, so that its revision is the
    /// next one.
    pub fn apply(&mut self, change: Change) {
        debug_assert_eq!(change.revision, self.revision + 1, "revisions are consecutive");
        self.revision = change.revision;
        self.index(&change);
        self.log_bytes += change.bytes();
        self.log.push_back(change);
    }

    /// An empty state, for [restoring](Mvcc::restore) a durable log that is compacted to this revision.
    pub fn restoring(compacted: Revision) -> Self {
        Mvcc { compacted, ..Mvcc::default() }
    }

    /// Restores a change from a durable log, oldest first. It is not added to the log in memory: its
    /// superseded value stays [elsewhere](FoundKey::value). Swept revisions below the compacted one may be
    /// missing.
    pub fn restore(&mut self, change: &Change) {
        self.revision = change.revision;
        self.index(change);
        let compacted = self.compacted;
        let settled = self.edit(&change.key, |versions| {
            versions.drop_superseded_value();
            versions.is_fully_compacted()
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

    /// Edits the versions of an existing key. The entry is removed during the edit, so that unshared entries
    /// are changed in place.
    fn edit<T>(&mut self, key: &str, edit: impl FnOnce(&mut Versions) -> T) -> Option<T> {
        let mut entry = self.keys.remove(key)?;
        let edited = edit(&mut Arc::make_mut(&mut entry).versions);
        self.keys.insert(entry);
        Some(edited)
    }

    /// Resolves the start of a watch: 0 is the next write; there is nothing before the first write.
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

    /// The changes from `next` on, which must be an existing or future revision of a write.
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

    /// Makes `revision` the oldest readable one. [`Mvcc::sweep`] then drops the history.
    ///
    /// # Errors
    /// [`Error::FutureRevision`]. A revision before the present compacted one has no effect.
    pub fn compact(&mut self, revision: Revision) -> Result<(), Error> {
        if revision > self.revision {
            return Err(Error::FutureRevision { requested: revision, current: self.revision });
        }
        self.compacted = self.compacted.max(revision);
        Ok(())
    }

    /// Drops history that is unreadable since the last compaction; visits the keys of at most `changes_max`
    /// changes. Returns the revisions that are no longer needed (a durable log deletes them), and true if
    /// there is more to do. A frequently changed key drops all of them at once.
    pub fn sweep(&mut self, changes_max: usize) -> (Vec<Revision>, bool) {
        let mut dead = Vec::new();
        for _ in 0..changes_max {
            let Some((revision, key)) = self.unswept.front() else { return (dead, false) };
            let revision = *revision;
            if revision > self.compacted {
                return (dead, false);
            }
            forget_before(&mut self.keys, key, self.compacted, &mut dead);
            // The change at the compacted revision itself stays readable, even a deletion, so the next
            // compaction must visit it again.
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

    /// The revision to compact to if the log in memory exceeds `bytes_max`: this drops about half of it.
    pub fn overflow_revision(&self, bytes_max: usize) -> Option<Revision> {
        if self.log_bytes <= bytes_max {
            return None;
        }
        let mut excess = self.log_bytes - bytes_max / 2;
        let boundary = self.log.iter().find(|change| {
            excess = excess.saturating_sub(change.bytes());
            excess == 0
        });
        boundary.map(|change| change.revision)
    }

    /// Trims the log in memory to `bytes_max`. Superseded values of the dropped changes are dropped too, so
    /// this is only for a store with a durable log.
    pub fn trim_log(&mut self, bytes_max: usize) {
        while self.log_bytes > bytes_max {
            let Some(change) = self.pop_log() else { return };
            let Some(previous) = &change.previous else { continue };
            self.edit(&change.key, |versions| versions.drop_value(previous.mod_revision));
        }
    }

    fn pop_log(&mut self) -> Option<Change> {
        let change = self.log.pop_front()?;
        self.log_bytes -= change.bytes();
        Some(change)
    }
}

/// Drops the versions of a key that no read at `oldest` or later can see, and the key with its last version.
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
