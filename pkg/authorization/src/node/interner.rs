//! String interner with reference counts.

use std::collections::HashMap;
use std::sync::Arc;

/// Id of an interned string. It is valid while the string is in use.
pub(super) type Id = u32;

/// Interned strings. Ids of released strings are reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Interner {
    ids: HashMap<Arc<str>, Id>,
    /// Strings with their reference counts, by id.
    used: Vec<(Arc<str>, u32)>,
    free: Vec<Id>,
}

impl Interner {
    /// Returns the id of an interned string.
    pub(super) fn find(&self, text: &str) -> Option<Id> {
        self.ids.get(text).copied()
    }

    pub(super) fn text(&self, id: Id) -> &str {
        self.used.get(id as usize).map_or("", |(text, _)| text)
    }

    /// Interns a string or increments its reference count.
    pub(super) fn intern(&mut self, text: &str) -> Id {
        if let Some(&id) = self.ids.get(text) {
            if let Some((_, uses)) = self.used.get_mut(id as usize) {
                *uses += 1;
            }
            return id;
        }
        let text: Arc<str> = text.into();
        let entry = (Arc::clone(&text), 1);
        let id = match self.free.pop() {
            Some(id) => {
                if let Some(slot) = self.used.get_mut(id as usize) {
                    *slot = entry;
                }
                id
            }
            None => {
                self.used.push(entry);
                // Memory is exhausted long before 2^32 strings.
                Id::try_from(self.used.len() - 1).unwrap_or(Id::MAX)
            }
        };
        self.ids.insert(text, id);
        id
    }

    /// Decrements the reference count of a string.
    pub(super) fn release(&mut self, id: Id) {
        let Some((text, uses)) = self.used.get_mut(id as usize) else { return };
        *uses = uses.saturating_sub(1);
        if *uses == 0 && self.ids.remove(text).is_some() {
            *text = Arc::default();
            self.free.push(id);
        }
    }

    /// Returns the number of interned strings.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
