//! The lag of a watch behind its log, for observers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cache::Cache;
use crate::core::Mark;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lag {
    /// Number of changes in its topic that it has not taken; all changes while it is far behind. The client
    /// may additionally lack up to 32 taken changes.
    pub changes: u64,
    /// Age of the oldest of these changes.
    pub age: Option<Duration>,
}

/// A handle to the progress of a watch. Clones share it.
#[derive(Clone)]
pub struct Progress {
    cache: Arc<Cache>,
    mark: Arc<SharedMark>,
}

/// The position of a watch at its last read.
pub(super) struct SharedMark(Mutex<Mark>);

impl SharedMark {
    pub(super) fn set(&self, mark: Mark) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }
}

impl Progress {
    pub(super) fn new(cache: Arc<Cache>, mark: Mark) -> Self {
        Progress { cache, mark: Arc::new(SharedMark(Mutex::new(mark))) }
    }

    pub(super) fn mark(&self) -> Arc<SharedMark> {
        Arc::clone(&self.mark)
    }

    pub fn lag(&self) -> Lag {
        let mark = *self.mark.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.cache.lag(mark, Instant::now())
    }
}
