//! The present contents of a store without its history: the initial contents of a fork.

use std::sync::Arc;

use super::versions::{Entry, Version, VersionValue};
use super::{Archive, ArchiveError, ArchivedKey, Change, Deadlines, Millis, Mvcc, Previous, REVISION_EMPTY};
use crate::Revision;
use crate::tree::Tree;

/// The contents of a store at one revision. Cheap to clone, and so are stores created from it ([`Mvcc::of`]):
/// all unchanged entries are shared.
#[derive(Debug, Clone)]
pub struct Image {
    revision: Revision,
    keys: Tree<Arc<Entry>>,
    /// The change at the revision, which a watch from there delivers; `None` if nothing was ever written.
    last: Option<Change>,
    /// The remaining times of expiring keys.
    ttls: Arc<[(Arc<str>, Millis)]>,
}

impl Default for Image {
    fn default() -> Self {
        Image { revision: REVISION_EMPTY, keys: Tree::default(), last: None, ttls: Arc::default() }
    }
}

impl Image {
    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Number of keys, plus one if the last write was a deletion.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if nothing was ever written.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The remaining times of expiring keys, the soonest first.
    pub fn ttls(&self) -> &[(Arc<str>, Millis)] {
        &self.ttls
    }

    /// The change at the revision, possibly a deletion; `None` if nothing was ever written.
    pub fn last(&self) -> Option<&Change> {
        self.last.as_ref()
    }

    /// The writes of the present contents, in byte order of keys. All present values must be in memory.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        self.keys.iter().map(|entry| {
            let newest = entry.versions.newest();
            let value = newest.value.live().cloned();
            let previous = self.last.as_ref().filter(|last| last.revision == newest.revision);
            let previous = previous.and_then(|last| last.previous.as_ref());
            let previous = previous.map(|previous| Previous { value: None, ..*previous });
            Change { revision: newest.revision, key: entry.key.clone(), value, previous, expires_at: None }
        })
    }

    /// Reads the whole archive.
    ///
    /// # Errors
    /// An unreadable or inconsistent part.
    pub fn of(archive: &dyn Archive) -> Result<Self, ArchiveError> {
        let mut mvcc = Mvcc::beginning(archive.revision(), archive.last().cloned());
        let mut revisions = Vec::new();
        for part in 0..archive.parts().len() {
            let keys = archive.read(part)?;
            revisions.extend(keys.iter().map(|key| key.mod_revision));
            mvcc.insert_initial(keys, 0);
        }
        revisions.sort_unstable();
        if revisions.windows(2).any(|pair| pair.first() == pair.last()) {
            Err(ArchiveError::RepeatedRevision)
        } else {
            Ok(mvcc.image(0))
        }
    }
}

impl Mvcc {
    /// The present contents at the time `now`. The cost is proportional to the uncompacted history.
    pub fn image(&self, now: Millis) -> Image {
        let mut keys = self.keys.clone();
        let mut dead = Vec::new();
        for (_, key) in &self.unswept {
            super::forget_before(&mut keys, key, self.revision, &mut dead);
        }
        let ttls = self.deadlines.all().map(|(at, key)| (key.clone(), at.saturating_sub(now)));
        let last = self.log.back().cloned().or_else(|| self.last_of(&keys));
        Image { revision: self.revision, last, ttls: ttls.collect(), keys }
    }

    /// The last change, reconstructed from the remaining state. A store without a log in memory searches its
    /// keys for it.
    fn last_of(&self, keys: &Tree<Arc<Entry>>) -> Option<Change> {
        let entry = keys.iter().find(|entry| entry.versions.newest().revision == self.revision)?;
        let value = match &entry.versions.newest().value {
            VersionValue::Live(value) => Some(value.clone()),
            VersionValue::InLog | VersionValue::Deleted => None,
        };
        Some(Change {
            revision: self.revision,
            key: entry.key.clone(),
            value,
            previous: None,
            expires_at: None,
        })
    }

    /// An independent store with the contents of an image, compacted to its revision, at the time `now`.
    pub fn of(image: &Image, now: Millis) -> Self {
        let mut deadlines = Deadlines::default();
        for (key, ttl) in image.ttls.iter() {
            deadlines.set(key, Some(now.saturating_add(*ttl)));
        }
        let initial = Mvcc::beginning(image.revision, image.last.clone());
        Mvcc { keys: image.keys.clone(), deadlines, ..initial }
    }

    /// An independent store at a revision, compacted to it, without its keys, which must be
    /// [inserted](Self::insert_initial). `last` is the change at the revision.
    pub fn beginning(revision: Revision, last: Option<Change>) -> Self {
        let mut mvcc = Mvcc { revision, ..Mvcc::default() };
        let Some(last) = last else { return mvcc };
        if last.value.is_none() {
            let version = Version { revision, value: VersionValue::Deleted };
            mvcc.keys.insert(Arc::new(Entry::new(last.key.clone(), version)));
        }
        mvcc.unswept.push_back((revision, last.key.clone()));
        // An empty store was never compacted.
        mvcc.compacted = revision;
        mvcc.log_bytes = last.bytes();
        mvcc.log.push_back(last);
        mvcc
    }

    /// Adds initial keys after [`beginning`](Self::beginning), which must not have been accessed or changed
    /// before, at the time `now`.
    pub fn insert_initial(&mut self, keys: Vec<ArchivedKey>, now: Millis) {
        for ArchivedKey { key, mod_revision, value, ttl } in keys {
            self.deadlines.set(&key, ttl.map(|ttl| now.saturating_add(ttl)));
            let version = Version { revision: mod_revision, value: VersionValue::Live(value) };
            self.keys.insert(Arc::new(Entry::new(key, version)));
        }
    }
}
