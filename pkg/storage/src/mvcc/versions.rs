//! The versions of one key, from the oldest readable one to the newest.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use crate::Revision;
use crate::tree::Keyed;

#[derive(Debug, Clone)]
pub(super) enum VersionValue {
    Live(Bytes),
    /// The value is only in the durable log.
    InLog,
    Deleted,
}

impl VersionValue {
    pub(super) fn live(&self) -> Option<&Bytes> {
        match self {
            VersionValue::Live(value) => Some(value),
            VersionValue::InLog | VersionValue::Deleted => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) revision: Revision,
    pub(super) value: VersionValue,
}

/// A key of the store with its versions.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: Arc<str>,
    pub(super) versions: Versions,
}

impl Entry {
    pub(super) fn new(key: Arc<str>, newest: Version) -> Self {
        Entry { key, versions: Versions::new(newest) }
    }
}

impl Keyed for Entry {
    type Key<'a> = &'a str;

    fn key(&self) -> &str {
        &self.key
    }

    fn compare(&self, key: &&str) -> Ordering {
        (*self.key).cmp(key)
    }
}

/// At least one version. Most keys have exactly one, so the others are stored separately and are free if
/// there are none.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    newest: Version,
    /// Oldest first.
    older: Vec<Version>,
}

impl Versions {
    pub(super) fn new(newest: Version) -> Self {
        Versions { newest, older: Vec::new() }
    }

    pub(super) fn newest(&self) -> &Version {
        &self.newest
    }

    /// True if there is only one version and it is not a deletion: compactions cannot drop anything.
    pub(super) fn is_fully_compacted(&self) -> bool {
        self.older.is_empty() && !matches!(self.newest.value, VersionValue::Deleted)
    }

    pub(super) fn push(&mut self, version: Version) {
        self.older.push(std::mem::replace(&mut self.newest, version));
    }

    /// The version that was current at `revision`, `None` if the key did not exist then.
    pub(super) fn at_revision(&self, revision: Revision) -> Option<&Version> {
        let version = if self.newest.revision <= revision {
            &self.newest
        } else {
            let later = self.older.partition_point(|v| v.revision <= revision);
            self.older.get(later.checked_sub(1)?)?
        };
        (!matches!(version.value, VersionValue::Deleted)).then_some(version)
    }

    /// Drops the value of the superseded version at `revision`.
    pub(super) fn drop_value(&mut self, revision: Revision) {
        if let Ok(at) = self.older.binary_search_by_key(&revision, |v| v.revision)
            && let Some(version) = self.older.get_mut(at)
        {
            drop_value_of(version);
        }
    }

    /// Drops the value of the version that the newest one superseded.
    pub(super) fn drop_superseded_value(&mut self) {
        if let Some(version) = self.older.last_mut() {
            drop_value_of(version);
        }
    }

    /// True if [`forget_before`](Self::forget_before) may drop anything. False positives are possible.
    pub(super) fn may_forget(&self, oldest: Revision) -> bool {
        let is_deleted = self.newest.revision < oldest && matches!(self.newest.value, VersionValue::Deleted);
        is_deleted || !self.older.is_empty()
    }

    /// Drops the versions that no read at `oldest` or later can see and adds their revisions to `dead`.
    /// Returns true if no version is left.
    ///
    /// A deletion at `oldest` itself remains: a watch from there delivers it.
    pub(super) fn forget_before(&mut self, oldest: Revision, dead: &mut Vec<Revision>) -> bool {
        let hidden = |v: &Version| v.revision < oldest && matches!(v.value, VersionValue::Deleted);
        if self.newest.revision <= oldest {
            dead.extend(self.older.drain(..).map(|v| v.revision));
            self.older.shrink_to_fit();
            let is_dead = hidden(&self.newest);
            if is_dead {
                dead.push(self.newest.revision);
            }
            return is_dead;
        }
        let upto = self.older.partition_point(|v| v.revision <= oldest);
        let Some(visible) = upto.checked_sub(1) else { return false };
        let first = if self.older.get(visible).is_some_and(hidden) { upto } else { visible };
        dead.extend(self.older.drain(..first).map(|v| v.revision));
        if self.older.is_empty() {
            self.older.shrink_to_fit();
        }
        false
    }
}

fn drop_value_of(version: &mut Version) {
    if matches!(version.value, VersionValue::Live(_)) {
        version.value = VersionValue::InLog;
    }
}
