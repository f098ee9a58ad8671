//! The present of a store without its past: what a store begins with that is to have the objects of another one.

use std::sync::Arc;

use super::versions::{Entry, Version, VersionValue};
use super::{Archive, ArchivedKey, Change, Deadlines, Millis, Mvcc, Previous, REVISION_EMPTY};
use crate::Revision;
use crate::tree::Tree;

/// What a store held at one revision. Cheap to clone, and so are stores made of it ([`Mvcc::of`]): they share
/// all that neither changes.
#[derive(Debug, Clone)]
pub struct Image {
    revision: Revision,
    keys: Tree<Arc<Entry>>,
    /// The change that made the revision, which a watch from there delivers; `None` if nothing was ever written.
    last: Option<Change>,
    /// How long keys have left, for those that expire.
    left: Arc<[(Arc<str>, Millis)]>,
}

impl Default for Image {
    fn default() -> Self {
        Image { revision: REVISION_EMPTY, keys: Tree::default(), last: None, left: Arc::default() }
    }
}

impl Image {
    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How many keys there are, and the deletion that was the last write, if it was one.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing was ever written.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How long keys have left that expire, the soonest first.
    pub fn left(&self) -> &[(Arc<str>, Millis)] {
        &self.left
    }

    /// The change that made the revision, which may be a deletion; `None` if nothing was ever written.
    pub fn last(&self) -> Option<&Change> {
        self.last.as_ref()
    }

    /// The writes that made what is there, in byte order of keys. Values that a store has elsewhere cannot be current.
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

    /// All of an archive. Takes as long as reading it does.
    ///
    /// # Errors
    /// What cannot be read, or does not fit together.
    pub fn of(archive: &dyn Archive) -> Result<Self, String> {
        let (mut mvcc, mut revisions) =
            (Mvcc::beginning(archive.revision(), archive.last().cloned()), Vec::new());
        for part in 0..archive.parts().len() {
            let kept = archive.read(part)?;
            revisions.extend(kept.iter().map(|kept| kept.mod_revision));
            mvcc.adopt(kept, 0);
        }
        revisions.sort_unstable();
        if revisions.windows(2).any(|pair| pair.first() == pair.last()) {
            Err("two keys have the same revision".to_owned())
        } else {
            Ok(mvcc.image(0))
        }
    }
}

impl Mvcc {
    /// The present, where `now` is. Takes as long as the history is that no compaction has dropped yet.
    pub fn image(&self, now: Millis) -> Image {
        let mut keys = self.keys.clone();
        let mut dead = Vec::new();
        for (_, key) in &self.unswept {
            super::forget_before(&mut keys, key, self.revision, &mut dead);
        }
        let left = self.deadlines.all().map(|(at, key)| (key.clone(), at.saturating_sub(now)));
        let last = self.log.back().cloned().or_else(|| self.last_of(&keys));
        Image { revision: self.revision, last, left: left.collect(), keys }
    }

    /// The last change by what is left of it. A store that has no log in memory looks through its keys for it.
    fn last_of(&self, keys: &Tree<Arc<Entry>>) -> Option<Change> {
        let entry = keys.iter().find(|entry| entry.versions.newest().revision == self.revision)?;
        let value = match &entry.versions.newest().value {
            VersionValue::Live(value) => Some(value.clone()),
            VersionValue::Elsewhere | VersionValue::Deleted => None,
        };
        Some(Change {
            revision: self.revision,
            key: entry.key.clone(),
            value,
            previous: None,
            expires_at: None,
        })
    }

    /// A store of its own that begins with an image, compacted to there, where it is `now`.
    pub fn of(image: &Image, now: Millis) -> Self {
        let mut deadlines = Deadlines::default();
        for (key, left) in image.left.iter() {
            deadlines.set(key, Some(now.saturating_add(*left)));
        }
        let begun = Mvcc::beginning(image.revision, image.last.clone());
        Mvcc { keys: image.keys.clone(), deadlines, ..begun }
    }

    /// A store of its own that begins with what was there at a revision, compacted to there, but for the keys, which
    /// are to be [adopted](Self::adopt). `last` is the change that made the revision.
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

    /// Takes in keys of what the store [began](Self::beginning) with, which nobody has asked for or changed yet, where it
    /// is `now`.
    pub fn adopt(&mut self, kept: Vec<ArchivedKey>, now: Millis) {
        for ArchivedKey { key, mod_revision, value, left } in kept {
            self.deadlines.set(&key, left.map(|left| now.saturating_add(left)));
            let version = Version { revision: mod_revision, value: VersionValue::Live(value) };
            self.keys.insert(Arc::new(Entry::new(key, version)));
        }
    }
}
