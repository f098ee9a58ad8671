//! A write, before and after its decision.

use std::sync::Arc;

use bytes::Bytes;

use super::Millis;
use crate::{EventKind, KeyValue, Revision, WatchEvent};

/// A conditional write of one key, before its decision.
#[derive(Debug, Clone)]
pub struct Write {
    /// Full key.
    pub key: Arc<str>,
    /// The new value, `None` to delete.
    pub value: Option<Bytes>,
    /// The expected revision of the key; 0 if it must not exist.
    pub expected: Revision,
    /// Expiry of the value.
    pub expires_at: Option<Millis>,
}

/// The state of a key before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// The revision of the superseded value.
    pub mod_revision: Revision,
    /// The value, `None` if the store no longer has it.
    pub value: Option<Bytes>,
}

/// A change of one key: an entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The revision of the write; no other change has the same one.
    pub revision: Revision,
    /// Full key.
    pub key: Arc<str>,
    /// The new value, `None` for a deletion.
    pub value: Option<Bytes>,
    /// The replaced state, `None` for a creation.
    pub previous: Option<Previous>,
    /// Expiry of the new value.
    pub expires_at: Option<Millis>,
}

impl Write {
    /// Decides the write for a key with the present value and revision `current`. Returns the change at
    /// `revision`, or the current state if it is not the expected one. Deleting a missing key is always
    /// stale, so that every revision has an event.
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
    /// The type of the change, derived from the presence of `value` and `previous`.
    pub fn kind(&self) -> EventKind {
        match (&self.value, &self.previous) {
            (None, _) => EventKind::Delete,
            (Some(_), None) => EventKind::Create,
            (Some(_), Some(_)) => EventKind::Update,
        }
    }

    /// The event for a watch, with the previous value if `prev_kv`.
    pub fn event(&self, prev_kv: bool) -> WatchEvent {
        let kv = |value: &Bytes, mod_revision| KeyValue::new(self.key.as_ref(), value.clone(), mod_revision);
        let previous = self.previous.as_ref().filter(|_| prev_kv);
        WatchEvent {
            kind: self.kind(),
            kv: kv(self.value.as_ref().unwrap_or(&Bytes::new()), self.revision),
            prev: previous.and_then(|p| Some(kv(p.value.as_ref()?, p.mod_revision))),
        }
    }

    /// Approximate memory of the change in the log.
    pub(super) fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, Bytes::len);
        let previous = self.previous.as_ref().and_then(|p| p.value.as_ref()).map_or(0, Bytes::len);
        size_of::<Change>() + self.key.len() + value + previous
    }
}
