//! The known compacted revision of the cluster: compactions by this store, and those that other API servers
//! announce through [`COMPACT_REV_KEY`].
//!
//! A server writes the key before it compacts. If the server dies in between, or if an operator compacts
//! manually, the key is wrong until the next round. A cache then drops history slightly early, or keeps
//! history that etcd no longer has.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use storage::{Error, Revision, WatchItem, WatchOptions};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::COMPACT_REV_KEY;
use crate::call::{Budget, Effect};
use crate::compactor::revision_in;
use crate::member::Member;
use crate::members::Members;
use crate::responses::one_key;
use crate::watch::Watch;

/// Delay between attempts to read the key. The watch after the read reconnects by itself.
const PAUSE: Duration = Duration::from_secs(1);

/// The newest known compaction, and the task that observes further ones. Dropping it ends the task.
#[derive(Debug)]
pub(crate) struct Compactions {
    newest: watch::Sender<Revision>,
    observer: OnceLock<AbortHandle>,
}

impl Compactions {
    /// No known compaction and no task.
    pub(crate) fn new() -> Self {
        Self { newest: watch::Sender::new(0), observer: OnceLock::new() }
    }

    /// Records a compaction to `revision`.
    pub(crate) fn note(&self, revision: Revision) {
        note(&self.newest, revision);
    }

    /// The newest known revision, updated by the announcements of other servers.
    pub(crate) fn observe(&self, members: &Arc<Members>, budget: Budget) -> watch::Receiver<Revision> {
        self.observer.get_or_init(|| {
            tokio::spawn(observe(members.clone(), budget, self.newest.clone())).abort_handle()
        });
        self.newest.subscribe()
    }
}

impl Drop for Compactions {
    fn drop(&mut self) {
        if let Some(observer) = self.observer.get() {
            observer.abort();
        }
    }
}

fn note(newest: &watch::Sender<Revision>, revision: Revision) {
    newest.send_if_modified(|newest| {
        let later = revision > *newest;
        *newest = revision.max(*newest);
        later
    });
}

async fn observe(members: Arc<Members>, budget: Budget, newest: watch::Sender<Revision>) {
    loop {
        if let Err(error) = watch_compactions(&members, budget, &newest).await {
            tracing::debug!(%error, "cannot observe compactions of etcd; retrying");
        }
        sleep(PAUSE).await;
    }
}

/// Reads the key and watches it from there. Fails if the watch was disconnected for so long that its revision
/// is compacted.
async fn watch_compactions(
    members: &Arc<Members>,
    budget: Budget,
    newest: &watch::Sender<Revision>,
) -> Result<(), Error> {
    let read =
        async |member: Arc<Member>| member.kv().get(COMPACT_REV_KEY, None).await.map(|response| response.0);
    let lookup = one_key(members.call(budget, Effect::Read, read).await)?;
    if let Some(revision) = lookup.kv.and_then(|kv| revision_in(&kv.value)) {
        note(newest, revision);
    }
    let options = WatchOptions { exact: true, ..WatchOptions::default() };
    let start = lookup.revision + 1;
    // This watch needs no progress.
    let (_, no_progress) = watch::channel(0);
    let watch = Watch::new(members.clone(), COMPACT_REV_KEY, start, options, budget.attempt, no_progress);
    let mut watch = watch.open().await?;
    while let Some(item) = watch.next().await {
        if let WatchItem::Event(event) = item?
            && let Some(revision) = revision_in(&event.kv.value)
        {
            note(newest, revision);
        }
    }
    Ok(())
}
