//! Reads directly from storage: uncached resources, and reads that the cache cannot serve (upstream's
//! `etcd3/store.go`).

mod watch;

use std::sync::Arc;

use futures::TryStreamExt;
use storage::{KeyValue, ListOptions, ListStream, Revision, Storage};
use tokio::time::Instant;

use crate::{Element, Error, Freshness, GetResult, Items, ListQuery, Page, Predicate, Resource};

pub(crate) use watch::watch;

/// Maximum page size of reads from the store while a predicate filters most items.
const PAGE_MAX: usize = 10_000;

/// Page size of the search for unreadable values.
const UNREADABLE_PAGE: usize = 500;

/// Reads a key.
///
/// # Errors
/// [`Error::Corrupt`] if the value is unreadable.
pub(crate) async fn get(
    store: &dyn Storage,
    resource: &Resource,
    key: &str,
    freshness: Freshness,
) -> Result<GetResult, Error> {
    let response = lookup(store, resource, key, freshness).await?;
    response.element.as_ref().map_or(Ok(()), |element| element.readable())?;
    Ok(response)
}

/// Reads a key, whose value may be unreadable.
async fn lookup(
    store: &dyn Storage,
    resource: &Resource,
    key: &str,
    freshness: Freshness,
) -> Result<GetResult, Error> {
    if let Freshness::Exact(revision) = freshness {
        return lookup_at(store, resource, key, revision).await;
    }
    let lookup = store.get(key).await?;
    match freshness {
        Freshness::NotOlderThan(minimum) if minimum > lookup.revision => {
            return Err(future_revision_error(minimum, lookup.revision));
        }
        _ => {}
    }
    let element = lookup.kv.map(|kv| resource.decode(kv));
    Ok(GetResult { element, revision: lookup.revision })
}

/// Reads a key at a past revision with a list of its directory that starts at the key.
async fn lookup_at(
    store: &dyn Storage,
    resource: &Resource,
    key: &str,
    revision: Revision,
) -> Result<GetResult, Error> {
    let directory = key.rfind('/').and_then(|at| key.get(..=at)).unwrap_or_default();
    let options = ListOptions { start: Some(key.to_owned()), limit: 1, revision, uncounted: true };
    let listing = store.list(directory, options).await?;
    let kv = listing.kvs.into_iter().find(|kv| kv.key == key);
    Ok(GetResult { element: kv.map(|kv| resource.decode(kv)), revision })
}

/// Lists a scope, in pages while a predicate filters items.
pub(crate) async fn list(store: &dyn Storage, resource: &Resource, query: &ListQuery) -> Result<Page, Error> {
    if query.scope.exact {
        list_one(store, resource, query).await
    } else {
        list_range(store, resource, query, false).await
    }
}

pub(crate) async fn unreadable(
    store: &dyn Storage,
    resource: &Resource,
    prefix: &str,
    max: usize,
) -> Result<Vec<Arc<Element>>, Error> {
    let mut unreadable = Vec::new();
    let mut options = ListOptions { limit: UNREADABLE_PAGE, uncounted: true, ..ListOptions::default() };
    loop {
        let listing = store.list(prefix, options.clone()).await?;
        let more = listing.has_more();
        options.revision = if options.revision == 0 { listing.revision } else { options.revision };
        options.start = listing.kvs.last().map(|kv| format!("{}\0", kv.key));
        let elements = listing.kvs.into_iter().map(|kv| Element::new(kv, &*resource.config.ingest));
        unreadable.extend(elements.filter(|element| element.damage().is_some()).take(max - unreadable.len()));
        if !more || options.start.is_none() || unreadable.len() >= max {
            return Ok(unreadable);
        }
        tokio::task::yield_now().await;
    }
}

/// Lists a scope that is not a single key. A lenient list of everything includes unreadable values.
async fn list_range(
    store: &dyn Storage,
    resource: &Resource,
    query: &ListQuery,
    lenient: bool,
) -> Result<Page, Error> {
    let started = Instant::now();
    let stream = match query.limit {
        0 => open_stream(store, query).await?,
        _ => None,
    };
    let streamed = stream.is_some();
    let page = match stream {
        Some(stream) => read_stream(stream, resource, query, lenient).await,
        None => list_pages(store, resource, query, lenient).await,
    };
    resource.metrics.record_storage_list(streamed, started.elapsed());
    page
}

/// Opens a stream of a scope; `None` if the store has no streams.
async fn open_stream(store: &dyn Storage, query: &ListQuery) -> Result<Option<ListStream>, Error> {
    let prefix = &query.scope.prefix;
    let start = query.start.as_ref().unwrap_or(prefix);
    Ok(store.list_stream(prefix, start, exact_revision(query.freshness)).await?)
}

/// Reads a stream to its end.
async fn read_stream(
    mut list: ListStream,
    resource: &Resource,
    query: &ListQuery,
    lenient: bool,
) -> Result<Page, Error> {
    check_freshness(query.freshness, list.revision)?;
    let metrics = &resource.metrics;
    let mut matches = Matches::default();
    while let Some(kvs) = list.chunks.try_next().await? {
        metrics.storage_fetched.add(kvs.len() as u64);
        metrics.storage_evaluated.add(kvs.len() as u64);
        matches.collect(kvs, resource, query, lenient)?;
    }
    metrics.storage_lists.increment();
    metrics.storage_returned.add(matches.items.len() as u64);
    let Matches { items, left_out } = matches;
    Ok(Page { items: Items::listed(items), revision: list.revision, next: None, remaining: None, left_out })
}

