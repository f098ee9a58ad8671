//! One write: as asked for, and as decided.

use std::sync::Arc;

use bytes::Bytes;

use super::Millis;
use crate::{EventKind, KeyValue, Revision, WatchEvent};

/// A conditional write of one key, before it is decided.
#[derive(Debug, Clone)]
pub struct Write {
    /// The key.
    pub key: Arc<str>,
    /// The new value, `None` to delete.
    pub value: Option<Bytes>,
    /// The revision that the key must be at; 0 for absent.
    pub expected: Revision,
    /// When the value expires.
    pub expires_at: Option<Millis>,
}

/// What a key held before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// The revision of the superseded value.
    pub mod_revision: Revision,
    /// The value, `None` when the store no longer has it.
    pub value: Option<Bytes>,
}

/// One change of one key: an entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The revision that the change makes.
    pub revision: Revision,
    /// The key.
    pub key: Arc<str>,
    /// The new value, `None` for a deletion.
    pub value: Option<Bytes>,
    /// What it replaces, `None` when the key is created.
    pub previous: Option<Previous>,
    /// When the new value expires.
    pub expires_at: Option<Millis>,
}

impl Write {
    /// What the write does to a key whose present value and revision are `current`, as the change at
    /// `revision`; or the current state, when it is not the expected one. Deleting what is absent is
    /// always stale, so that no revision passes without an event.
    pub fn decide(
        self,
        current: Option<(Revision, &Bytes)>,
        revision: Revision,
    ) -> Result<Change, Option<KeyValue>> {
        let at = current.map_or(0, |(mod_revision, _)| mod_revision);
        if at != self.expected || (self.value.is_none() && current.is_none()) {
            return Err(current
                .map(|(mod_revision, value)| KeyValue::new(self.key.as_ref(), value.clone(), mod_revision)));
        }
        let previous =
            current.map(|(mod_revision, value)| Previous { mod_revision, value: Some(value.clone()) });
        Ok(Change { revision, key: self.key, value: self.value, previous, expires_at: self.expires_at })
    }
}

impl Change {
    /// What happened, in the contract's words.
    pub fn kind(&self) -> EventKind {
        match (&self.value, &self.previous) {
            (None, _) => EventKind::Delete,
            (Some(_), None) => EventKind::Create,
            (Some(_), Some(_)) => EventKind::Update,
        }
    }

    /// The event that a watch delivers, with the previous value where `prev_kv` asks for it.
    pub fn event(&self, prev_kv: bool) -> WatchEvent {
        let kv = |value: &Bytes, mod_revision| KeyValue::new(self.key.as_ref(), value.clone(), mod_revision);
        let previous = self.previous.as_ref().filter(|_| prev_kv);
        WatchEvent {
            kind: self.kind(),
            kv: kv(self.value.as_ref().unwrap_or(&Bytes::new()), self.revision),
            prev: previous.and_then(|p| Some(kv(p.value.as_ref()?, p.mod_revision))),
        }
    }

    /// The memory that the log holds for this change, about.
    pub(super) fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, Bytes::len);
        let previous = self.previous.as_ref().and_then(|p| p.value.as_ref()).map_or(0, Bytes::len);
        size_of::<Change>() + self.key.len() + value + previous
    }
}
