//! Reads: from the cache if the [table](super::route) selects it and it is fresh enough, otherwise from
//! storage.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use component_base::trace::{Attribute, Span};
use storage::Revision;
use tokio::time::{Instant, timeout};

use super::route::{self, ListRoute, RequiredFreshness};
use super::{Delegator, Error, Freshness, GetResult};
use crate::cache::{Cache, Snapshot};
use crate::freshness::WAIT_MAX;
use crate::source::Source;
use crate::{Damage, Element, ListQuery, Page, Predicate, Resource, Watch, WatchQuery, WatchStart, uncached};

/// Retry delay for clients if a revision is not reached, in seconds (upstream's
/// `resourceVersionTooHighRetrySeconds`).
const RETRY_AFTER_SECONDS: u32 = 1;

/// Duration of a single watch by the process itself.
const INTERNAL_WATCH_DURATION: Duration = Duration::from_secs(24 * 3600);

/// Reason for a stale cache.
enum NotFresh {
    /// The cache did not reach this revision in time.
    Late(Revision),
    /// The store did not return its revision in time.
    Unknown(storage::Error),
}

impl Delegator {
    /// Reads one key.
    ///
    /// # Errors
    /// [`Error::FutureRevision`] if the result would be older than `freshness` requires, [`Error::Corrupt`]
    /// if the value is unreadable.
    pub async fn get(
        &self,
        resource: &Resource,
        key: &str,
        freshness: Freshness,
    ) -> Result<GetResult, Error> {
        let span = Span::current().child("cacher.Get", || {
            let version = match freshness {
                Freshness::Consistent => String::new(),
                Freshness::NotOlderThan(revision) | Freshness::Exact(revision) => revision.to_string(),
            };
            vec![("key", self.relative_key(key).into()), ("resource-version", version.into())]
        });
        span.clone().instrument(pin!(self.get_by(resource, key, freshness, &span))).await
    }

    async fn get_by(
        &self,
        resource: &Resource,
        key: &str,
        freshness: Freshness,
        span: &Span,
    ) -> Result<GetResult, Error> {
        let cached = self.get_cached(resource, key, freshness, span).await;
        match cached {
            Some(cached) => cached,
            None => {
                span.event("About to Get from underlying storage");
                uncached::get(&*self.inner.store, resource, key, freshness).await
            }
        }
    }

    /// Returns the cached object of a key without waiting: the initial guess of a write. It may be out of
    /// date. `None` does not mean that the key does not exist.
    pub fn peek(&self, resource: &Resource, key: &str) -> Option<Arc<Element>> {
        let snapshot = resource.cache.as_ref()?.snapshot()?;
        snapshot.get(key).filter(|element| !self.needs_reread(element)).cloned()
    }

    /// True if a cached object must be read from storage because it may read differently now.
    fn needs_reread(&self, element: &Element) -> bool {
        self.inner.store.needs_reread(element.key(), element.revision())
    }

    /// `None` if the key must be read from storage.
    async fn get_cached(
        &self,
        resource: &Resource,
        key: &str,
        freshness: Freshness,
        span: &Span,
    ) -> Option<Result<GetResult, Error>> {
        let cache = resource.cache.as_ref()?;
        cache.snapshot()?;
        let need = match freshness {
            Freshness::Exact(_) => return None,
            freshness => route::required_freshness(freshness),
        };
        match (wait(resource, need).await, need) {
            (Ok(()), _) => {}
            (Err(NotFresh::Late(revision)), RequiredFreshness::Revision(_)) => {
                return Some(Err(future_revision_error(resource, revision)));
            }
            (Err(_), _) => return None,
        }
        let (snapshot, revision) = current(resource, cache)?;
        let element = match snapshot.get(key).cloned().map(uncached::require_readable).transpose() {
            // The store may be able to decrypt it now.
            Err(Error::Corrupt { damage: Damage::Undecryptable, .. }) => return None,
            // The store may no longer be able to decrypt it. Reads of any version accept the cached value.
            Ok(Some(element)) if matches!(need, RequiredFreshness::Latest) && self.needs_reread(&element) => {
                return None;
            }
            element => element,
        };
        span.event("GetByKey success");
        Some(element.map(|element| GetResult { element, revision }))
    }

    /// Lists a scope.
    ///
    /// # Errors
    /// Storage errors; [`Error::FutureRevision`]; [`Error::NotReady`]; [`Error::Corrupt`], because one
    /// unreadable value fails the whole list.
    pub async fn list(&self, resource: &Resource, query: ListQuery) -> Result<Page, Error> {
        let Some(cache) = &resource.cache else { return self.list_storage(resource, &query).await };
        let span = Span::current().child("cacher.GetList", || of(resource));
        span.clone().instrument(pin!(self.list_by(resource, cache, &query))).await
    }

