//! Fault injection: a wrapper around any store that fails, delays and breaks watches according to a [`Plan`].
//! Faults depend only on the plan and on the number of earlier calls of the same operation, not on timing, so
//! a seed is reproducible.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, future, stream};
use tokio::sync::watch;

use crate::{
    DeleteResult, Error, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchOptions,
    WatchStream,
};

mod plan;

pub use plan::{Fault, Operation, Plan, Rates};

/// A store with injected faults.
#[derive(Debug)]
pub struct FaultyStorage<S: ?Sized> {
    inner: Arc<S>,
    plan: RwLock<Plan>,
    calls: [AtomicU64; Operation::COUNT],
    injected: AtomicU64,
}

impl<S: Storage + ?Sized> FaultyStorage<S> {
    /// Wraps `inner`, which remains usable without faults: tests use it to check the actual state.
    pub fn new(inner: Arc<S>, plan: Plan) -> Self {
        FaultyStorage {
            inner,
            plan: RwLock::new(plan),
            calls: Default::default(),
            injected: AtomicU64::new(0),
        }
    }

    /// Replaces the plan; [`Plan::none`] stops all faults. Counters continue.
    pub fn set_plan(&self, plan: Plan) {
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// Returns the number of calls of an operation so far, including calls with a fault.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.calls[operation as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of faults so far, of all operations.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// Counts the call and returns its fault.
    fn fault(&self, operation: Operation) -> (Fault, u64) {
        let nth = self.calls[operation as usize].fetch_add(1, Ordering::Relaxed);
        let fault = self.plan.read().unwrap_or_else(PoisonError::into_inner).fault(operation, nth);
        if fault != Fault::None {
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
        (fault, nth)
    }

    async fn run<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let (fault, nth) = self.fault(operation);
        match fault {
            Fault::FailBefore => return Err(injected("before", operation, nth)),
            Fault::Delay(time) => tokio::time::sleep(time).await,
            Fault::None | Fault::FailAfter | Fault::BreakWatch { .. } => {}
        }
        let result = call.await;
        match fault {
            Fault::FailAfter => Err(injected("after", operation, nth)),
            _ => result,
        }
    }
}

fn injected(when: &str, operation: Operation, nth: u64) -> Error {
    Error::Unavailable(format!("injected failure {when} {operation:?} {nth}"))
}

#[async_trait]
impl<S: Storage + ?Sized> Storage for FaultyStorage<S> {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.run(Operation::Get, self.inner.get(key)).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.run(Operation::List, self.inner.list(prefix, options)).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.run(Operation::Count, self.inner.count(prefix)).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        self.run(Operation::Put, self.inner.put(key, value, expected, ttl)).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.run(Operation::Delete, self.inner.delete(key, expected)).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let (fault, nth) = self.fault(Operation::Watch);
        let after = match fault {
            Fault::None => return self.inner.watch(prefix, options).await,
            Fault::FailBefore | Fault::FailAfter => {
                return Err(injected("before", Operation::Watch, nth));
            }
            Fault::Delay(time) => {
                tokio::time::sleep(time).await;
                return self.inner.watch(prefix, options).await;
            }
            Fault::BreakWatch { after } => after,
        };
        let items = self.inner.watch(prefix, options).await?;
        let end = stream::once(future::ready(Err(injected("in", Operation::Watch, nth))));
        Ok(items.take(after).chain(end).boxed())
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.run(Operation::RequestProgress, self.inner.request_progress()).await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.run(Operation::CurrentRevision, self.inner.current_revision()).await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.run(Operation::Compact, self.inner.compact(revision)).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.inner.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.run(Operation::Healthy, self.inner.healthy()).await
    }
}

#[cfg(test)]
mod tests;
