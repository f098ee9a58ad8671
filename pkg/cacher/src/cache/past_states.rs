//! Past states that are kept for the next page of a list.

use std::sync::Arc;

use crate::core::Snapshot;

/// Maximum number of past states. Each may keep superseded objects alive.
const STATES_MAX: usize = 4;

/// Past states, the most recently used last.
#[derive(Debug, Default)]
pub(crate) struct PastStates {
    states: Vec<PastState>,
}

#[derive(Debug)]
struct PastState {
    snapshot: Arc<Snapshot>,
    used: bool,
}

impl PastStates {
    /// The state at a position, or the nearest later one, from which changes can be undone.
    pub(crate) fn nearest(&mut self, position: u64) -> Option<Arc<Snapshot>> {
        let behind = self.states.iter().enumerate().filter(|(_, state)| state.snapshot.next() >= position);
        let (at, _) = behind.min_by_key(|(_, state)| state.snapshot.next())?;
        let snapshot = Arc::clone(&self.states.get(at)?.snapshot);
        if snapshot.next() == position {
            let nearest = self.states.remove(at);
            self.states.push(PastState { used: true, ..nearest });
        }
        Some(snapshot)
    }

    /// Keeps a state and evicts the least recently used one.
    pub(crate) fn insert(&mut self, snapshot: Arc<Snapshot>) {
        self.states.retain(|state| state.snapshot.next() != snapshot.next());
        if self.states.len() >= STATES_MAX {
            self.states.remove(0);
        }
        self.states.push(PastState { snapshot, used: true });
    }

    /// Drops the states that were not used since the last sweep.
    pub(crate) fn sweep(&mut self) {
        self.states.retain_mut(|state| std::mem::take(&mut state.used));
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
    }
}
