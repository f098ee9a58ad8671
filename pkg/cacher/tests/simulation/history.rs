//! The true history: every change in order, and the state at every revision. Nothing is dropped here, even
//! after a compaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use storage::Revision;
use tokio::time::Instant;

use super::kinds::View;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub key: Arc<str>,
    pub revision: Revision,
    pub value: Bytes,
}

/// A change of one key. Several changes may share a revision.
#[derive(Debug)]
pub struct Change {
    pub revision: Revision,
    pub key: Arc<str>,
    pub prev: Option<Object>,
    pub new: Option<Object>,
    pub at: Instant,
}

#[derive(Debug, Default)]
pub struct History {
    changes: Vec<Change>,
    /// Versions of each key with their first revisions.
    versions: BTreeMap<Arc<str>, Vec<(Revision, Option<Object>)>>,
}

impl History {
    /// Records a write or a deletion.
    pub fn record(&mut self, revision: Revision, key: &str, value: Option<Bytes>, at: Instant) {
        let key: Arc<str> = key.into();
        let new = value.map(|value| Object { key: Arc::clone(&key), revision, value });
        let versions = self.versions.entry(Arc::clone(&key)).or_default();
        let prev = versions.last().and_then(|(_, object)| object.clone());
        versions.push((revision, new.clone()));
        self.changes.push(Change { revision, key, prev, new, at });
    }

    /// The revision of the last change.
    pub fn revision(&self) -> Revision {
        self.changes.last().map_or(storage::mvcc::REVISION_EMPTY, |change| change.revision)
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The index of the first change after a revision.
    pub fn after(&self, revision: Revision) -> usize {
        self.changes.partition_point(|change| change.revision <= revision)
    }

    pub fn object_at(&self, revision: Revision, key: &str) -> Option<&Object> {
        let versions = self.versions.get(key)?;
        let upto = versions.partition_point(|(since, _)| *since <= revision);
        versions.get(upto.checked_sub(1)?)?.1.as_ref()
    }

    /// The state of a view at a revision, in byte order of keys.
    pub fn state_at(&self, revision: Revision, view: &View) -> Vec<&Object> {
        let keys = self.versions.keys().filter(|key| view.scope.contains(key));
        keys.filter_map(|key| self.object_at(revision, key)).filter(|object| view.shows(object)).collect()
    }
}
