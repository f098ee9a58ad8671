//! Expiry of keys: by key, and in order of time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Milliseconds since an epoch chosen by the driver.
pub type Millis = u64;

/// The deadlines of all expiring keys.
#[derive(Debug, Default)]
pub struct Deadlines {
    by_key: HashMap<Arc<str>, Millis>,
    by_time: BTreeSet<(Millis, Arc<str>)>,
}

impl Deadlines {
    /// Sets or, with `None`, removes the deadline of `key`.
    pub fn set(&mut self, key: &Arc<str>, deadline: Option<Millis>) {
        let old = match deadline {
            Some(at) => self.by_key.insert(key.clone(), at),
            None => self.by_key.remove(key),
        };
        if let Some(old) = old {
            self.by_time.remove(&(old, key.clone()));
        }
        if let Some(at) = deadline {
            self.by_time.insert((at, key.clone()));
        }
    }

    /// All deadlines, the earliest first.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &(Millis, Arc<str>)> {
        self.by_time.iter()
    }

    /// The earliest deadline; `None` if no key expires.
    pub fn next(&self) -> Option<Millis> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// The keys whose deadline is not after `now`, the earliest first.
    pub fn due(&self, now: Millis) -> impl Iterator<Item = &Arc<str>> {
        self.by_time.iter().take_while(move |(at, _)| *at <= now).map(|(_, key)| key)
    }
}
