//! Retries of values that could not be decrypted on arrival, for example because the KMS did not respond.
//! When one can be decrypted, its resource is listed again while its cache stays in service.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use storage::{Form, Storage};

use crate::cache::Cache;
use crate::{Damage, Element};

/// Interval of the retries.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of remembered keys per resource (the latest). The list recovers the others.
const KEYS_MAX: usize = 256;
/// Maximum number of keys per retry, in rotation: some values may never be decryptable.
const KEYS_PER_RETRY_MAX: usize = 4;

/// Keys of one resource whose values could not be decrypted.
#[derive(Debug, Default)]
pub(super) struct UndecryptableKeys {
    keys: VecDeque<String>,
    /// True while a retry is running.
    retrying: bool,
}

impl UndecryptableKeys {
    /// Remembers an element if it could not be decrypted.
    pub(super) fn record(&mut self, element: &Element) {
        let is_sealed = matches!(element.damage(), Some((Damage::Undecryptable, _)));
        if !is_sealed || self.keys.iter().any(|key| key == element.key()) {
            return;
        }
        if self.keys.len() >= KEYS_MAX {
            self.keys.pop_front();
        }
        self.keys.push_back(element.key().to_owned());
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    /// Returns the next keys to retry and marks them as running; none while a retry is running. Changed and
    /// deleted objects are dropped.
    pub(super) fn next(&mut self, cache: &Cache) -> Vec<String> {
        if self.retrying || self.keys.is_empty() {
            return Vec::new();
        }
        let Some(snapshot) = cache.snapshot() else { return Vec::new() };
        let is_sealed = |element: &Arc<Element>| matches!(element.damage(), Some((Damage::Undecryptable, _)));
        self.keys.retain(|key| snapshot.get(key).is_some_and(is_sealed));
        let count = self.keys.len().min(KEYS_PER_RETRY_MAX);
        let keys = self.keys.iter().take(count).cloned().collect();
        self.keys.rotate_left(count);
        self.retrying = count > 0;
        keys
    }

    /// Marks the retry as finished.
    pub(super) fn finish_retry(&mut self) {
        self.retrying = false;
    }
}

/// True if one of these values can be decrypted now.
pub(super) async fn can_decrypt_any(store: &dyn Storage, keys: &[String]) -> bool {
    for key in keys {
        let kv = store.get(key).await.ok().and_then(|lookup| lookup.kv);
        if kv.is_some_and(|kv| !matches!(kv.form, Form::Unreadable(_))) {
            return true;
        }
    }
    false
}
