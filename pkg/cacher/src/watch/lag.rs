//! How far a watch is behind the log that it reads, for whoever looks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cache::Cache;
use crate::core::Mark;

/// How far a watch is behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lag {
    /// Changes that concern it and that it has not taken; while it is far behind, all changes. It may have taken up to
    /// 32 more that its client has not.
    pub changes: u64,
    /// How long the first of them has been waiting.
    pub age: Option<Duration>,
}

/// Tells how far a watch is. Clones tell the same.
#[derive(Clone)]
pub struct Progress {
    cache: Arc<Cache>,
    reached: Arc<SharedMark>,
}

/// How far a watch had come when it read last.
pub(super) struct SharedMark(Mutex<Mark>);

impl SharedMark {
    pub(super) fn set(&self, mark: Mark) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }
}

impl Progress {
    pub(super) fn new(cache: Arc<Cache>, mark: Mark) -> Self {
        Progress { cache, reached: Arc::new(SharedMark(Mutex::new(mark))) }
    }

    pub(super) fn reached(&self) -> Arc<SharedMark> {
        Arc::clone(&self.reached)
    }

    /// How far it is behind now.
    pub fn lag(&self) -> Lag {
        let mark = *self.reached.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.cache.lag(mark, Instant::now())
    }
}
