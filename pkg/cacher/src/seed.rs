//! Initial contents of the caches of a store that has the same objects as another store: the snapshots of the
//! other store's caches. All elements are shared.

use std::collections::HashMap;
use std::sync::Arc;

use storage::Revision;

use crate::Delegator;
use crate::core::Snapshot;

/// The cached state of a store at one revision.
#[derive(Debug, Default)]
pub struct Seed {
    revision: Revision,
    snapshots: HashMap<String, Arc<Snapshot>>,
}

impl Seed {
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The state of the resource with a prefix, as listed at the seed's revision.
    pub(crate) fn state(&self, prefix: &str) -> Option<Snapshot> {
        Some(self.snapshots.get(prefix)?.as_of(self.revision))
    }

    /// True if the key belongs to a resource in the seed. `root` is the length of the prefix of all keys.
    pub(crate) fn covers_key(&self, key: &str, root: usize) -> bool {
        let ends = key.get(root..).into_iter().flat_map(|rest| rest.match_indices('/').take(2));
        ends.filter_map(|(at, _)| key.get(..root + at + 1)).any(|prefix| self.snapshots.contains_key(prefix))
    }
}

impl Delegator {
    /// Returns the state of all filled caches of the main store at `revision`, which must exist there. `None` if the
    /// store has newer changes, or if the caches do not reach the revision in time.
    pub async fn seed(&self, revision: Revision) -> Option<Seed> {
        let main = self.inner.sources.main();
        if !main.frontier.wait_for_existing(revision).await {
            return None;
        }
        let cached = |resource: &Arc<crate::Resource>| {
            let snapshot = resource.cache.as_ref()?.snapshot()?;
            Some((resource.config.prefix.clone(), snapshot))
        };
        let resources = self.inner.resources.load();
        let of_main = resources.iter().filter(|resource| resource.has_source(main));
        let snapshots: HashMap<_, _> = of_main.filter_map(cached).collect();
        // The snapshots are complete because they were loaded after the frontier reached the revision. They
        // must not contain later changes.
        let exact = snapshots.values().all(|snapshot| snapshot.revision() <= revision);
        exact.then_some(Seed { revision, snapshots })
    }
}
