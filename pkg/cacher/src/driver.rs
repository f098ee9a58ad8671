//! Keeps the caches of one store up to date: one watch over everything, and a list of each resource
//! to begin with.
//!
//! The watch is opened first and each resource is listed after that, at whatever revision the store
//! has by then. Changes that come in meanwhile are held back for it; those that its list shows already
//! are skipped. So a resource needs nothing but its own list to become ready, and what is complete up
//! to one revision in the watch is complete up to it in every cache that is ready: the
//! [frontier](crate::freshness::Frontier).
//!
//! That a resource is installed later changes nothing in this: what the watch delivered before its list
//! began was in the store by then, so its list shows it.

mod backoff;
mod feed;
mod initial_list;
mod retry_unreadable;
mod session;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, interval};

use crate::Seed;
use crate::delegator::Inner;
use crate::resource::Stage;
use backoff::Backoff;
use feed::End;
use session::Session;

/// How often the caches drop what is old or not used any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);

/// After a life as long as this the next one begins soon.
const LONG_LIFE: Duration = Duration::from_secs(60);

/// The other half of a [`crate::Delegator`]: while it runs, the caches are filled and kept up to date.
/// Without it requests are answered as far as that is possible without a cache.
#[must_use = "a cache that is not driven never becomes ready"]
pub struct Driver {
    inner: Arc<Inner>,
    /// What the caches begin with.
    seed: Option<Arc<Seed>>,
}

impl Driver {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Driver { inner, seed: None }
    }

    /// The caches begin with the states of those of another store, which had at their revision what this one has
    /// there: all that is in this one. Until a gap in the watch nothing of it is read from the store.
    pub fn seeded(self, seed: Arc<Seed>) -> Self {
        Driver { seed: Some(seed), ..self }
    }

    /// Drives the caches until the store shuts down or the future is dropped. Long values of a list are read on tasks of
    /// their own meanwhile.
    pub async fn run(self) {
        let inner = &*self.inner;
        if !inner.options.enabled {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            () = keep(inner, self.seed) => {}
            () = inner.frontier.chase(&*inner.store) => {}
            () = sweep(inner) => {}
        }
    }
}

/// Begins anew after every gap.
async fn keep(inner: &Inner, mut seed: Option<Arc<Seed>>) {
    let mut backoff = Backoff::default();
    loop {
        let begun = Instant::now();
        let end = match Session::begin(inner, seed.take()).await {
            Ok(mut life) => life.run().await,
            Err(error) => End::Gap(error.to_string()),
        };
        if begun.elapsed() > LONG_LIFE {
            backoff.reset();
        }
        match end {
            End::StoreClosed => return inner.reset("the store is shut down"),
            End::Gap(reason) => {
                tracing::warn!(reason, "the caches start anew");
                inner.reset(&reason);
            }
        }
        backoff.wait().await;
    }
}

/// Has the caches drop what is old or not used any more.
async fn sweep(inner: &Inner) {
    let mut ticks = interval(SWEEP_INTERVAL);
    loop {
        ticks.tick().await;
        inner.budget.next_epoch();
        for cache in inner.resources.load().iter().filter_map(|resource| resource.cache.as_ref()) {
            cache.sweep(&inner.budget);
            tokio::task::yield_now().await;
        }
    }
}

impl Inner {
    /// Takes every cache out of service that is in it.
    fn reset(&self, reason: &str) {
        let now = Instant::now();
        for resource in self.resources.load().iter().filter(|resource| !resource.is_dormant()) {
            if let Some(cache) = &resource.cache {
                resource.enter(Stage::Filling);
                cache.reset(Some(reason.to_owned()), now);
            }
        }
    }
}
