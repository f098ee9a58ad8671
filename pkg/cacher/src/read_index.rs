//! Learning the store's latest revision, once for all who want to know it at the same time.
//!
//! A consistent read may be answered from the cache as soon as the cache is complete up to what the
//! store's revision was after the read arrived (Raft's read index). One linearizable read of the
//! store answers everybody who arrived before it began, whatever resource they read; those who
//! arrive while it is under way share the next one. So there is never more than one at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use storage::{Error, Revision, Storage};

/// A read that several wait for; whoever is left of them drives it.
type Answer = Shared<BoxFuture<'static, Result<Revision, Error>>>;

/// One read of the store's revision.
struct Round {
    /// The store has been asked: too late to join.
    begun: Arc<AtomicBool>,
    answer: Answer,
}

/// Batches reads of the store's revision.
pub(crate) struct ReadIndex {
    store: Arc<dyn Storage>,
    /// The last round that anybody joined.
    round: Mutex<Option<Round>>,
}

impl ReadIndex {
    /// Asks `store`.
    pub(crate) fn new(store: Arc<dyn Storage>) -> Self {
        ReadIndex { store, round: Mutex::new(None) }
    }

    /// A revision that is not below that of any write acknowledged before this call.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn read(&self) -> Result<Revision, Error> {
        self.join().await
    }

    /// Joins the round that has not begun, or makes one that begins when the last is over.
    fn join(&self) -> Answer {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        match &*round {
            // Whoever sees this flag unset came before it was set, and the store is asked after.
            Some(open) if !open.begun.load(Ordering::SeqCst) => open.answer.clone(),
            _ => {
                let before = round.take().map(|round| round.answer);
                round.insert(self.round_after(before)).answer.clone()
            }
        }
    }

    fn round_after(&self, before: Option<Answer>) -> Round {
        let begun = Arc::new(AtomicBool::new(false));
        let (store, begin) = (Arc::clone(&self.store), Arc::clone(&begun));
        let answer = async move {
            if let Some(before) = before {
                // Its failure is for those who waited for it.
                let _ = before.await;
            }
            begin.store(true, Ordering::SeqCst);
            store.current_revision().await
        };
        Round { begun, answer: answer.boxed().shared() }
    }
}

#[cfg(test)]
mod tests;
