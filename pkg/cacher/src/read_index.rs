//! Batched reads of the store's latest revision.
//!
//! The cache can serve a consistent read as soon as it is complete up to the store's revision at the read's
//! arrival (Raft's read index). One linearizable read of the store serves all readers of any resource that
//! arrived before it started. Later readers share the next one. So at most one runs at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use storage::{Error, Revision, Storage};

/// A read shared by several waiters; any remaining waiter drives it.
type SharedRead = Shared<BoxFuture<'static, Result<Revision, Error>>>;

/// One read of the store's revision.
struct Round {
    /// True once the store is called: too late to join.
    started: Arc<AtomicBool>,
    read: SharedRead,
}

/// Batches reads of the store's revision.
pub(crate) struct ReadIndex {
    store: Arc<dyn Storage>,
    round: Mutex<Option<Round>>,
}

impl ReadIndex {
    pub(crate) fn new(store: Arc<dyn Storage>) -> Self {
        ReadIndex { store, round: Mutex::new(None) }
    }

    /// Returns a revision that is not below that of any write acknowledged before this call.
    ///
    /// # Errors
    /// Storage errors.
    pub(crate) async fn read(&self) -> Result<Revision, Error> {
        self.join().await
    }

    /// Joins the round that has not started, or creates one that starts after the last round.
    fn join(&self) -> SharedRead {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        match &*round {
            // A reader that finds this flag unset arrived before the store is called.
            Some(open) if !open.started.load(Ordering::SeqCst) => open.read.clone(),
            _ => {
                let previous = round.take().map(|round| round.read);
                round.insert(self.next_round(previous)).read.clone()
            }
        }
    }

    fn next_round(&self, previous: Option<SharedRead>) -> Round {
        let started = Arc::new(AtomicBool::new(false));
        let store = Arc::clone(&self.store);
        let begin = Arc::clone(&started);
        let read = async move {
            if let Some(previous) = previous {
                // Its error is reported to its own waiters.
                let _ = previous.await;
            }
            begin.store(true, Ordering::SeqCst);
            store.current_revision().await
        };
        Round { started, read: read.boxed().shared() }
    }
}

#[cfg(test)]
mod tests;