/// The revision that a list must have; 0 for the latest.
fn exact_revision(freshness: Freshness) -> Revision {
    match freshness {
        Freshness::Exact(revision) => revision,
        _ => 0,
    }
}

async fn list_pages(
    store: &dyn Storage,
    resource: &Resource,
    query: &ListQuery,
    lenient: bool,
) -> Result<Page, Error> {
    let exact = exact_revision(query.freshness);
    let metrics = &resource.metrics;
    let mut matches = Matches::default();
    let mut revision = exact;
    let mut limit = query.limit;
    let mut start = query.start.clone();
    loop {
        // Only pages without selectors contain the remaining count.
        let uncounted = query.limit == 0 || !query.predicate.has_no_selectors();
        let options = ListOptions { start: start.clone(), limit, revision, uncounted };
        let listing = store.list(&query.scope.prefix, options).await?;
        check_freshness(query.freshness, listing.revision)?;
        if revision == 0 {
            revision = listing.revision;
        }
        let more = listing.has_more();
        let count = listing.count;
        let read = listing.kvs.len();
        let last = listing.kvs.last().map(|kv| kv.key.clone());
        metrics.storage_fetched.add(read as u64);
        metrics.storage_evaluated.add(read as u64);
        let next_key = matches.collect(listing.kvs, resource, query, lenient)?;
        let next = next_key.or(if more { last } else { None }).map(|key| key + "\0");
        let full = query.limit > 0 && matches.items.len() >= query.limit;
        if next.is_none() || full || read == 0 {
            metrics.storage_lists.increment();
            metrics.storage_returned.add(matches.items.len() as u64);
            let has_count = next.is_some() && !uncounted;
            let remaining = has_count.then(|| count.saturating_sub(query.limit as u64));
            let Matches { items, left_out } = matches;
            return Ok(Page { items: Items::listed(items), revision, next, remaining, left_out });
        }
        start = next;
        limit = limit.saturating_mul(2).clamp(1, PAGE_MAX.max(query.limit));
    }
}

/// A list of one key: empty if the key does not exist.
async fn list_one(store: &dyn Storage, resource: &Resource, query: &ListQuery) -> Result<Page, Error> {
    let response = lookup(store, resource, &query.scope.prefix, query.freshness).await?;
    let left_out = usize::from(response.element.as_ref().is_some_and(|element| element.is_left_out()));
    response.element.as_ref().map_or(Ok(()), |element| element.listable())?;
    let items = response.element.into_iter().filter(|element| query.predicate.matches(element)).collect();
    Ok(Page {
        items: Items::listed(items),
        revision: response.revision,
        next: None,
        remaining: None,
        left_out,
    })
}

/// Selection of an element.
enum Selected {
    Match(Arc<Element>),
    /// The predicate does not match.
    NoMatch,
    /// The element is unreadable and is left out.
    LeftOut,
}

/// Selects the element of a pair. A lenient reader selects everything, including unreadable elements.
///
/// # Errors
/// [`Error::Corrupt`] for an unreadable element that may not be left out.
fn select_element(
    resource: &Resource,
    kv: KeyValue,
    predicate: &Predicate,
    lenient: bool,
) -> Result<Selected, Error> {
    let element = resource.decode(kv);
    if lenient {
        return Ok(Selected::Match(element));
    }
    element.listable()?;
    if element.is_left_out() {
        return Ok(Selected::LeftOut);
    }
    Ok(if predicate.matches(&element) { Selected::Match(element) } else { Selected::NoMatch })
}

/// The element, or an error if it is unreadable.
pub(crate) fn require_readable(element: Arc<Element>) -> Result<Arc<Element>, Error> {
    element.readable()?;
    Ok(element)
}

fn future_revision_error(requested: Revision, current: Revision) -> Error {
    Error::FutureRevision { requested, current, retry_after_seconds: 0 }
}

fn check_freshness(freshness: Freshness, revision: Revision) -> Result<(), Error> {
    match freshness {
        Freshness::NotOlderThan(minimum) if minimum > revision => {
            Err(future_revision_error(minimum, revision))
        }
        _ => Ok(()),
    }
}

/// Items of a list.
#[derive(Default)]
struct Matches {
    items: Vec<Arc<Element>>,
    /// Number of unreadable elements that were left out.
    left_out: usize,
}

impl Matches {
    /// Adds matching pairs up to the limit. If pairs remain that were not examined, returns the key of the
    /// last examined pair.
    fn collect(
        &mut self,
        kvs: Vec<KeyValue>,
        resource: &Resource,
        query: &ListQuery,
        lenient: bool,
    ) -> Result<Option<String>, Error> {
        let mut kvs = kvs.into_iter().peekable();
        while let Some(kv) = kvs.next() {
            match select_element(resource, kv, &query.predicate, lenient)? {
                Selected::Match(element) => self.items.push(element),
                Selected::NoMatch => continue,
                Selected::LeftOut => {
                    self.left_out += 1;
                    continue;
                }
            }
            if query.limit > 0 && self.items.len() >= query.limit && kvs.peek().is_some() {
                return Ok(self.items.last().map(|element| element.key().to_owned()));
            }
        }
        Ok(None)
    }
}
