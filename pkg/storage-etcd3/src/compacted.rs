//! What is known about how far the cluster is compacted: what this store compacted itself, and what
//! the other API servers announce through [`COMPACT_REV_KEY`].
//!
//! A server writes the key before it compacts. One that dies in between, or an operator who compacts
//! by hand, makes the key say too much or too little until the next round; a cache that goes by it
//! then forgets a little early, or remembers what etcd has forgotten.

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
use crate::store::one_key;
use crate::watch::Watch;

/// Between attempts to read the key. The watch that follows the read has its own way of coming back.
const PAUSE: Duration = Duration::from_secs(1);

/// The newest compaction known, and the task that looks out for more. Dropping it ends the task.
#[derive(Debug)]
pub(crate) struct Compactions {
    newest: watch::Sender<Revision>,
    observer: OnceLock<AbortHandle>,
}

impl Compactions {
    /// None is known, and nobody looks out yet.
    pub(crate) fn new() -> Self {
        Self { newest: watch::Sender::new(0), observer: OnceLock::new() }
    }

    /// History is compacted to `revision`.
    pub(crate) fn note(&self, revision: Revision) {
        note(&self.newest, revision);
    }

    /// The newest revision known, from now on kept up to date with what others announce.
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
        if let Err(error) = follow(&members, budget, &newest).await {
            tracing::debug!(%error, "the compaction of etcd is not observed at the moment");
        }
        sleep(PAUSE).await;
    }
}

/// Reads the key and watches it from there, until that cannot go on: the watch ends when it was cut
/// off for so long that its place in history is compacted.
async fn follow(
    members: &Arc<Members>,
    budget: Budget,
    newest: &watch::Sender<Revision>,
) -> Result<(), Error> {
    let read =
        async |member: Arc<Member>| member.kv().get(COMPACT_REV_KEY, None).await.map(|response| response.0);
    let found = one_key(members.call(budget, Effect::Read, read).await)?;
    if let Some(revision) = found.kv.and_then(|kv| revision_in(&kv.value)) {
        note(newest, revision);
    }
    let options = WatchOptions { exact: true, ..WatchOptions::default() };
    let start = found.revision + 1;
    // Nobody asks this watch for progress.
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
