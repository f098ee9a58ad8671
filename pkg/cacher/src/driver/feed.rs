//! The watch that feeds the caches, opened again from where it was complete when it breaks off.

use std::time::Duration;

use futures::StreamExt;
use storage::{Error, Revision, Storage, WatchItem, WatchOptions, WatchStream};
use tokio::time::Instant;

use super::backoff::Backoff;

/// A watch that fails again and again at one place, for a reason that does not pass, is given up after
/// so long: a list gets past what a watch cannot (upstream's `maxInternalErrorRetryDuration`).
const STUCK_MAX: Duration = Duration::from_secs(30);

/// Why there is nothing more to come.
pub(super) enum End {
    /// Changes were missed.
    Gap(String),
    /// There will be no more changes.
    StoreClosed,
}

/// A watch of everything below a prefix.
pub(super) struct Feed<'a> {
    store: &'a dyn Storage,
    prefix: &'a str,
    /// `None` while it is broken.
    watch: Option<WatchStream>,
    /// Everything before this has been handed out.
    next: Revision,
    /// Since when it has failed at `next`.
    stuck: Option<Instant>,
    backoff: Backoff,
}

impl<'a> Feed<'a> {
    /// Opens the watch behind `revision`.
    pub(super) async fn open(
        store: &'a dyn Storage,
        prefix: &'a str,
        revision: Revision,
    ) -> Result<Self, Error> {
        let next = revision + 1;
        let watch = Some(store.watch(prefix, options(next)).await?);
        Ok(Feed { store, prefix, watch, next, stuck: None, backoff: Backoff::default() })
    }

    /// The next item. `None` says that the watch broke off: what was handed out since the last progress
    /// will come again. Can be dropped and called again at any time.
    pub(super) async fn next(&mut self) -> Result<Option<WatchItem>, End> {
        loop {
            if let Some(watch) = &mut self.watch {
                return match watch.next().await {
                    Some(Ok(item)) => Ok(Some(self.count(item))),
                    Some(Err(error)) => self.failed(&error).map(|()| None),
                    None => Err(End::StoreClosed),
                };
            }
            self.backoff.wait().await;
            match self.store.watch(self.prefix, options(self.next)).await {
                Ok(watch) => self.watch = Some(watch),
                Err(error) => self.failed(&error)?,
            }
        }
    }

    fn count(&mut self, item: WatchItem) -> WatchItem {
        if let WatchItem::Progress(revision) = item {
            self.next = self.next.max(revision + 1);
            self.stuck = None;
            self.backoff.reset();
        }
        item
    }

    fn failed(&mut self, error: &Error) -> Result<(), End> {
        self.watch = None;
        let stuck = *self.stuck.get_or_insert_with(Instant::now);
        let passes = match error {
            Error::Compacted { .. } => false,
            Error::Unavailable(_) => true,
            _ => stuck.elapsed() < STUCK_MAX,
        };
        if !passes {
            return Err(End::Gap(error.to_string()));
        }
        tracing::warn!(%error, next = self.next, "the watch of the caches broke off");
        Ok(())
    }
}

fn options(start: Revision) -> WatchOptions {
    WatchOptions { start, prev_kv: false, exact: false, progress: true }
}
