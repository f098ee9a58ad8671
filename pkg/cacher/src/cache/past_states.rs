//! Past states that are kept for the next page of a list.

use std::sync::Arc;

use crate::core::Snapshot;

/// Maximum number of past states. Each may keep superseded objects alive.
const KEPT_MAX: usize = 4;

/// Past states, the most recently used last.
#[derive(Debug, Default)]
pub(crate) struct PastStates {
    kept: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    snapshot: Arc<Snapshot>,
    used: bool,
}

impl PastStates {
    /// The state at a position, or the nearest later one, from which changes can be undone.
    pub(crate) fn nearest(&mut self, position: u64) -> Option<Arc<Snapshot>> {
        let behind = self.kept.iter().enumerate().filter(|(_, kept)| kept.snapshot.next() >= position);
        let (at, _) = behind.min_by_key(|(_, kept)| kept.snapshot.next())?;
        let snapshot = Arc::clone(&self.kept.get(at)?.snapshot);
        if snapshot.next() == position {
            let kept = self.kept.remove(at);
            self.kept.push(Kept { used: true, ..kept });
        }
        Some(snapshot)
    }

    /// Keeps a state and evicts the least recently used one.
    pub(crate) fn keep(&mut self, snapshot: Arc<Snapshot>) {
        self.kept.retain(|kept| kept.snapshot.next() != snapshot.next());
        if self.kept.len() >= KEPT_MAX {
            self.kept.remove(0);
        }
        self.kept.push(Kept { snapshot, used: true });
    }

    /// Drops the states that were not used since the last sweep.
    pub(crate) fn sweep(&mut self) {
        self.kept.retain_mut(|kept| std::mem::take(&mut kept.used));
    }

    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}
