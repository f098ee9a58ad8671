//! State shared by the committer, readers and watchers.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use storage::feed::Feed;
use storage::mvcc::Mvcc;
use tokio::sync::Notify;

use crate::disk::Disk;

pub(crate) struct Shared {
    /// Only the committer writes, after a commit. The lock is held briefly by all users.
    mvcc: RwLock<Mvcc>,
    pub(crate) feed: Feed,
    pub(crate) disk: Disk,
    /// Notifies that the earliest deadline may have changed.
    pub(crate) deadline_set: Notify,
}

impl Shared {
    pub(crate) fn new(mvcc: Mvcc, disk: Disk) -> Self {
        let feed = Feed::new(mvcc.revision(), mvcc.compacted());
        Shared { mvcc: RwLock::new(mvcc), feed, disk, deadline_set: Notify::new() }
    }

    /// Ignores poisoning: changes of the state are single calls that do not panic.
    pub(crate) fn mvcc(&self) -> RwLockReadGuard<'_, Mvcc> {
        self.mvcc.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mvcc_mut(&self) -> RwLockWriteGuard<'_, Mvcc> {
        self.mvcc.write().unwrap_or_else(PoisonError::into_inner)
    }
}