    async fn list_by(&self, resource: &Resource, cache: &Cache, query: &ListQuery) -> Result<Page, Error> {
        match self.list_routed(resource, cache, query).await {
            // The store may be able to decrypt it now.
            Err(Error::Corrupt { damage: Damage::Undecryptable, .. }) => {
                self.list_storage(resource, query).await
            }
            page => page,
        }
    }

    async fn list_routed(
        &self,
        resource: &Resource,
        cache: &Cache,
        query: &ListQuery,
    ) -> Result<Page, Error> {
        let ready = self.is_filled(resource, cache).await;
        if ready {
            Span::current().event("Ready");
        }
        match route::list(query, ready) {
            ListRoute::Storage => self.list_storage(resource, query).await,
            ListRoute::NotReady => Err(cache.not_ready(Instant::now())),
            ListRoute::AtRevision(revision) => self.list_at(resource, cache, query, revision).await,
            ListRoute::Current(RequiredFreshness::Latest) => self.list_latest(resource, cache, query).await,
            ListRoute::Current(need) => {
                wait(resource, need).await.map_err(|stale| stale_error(resource, stale))?;
                let limit = route::limit(query);
                self.list_current(resource, cache, &ListQuery { limit, ..query.clone() }).await
            }
        }
    }

    /// Lists the unreadable values with the prefix, in order, up to a limit. Reads storage page by page,
    /// because storage may be able to decrypt values that the cache could not.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn unreadable(
        &self,
        resource: &Resource,
        prefix: &str,
        max: usize,
    ) -> Result<Vec<Arc<Element>>, Error> {
        uncached::unreadable(&*self.inner.store, resource, prefix, max).await
    }

    async fn list_storage(&self, resource: &Resource, query: &ListQuery) -> Result<Page, Error> {
        uncached::list(&*self.inner.store, resource, query).await
    }

    /// A consistent list. Falls back to storage if the cache lags, unless that is disabled.
    async fn list_latest(
        &self,
        resource: &Resource,
        cache: &Cache,
        query: &ListQuery,
    ) -> Result<Page, Error> {
        let counts = &resource.metrics.consistent;
        match wait(resource, RequiredFreshness::Latest).await {
            Ok(()) => {
                let page = self.list_current(resource, cache, query).await;
                if page.is_ok() { &counts.cached } else { &counts.failed }.increment();
                return page;
            }
            Err(NotFresh::Late(requested)) if self.inner.options.skip_stale_fallback => {
                counts.fallback_skipped.increment();
                let current = resource.source.frontier.load();
                let retry_after_seconds = RETRY_AFTER_SECONDS;
                return Err(Error::StaleCache { requested, current, retry_after_seconds });
            }
            Err(_) => {}
        }
        let page = self.list_storage(resource, query).await;
        if page.is_ok() { &counts.fallback } else { &counts.fallback_failed }.increment();
        page
    }

    async fn list_current(
        &self,
        resource: &Resource,
        cache: &Cache,
        query: &ListQuery,
    ) -> Result<Page, Error> {
        let Some((snapshot, revision)) = current(resource, cache) else {
            return Err(cache.not_ready(Instant::now()));
        };
        Span::current().event("GetLatestSnapshotOrBuildLocked success");
        list(resource, &snapshot, query, revision).await
    }

    /// A list of a past state, from storage if the cache no longer has it.
    async fn list_at(
        &self,
        resource: &Resource,
        cache: &Cache,
        query: &ListQuery,
        revision: Revision,
    ) -> Result<Page, Error> {
        if let Err(stale) = wait(resource, RequiredFreshness::Revision(revision)).await {
            return Err(stale_error(resource, stale));
        }
        match cache.snapshot_at(revision) {
            Some(snapshot) => {
                Span::current().event("GetExactSnapshotLocked success");
                list(resource, &snapshot, query, revision).await
            }
            None => self.list_storage(resource, query).await,
        }
    }

    /// Starts a watch. The revisions of events increase, except for the initial state, which is sorted by
    /// key, and for several deletions of one transaction.
    ///
    /// # Errors
    /// Errors of the initial read and of the store's `watch`; [`Error::TooOld`]; [`Error::NotReady`].
    pub async fn watch(&self, resource: &Arc<Resource>, query: WatchQuery) -> Result<Watch, Error> {
        let span = Span::current().child("cacher.Watch", || of(resource));
        span.instrument(pin!(self.start(resource, query, false))).await
    }

    /// Watches a whole resource for the process itself: with bookmarks, and for a long time. Unreadable
    /// objects do not fail the watch but are delivered; readers get the error from the
    /// [value](Element::value). So one bad object does not hide the others from the server.
    ///
    /// # Errors
    /// As for [`watch`](Self::watch), except [`Error::Corrupt`].
    pub async fn watch_internal(&self, resource: &Arc<Resource>, start: WatchStart) -> Result<Watch, Error> {
        let scope = resource.full_scope();
        let predicate = Predicate::default();
        let deadline = Instant::now() + INTERNAL_WATCH_DURATION;
        let query = WatchQuery { scope, start, predicate, bookmarks: true, deadline };
        self.start(resource, query, true).await
    }

    async fn start(
        &self,
        resource: &Arc<Resource>,
        query: WatchQuery,
        lenient: bool,
    ) -> Result<Watch, Error> {
        let Some(cache) = &resource.cache else {
            let store = Arc::clone(&self.inner.store);
            return uncached::watch(store, Arc::clone(resource), query, lenient).await;
        };
        if !self.is_filled(resource, cache).await {
            return Err(cache.not_ready(Instant::now()));
        }
        if let WatchStart::State(freshness) = query.start {
            wait(resource, route::required_freshness(freshness))
                .await
                .map_err(|stale| stale_error(resource, stale))?;
        }
        cache.start(query, lenient)
    }

    /// True if the cache is filled. Triggers and awaits the filling of a cache that is filled on first use.
    async fn is_filled(&self, resource: &Resource, cache: &Cache) -> bool {
        cache.snapshot().is_some()
            || resource.is_filled_on_demand() && timeout(WAIT_MAX, resource.ready()).await == Ok(true)
    }
}

