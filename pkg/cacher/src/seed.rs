//! What the caches of one store begin with that has the objects of another one: the states of that one's caches,
//! which share every element with it.

use std::collections::HashMap;
use std::sync::Arc;

use storage::Revision;

use crate::Delegator;
use crate::core::Snapshot;

/// The states of the caches of a store at one revision.
#[derive(Debug, Default)]
pub struct Seed {
    revision: Revision,
    /// By prefix.
    snapshots: HashMap<String, Arc<Snapshot>>,
}

impl Seed {
    /// The revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The state of the resource with a prefix, as a list at the revision shows it.
    pub(crate) fn state(&self, prefix: &str) -> Option<Snapshot> {
        Some(self.snapshots.get(prefix)?.as_of(self.revision))
    }

    /// Whether a key belongs to a resource whose state is here; `root` is how long the prefix of all keys is.
    pub(crate) fn is_about(&self, key: &str, root: usize) -> bool {
        let ends = key.get(root..).into_iter().flat_map(|rest| rest.match_indices('/').take(2));
        ends.filter_map(|(at, _)| key.get(..root + at + 1)).any(|prefix| self.snapshots.contains_key(prefix))
    }
}

impl Delegator {
    /// The states of all caches that are filled, at `revision`, which the store was seen to have. `None` if the
    /// store has gone on by then, or the caches do not get there in time.
    pub async fn seed(&self, revision: Revision) -> Option<Seed> {
        if !self.inner.frontier.wait_for_known(revision).await {
            return None;
        }
        let cached = |resource: &Arc<crate::Resource>| {
            let snapshot = resource.cache.as_ref()?.snapshot()?;
            Some((resource.config.prefix.clone(), snapshot))
        };
        let snapshots: HashMap<_, _> = self.inner.resources.load().iter().filter_map(cached).collect();
        // They were loaded after the frontier was there, so they are complete; and none may show what came later.
        let exact = snapshots.values().all(|snapshot| snapshot.revision() <= revision);
        exact.then_some(Seed { revision, snapshots })
    }
}
