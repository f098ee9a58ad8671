//! Values that nobody could open when they came in, because whoever has the keys did not answer. They are tried again
//! from time to time; when one opens, its resource is listed anew, while its cache stays in service.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use storage::{Form, Storage};

use crate::cache::Cache;
use crate::{Damage, Element};

/// How often they are tried.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);
/// How many keys of a resource are remembered, the last ones. The others come back with the list.
const KEYS_MAX: usize = 256;
/// How many of them are tried each time, in turn: some may never open.
const TRIED_MAX: usize = 4;

/// The keys of one resource whose values could not be opened.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    keys: VecDeque<String>,
    /// Some are being tried.
    trying: bool,
}

impl Sealed {
    /// Remembers an element if nobody could open it.
    pub(super) fn note(&mut self, element: &Element) {
        let is_sealed = matches!(element.damage(), Some((Damage::Sealed, _)));
        if !is_sealed || self.keys.iter().any(|key| key == element.key()) {
            return;
        }
        if self.keys.len() >= KEYS_MAX {
            self.keys.pop_front();
        }
        self.keys.push_back(element.key().to_owned());
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    /// The keys whose turn it is to be tried, and notes that they are; none while others are. What has changed
    /// meanwhile, or went, is forgotten.
    pub(super) fn next(&mut self, cache: &Cache) -> Vec<String> {
        if self.trying || self.keys.is_empty() {
            return Vec::new();
        }
        let Some(snapshot) = cache.snapshot() else { return Vec::new() };
        let is_sealed = |element: &Arc<Element>| matches!(element.damage(), Some((Damage::Sealed, _)));
        self.keys.retain(|key| snapshot.get(key).is_some_and(is_sealed));
        let count = self.keys.len().min(TRIED_MAX);
        let keys = self.keys.iter().take(count).cloned().collect();
        self.keys.rotate_left(count);
        self.trying = count > 0;
        keys
    }

    /// They have been tried.
    pub(super) fn tried(&mut self) {
        self.trying = false;
    }
}

/// Whether one of these values can be opened by now.
pub(super) async fn opens(store: &dyn Storage, keys: &[String]) -> bool {
    for key in keys {
        let found = store.get(key).await.ok().and_then(|lookup| lookup.kv);
        if found.is_some_and(|kv| !matches!(kv.form, Form::Unreadable(_))) {
            return true;
        }
    }
    false
}
