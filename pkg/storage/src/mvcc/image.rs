//! The present of a store without its past: what a store begins with that is to have the objects of another one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::versions::{Entry, Version, VersionValue};
use super::{Change, Deadlines, Millis, Mvcc, Previous, REVISION_EMPTY};
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

    /// What [`changes`](Self::changes) gave, in the order of revisions, and what keys have left.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn restored(changes: Vec<Change>, left: Vec<(Arc<str>, Millis)>) -> Result<Self, String> {
        let last = changes.last().cloned();
        let mut revision = REVISION_EMPTY;
        let mut entries = Vec::with_capacity(changes.len());
        for change in changes {
            if change.revision <= revision {
                return Err(format!("revision {} does not come after {revision}", change.revision));
            }
            revision = change.revision;
            let value = match change.value {
                Some(value) => VersionValue::Live(value),
                None if last.as_ref().is_some_and(|last| last.revision == revision) => VersionValue::Deleted,
                None => return Err(format!("{:?} is a deletion and not the last change", change.key)),
            };
            entries.push(Arc::new(Entry::new(change.key, Version { revision, value })));
        }
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let twice = entries.windows(2).find_map(|pair| match pair {
            [a, b] => (a.key == b.key).then_some(&a.key),
            _ => None,
        });
        if let Some(key) = twice {
            return Err(format!("{key:?} is there twice"));
        }
        let keys = Tree::from_sorted(entries);
        if let Some((key, _)) = left.iter().find(|(key, _)| keys.get(key).is_none()) {
            return Err(format!("{key:?} expires and is not there"));
        }
        Ok(Image { revision, keys, last, left: left.into() })
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
        let log: VecDeque<Change> = image.last.iter().cloned().collect();
        Mvcc {
            revision: image.revision,
            // An empty store was never compacted.
            compacted: if image.last.is_some() { image.revision } else { 0 },
            keys: image.keys.clone(),
            log_bytes: log.iter().map(Change::bytes).sum(),
            unswept: log.iter().map(|change| (change.revision, change.key.clone())).collect(),
            log,
            deadlines,
        }
    }
}
