//! States of the past that are kept for the next page.

use std::sync::Arc;

use crate::core::Snapshot;

/// How many are kept. Each may hold on to objects that are superseded.
const KEPT_MAX: usize = 4;

/// States of the past, the one used last at the end.
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
    /// The kept state that ends at a position or the least behind it, as the one to start from.
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

    /// Keeps a state instead of the one that was not used for longest.
    pub(crate) fn keep(&mut self, snapshot: Arc<Snapshot>) {
        self.kept.retain(|kept| kept.snapshot.next() != snapshot.next());
        if self.kept.len() >= KEPT_MAX {
            self.kept.remove(0);
        }
        self.kept.push(Kept { snapshot, used: true });
    }

    /// Drops what was not used since the last sweep.
    pub(crate) fn sweep(&mut self) {
        self.kept.retain_mut(|kept| std::mem::take(&mut kept.used));
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}
