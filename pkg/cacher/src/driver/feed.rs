//! The watch that feeds the caches. After a failure it is reopened at the last complete revision.

use std::time::Duration;

use futures::StreamExt;
use storage::{Error, Revision, Storage, WatchItem, WatchOptions, WatchStream};
use tokio::time::Instant;

use super::backoff::Backoff;

/// Maximum time of repeated permanent failures of the watch at one revision. Then the resources are listed
/// again, because a list can get past the failure (upstream's `maxInternalErrorRetryDuration`).
const FAILING_MAX: Duration = Duration::from_secs(30);

/// Reason for the end of the feed.
pub(super) enum End {
    /// Changes were missed.
    Gap(String),
    StoreClosed,
}

/// A watch of everything below a prefix.
pub(super) struct Feed<'a> {
    store: &'a dyn Storage,
    prefix: &'a str,
    /// `None` while the watch is broken.
    watch: Option<WatchStream>,
    /// All changes before this revision have been delivered.
    next: Revision,
    /// Start of the failures at `next`.
    failing_since: Option<Instant>,
    backoff: Backoff,
}

impl<'a> Feed<'a> {
    /// Opens the watch after `revision`.
    pub(super) async fn open(
        store: &'a dyn Storage,
        prefix: &'a str,
        revision: Revision,
    ) -> Result<Self, Error> {
        let next = revision + 1;
        let watch = Some(store.watch(prefix, options(next)).await?);
        Ok(Feed { store, prefix, watch, next, failing_since: None, backoff: Backoff::default() })
    }

    /// Returns the next item. `None` means that the watch failed: the items since the last progress will be
    /// repeated. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<WatchItem>, End> {
        loop {
            if let Some(watch) = &mut self.watch {
                return match watch.next().await {
                    Some(Ok(item)) => Ok(Some(self.record_progress(item))),
                    Some(Err(error)) => self.handle_failure(&error).map(|()| None),
                    None => Err(End::StoreClosed),
                };
            }
            self.backoff.wait().await;
            match self.store.watch(self.prefix, options(self.next)).await {
                Ok(watch) => self.watch = Some(watch),
                Err(error) => self.handle_failure(&error)?,
            }
        }
    }

    fn record_progress(&mut self, item: WatchItem) -> WatchItem {
        if let WatchItem::Progress(revision) = item {
            self.next = self.next.max(revision + 1);
            self.failing_since = None;
            self.backoff.reset();
        }
        item
    }

    fn handle_failure(&mut self, error: &Error) -> Result<(), End> {
        self.watch = None;
        let stuck = *self.failing_since.get_or_insert_with(Instant::now);
        let passes = match error {
            Error::Compacted { .. } => false,
            Error::Unavailable(_) => true,
            _ => stuck.elapsed() < FAILING_MAX,
        };
        if !passes {
            return Err(End::Gap(error.to_string()));
        }
        tracing::warn!(%error, next = self.next, "watch of the caches failed");
        Ok(())
    }
}

fn options(start: Revision) -> WatchOptions {
    WatchOptions { start, prev_kv: false, exact: false, progress: true }
}
