//! Texts with numbers: what is named often is kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a text, for as long as somebody uses it.
pub(super) type Id = u32;

/// Texts in use. A number is given to another text once its own is no longer used.
#[derive(Debug, Clone, Default)]
pub(super) struct Interner {
    ids: HashMap<Arc<str>, Id>,
    /// By number, with how often each is used.
    used: Vec<(Arc<str>, u32)>,
    free: Vec<Id>,
}

impl Interner {
    /// The number of a text that is used.
    pub(super) fn find(&self, text: &str) -> Option<Id> {
        self.ids.get(text).copied()
    }

    /// The text of a number.
    pub(super) fn text(&self, id: Id) -> &str {
        self.used.get(id as usize).map_or("", |(text, _)| text)
    }

    /// Uses a text once more.
    pub(super) fn take(&mut self, text: &str) -> Id {
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
                // There is no memory for 2^32 texts.
                Id::try_from(self.used.len() - 1).unwrap_or(Id::MAX)
            }
        };
        self.ids.insert(text, id);
        id
    }

    /// Uses a text once less.
    pub(super) fn release(&mut self, id: Id) {
        let Some((text, uses)) = self.used.get_mut(id as usize) else { return };
        *uses = uses.saturating_sub(1);
        if *uses == 0 && self.ids.remove(text).is_some() {
            *text = Arc::default();
            self.free.push(id);
        }
    }

    /// How many texts are used.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