/// Waits until the caches of the resource's store are fresh enough.
async fn wait(resource: &Resource, need: RequiredFreshness) -> Result<(), NotFresh> {
    if !matches!(need, RequiredFreshness::Latest) {
        record_lock();
    }
    let fresh = wait_untraced(resource, need).await;
    if fresh.is_ok() {
        Span::current().event("watchCache fresh enough");
    }
    fresh
}

async fn wait_untraced(resource: &Resource, need: RequiredFreshness) -> Result<(), NotFresh> {
    let frontier = &resource.source.frontier;
    let start = match need {
        RequiredFreshness::Any => return Ok(()),
        RequiredFreshness::Revision(revision) if frontier.load() >= revision => {
            resource.metrics.waits.observe_duration(Duration::ZERO);
            return Ok(());
        }
        RequiredFreshness::Revision(_) | RequiredFreshness::Latest => Instant::now(),
    };
    let result = match need {
        RequiredFreshness::Any => Ok(()),
        RequiredFreshness::Revision(revision) => {
            if frontier.wait_for_requested(revision).await {
                Ok(())
            } else {
                Err(NotFresh::Late(revision))
            }
        }
        RequiredFreshness::Latest => wait_for_latest(&resource.source).await,
    };
    resource.metrics.waits.observe_duration(start.elapsed());
    result
}

async fn wait_for_latest(source: &Source) -> Result<(), NotFresh> {
    let result = timeout(WAIT_MAX, source.read_index.read()).await;
    let silent = || storage::Error::Unavailable("no revision in time".to_owned());
    let revision = result.map_err(|_| NotFresh::Unknown(silent()))?.map_err(NotFresh::Unknown)?;
    Span::current().event("getCurrentRV success");
    record_lock();
    if source.frontier.wait_for_existing(revision).await { Ok(()) } else { Err(NotFresh::Late(revision)) }
}

/// Returns the state of the cache and the revision up to which it is complete; `None` while it is not
/// ready.
fn current(resource: &Resource, cache: &Cache) -> Option<(Arc<Snapshot>, Revision)> {
    // The order matters: changes in between make the state newer than its revision, never older.
    let frontier = resource.source.frontier.load();
    let snapshot = cache.snapshot()?;
    let revision = frontier.max(snapshot.revision());
    Some((snapshot, revision))
}

fn stale_error(resource: &Resource, stale: NotFresh) -> Error {
    match stale {
        NotFresh::Late(revision) => future_revision_error(resource, revision),
        NotFresh::Unknown(error) => error.into(),
    }
}

pub(super) fn future_revision_error(resource: &Resource, requested: Revision) -> Error {
    let current = resource.source.frontier.load();
    Error::FutureRevision { requested, current, retry_after_seconds: RETRY_AFTER_SECONDS }
}

/// Lists a snapshot and records metrics and the trace event.
async fn list(
    resource: &Resource,
    snapshot: &Arc<Snapshot>,
    query: &ListQuery,
    revision: Revision,
) -> Result<Page, Error> {
    let page = snapshot.list(query, revision).await?;
    resource.metrics.count_cache_list(snapshot, query, &page, resource.config.index);
    let span = Span::current();
    if !span.is_none() {
        let count = page.items.len_max();
        span.event_with("Listed items from cache", "count", count);
        // Without a limit, items are selected while the response is written.
        if query.limit > 0 || query.predicate.is_everything() {
            span.event_with("Filtered items", "count", count);
        }
    }
    Ok(page)
}

/// Records the point where upstream acquires the lock of its cache. This cache has none.
fn record_lock() {
    Span::current().event("watchCache locked acquired");
}

/// The trace attribute with upstream's name of the resource.
fn of(resource: &Resource) -> Vec<Attribute> {
    let name = &resource.config.resource;
    let name = match resource.config.group.as_str() {
        "" => name.clone(),
        group => format!("{name}.{group}"),
    };
    vec![("type", name.into())]
}
