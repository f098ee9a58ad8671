//! Keeps the caches up to date. For each store: one watch over everything, and an initial list of each resource.
//!
//! The watch is opened first. Each resource is then listed at the store's current revision. Changes that
//! arrive meanwhile are held back for the resource; changes that its list already contains are skipped. So a
//! resource needs only its own list to become ready. When the watch is complete up to a revision, so is every
//! ready cache: the [frontier](crate::freshness::Frontier).
//!
//! This also holds for resources that are installed later: all changes that the watch delivered before the
//! list are in the store, and so in the list.

mod backoff;
mod feed;
mod initial_list;
mod retry_unreadable;
mod session;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, interval};

use crate::delegator::Inner;
use crate::resource::Stage;
use crate::source::Source;
use crate::{Resource, Seed};
use backoff::Backoff;
use feed::End;
use session::Session;

/// Interval for dropping old and unused data from the caches.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);

/// Number of swept objects after which other tasks run, at the end of a cache. A yield per cache would wake the threads of an idle server
/// a hundred times per sweep.
const SWEPT_AT_ONCE: usize = 1000;

/// After a session of at least this length, the next one starts without a long back-off.
const STABLE_SESSION_MIN: Duration = Duration::from_secs(60);

/// Fills the caches of a [`crate::Delegator`] and keeps them up to date while it runs. Without it, requests
/// are served without caches as far as possible.
#[must_use = "a cache that is not driven never becomes ready"]
pub struct Driver {
    inner: Arc<Inner>,
    /// Initial contents of the caches.
    seed: Option<Arc<Seed>>,
}

impl Driver {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Driver { inner, seed: None }
    }

    /// Fills the caches from those of another store. This store must have had the same contents at the seed's
    /// revision for all resources that the seed contains. They are not read from the store until there is a
    /// gap in the watch.
    pub fn seeded(self, seed: Arc<Seed>) -> Self {
        Driver { seed: Some(seed), ..self }
    }

    /// Drives the caches until the store shuts down or the future is dropped. Long values of a list are
    /// decoded on separate tasks.
    pub async fn run(self) {
        let inner = &*self.inner;
        if !inner.options.enabled {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            () = run_all(inner, self.seed) => {}
            () = sweep(inner) => {}
        }
    }
}

/// Drives the caches of all stores until all stores have shut down. The seed is for the main store.
async fn run_all(inner: &Inner, mut seed: Option<Arc<Seed>>) {
    // The main store is the first one.
    join_all(inner.sources.iter().map(|source| run_source(inner, source, seed.take()))).await;
}

/// Drives the caches of one store until it shuts down.
async fn run_source(inner: &Inner, source: &Arc<Source>, seed: Option<Arc<Seed>>) {
    tokio::select! {
        biased;
        () = run_sessions(inner, source, seed) => {}
        () = source.frontier.poll_progress(&*source.store) => {}
    }
}

/// Restarts after every gap in the watch.
async fn run_sessions(inner: &Inner, source: &Arc<Source>, mut seed: Option<Arc<Seed>>) {
    let mut backoff = Backoff::default();
    loop {
        let start = Instant::now();
        let end = match Session::begin(inner, source, seed.take()).await {
            Ok(mut life) => life.run().await,
            Err(error) => End::Gap(error.to_string()),
        };
        if start.elapsed() > STABLE_SESSION_MIN {
            backoff.reset();
        }
        match end {
            End::StoreClosed => return inner.reset(source, "the store is shut down"),
            End::Gap(reason) => {
                tracing::warn!(reason, "the caches start anew");
                inner.reset(source, &reason);
            }
        }
        backoff.wait().await;
    }
}

/// Periodically drops old and unused data from the caches.
async fn sweep(inner: &Inner) {
    let mut ticks = interval(SWEEP_INTERVAL);
    loop {
        ticks.tick().await;
        inner.budget.next_epoch();
        let mut swept = 0;
        for cache in inner.resources.load().iter().filter_map(|resource| resource.cache.as_ref()) {
            swept += cache.sweep(&inner.budget);
            if swept >= SWEPT_AT_ONCE {
                swept = 0;
                tokio::task::yield_now().await;
            }
        }
    }
}

impl Inner {
    /// Resets every cache of a store that is in use.
    fn reset(&self, source: &Arc<Source>, reason: &str) {
        let now = Instant::now();
        let is_affected = |resource: &&Arc<Resource>| resource.has_source(source) && !resource.is_dormant();
        for resource in self.resources.load().iter().filter(is_affected) {
            if let Some(cache) = &resource.cache {
                resource.enter(Stage::Filling);
                cache.reset(Some(reason.to_owned()), now);
            }
        }
    }
}
