//! Lists a whole resource in one stream, or in pages if the store has no streams, with retries.

use std::mem::take;
use std::sync::Arc;

use futures::TryStreamExt;
use storage::{Error, KeyValue, ListOptions, ListStream, Revision, Storage};
use tokio::sync::Semaphore;
use tokio::task::consume_budget;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::backoff::Backoff;
use crate::cache::Cache;
use crate::{Element, Ingest, Resource};

/// Target size of a page: large enough to make round trips cheap, small enough for a message.
const PAGE_BYTES: usize = 4 << 20;
/// Bytes of a page that one thread decodes at a time: a few milliseconds.
const PART_BYTES: usize = 512 << 10;
/// Number of pairs on the first page, while their size is unknown.
const FIRST_PAGE: usize = 500;
/// Bounds of the number of pairs on a page.
const PAGE_MIN: usize = 50;
const PAGE_MAX: usize = 10_000;

/// All objects of a resource at one revision.
pub(super) struct InitialList {
    /// Sorted by key.
    pub(super) elements: Vec<Arc<Element>>,
    /// The revision, at least the store's revision at the start of the fill.
    pub(super) revision: Revision,
}

/// A running list.
struct ListTask<'a> {
    store: &'a dyn Storage,
    resource: &'a Resource,
    elements: Vec<Arc<Element>>,
    /// Options of the next page or stream. The revision is 0 until the first one has set it.
    options: ListOptions,
    /// True if the last part was read from a stream.
    streamed: bool,
}

/// Lists a resource. Retries until it succeeds, and reports the reason of failures to a cache that is not
/// ready. `reads` bounds the number of concurrent streams and page reads. After a failure the list continues with the
/// next key at the same revision, unless the revision is compacted.
pub(super) async fn fill(
    store: &dyn Storage,
    resource: &Resource,
    cache: &Cache,
    reads: &Semaphore,
) -> InitialList {
    let mut fill = ListTask::new(store, resource);
    let mut backoff = Backoff::default();
    let started = Instant::now();
    loop {
        let listed_before = fill.elements.len();
        match fill.read(reads).await {
            Ok(true) => {
                resource.metrics.initialization_seconds.observe_duration(started.elapsed());
                resource.metrics.record_storage_list(fill.streamed, started.elapsed());
                return InitialList { elements: fill.elements, revision: fill.options.revision };
            }
            Ok(false) => {
                backoff.reset();
                tokio::task::yield_now().await;
            }
            Err(error) => {
                resource.metrics.initialization_errors.increment();
                match error {
                    // The store logs its own failures.
                    Error::Unavailable(_) => {}
                    _ => tracing::warn!(prefix = resource.config.prefix, %error, "a cache is not filled yet"),
                }
                if cache.snapshot().is_none() {
                    cache.reset(Some(error.to_string()), Instant::now());
                }
                if fill.elements.len() > listed_before {
                    backoff.reset();
                }
                if matches!(error, Error::Compacted { .. }) {
                    fill = ListTask::new(store, resource);
                }
                backoff.wait().await;
            }
        }
    }
}

impl<'a> ListTask<'a> {
    fn new(store: &'a dyn Storage, resource: &'a Resource) -> Self {
        let options = ListOptions { limit: FIRST_PAGE, uncounted: true, ..ListOptions::default() };
        ListTask { store, resource, elements: Vec::new(), options, streamed: false }
    }

    /// Reads the rest in a stream, or the next page. Returns true if the list is complete.
    async fn read(&mut self, reads: &Semaphore) -> Result<bool, Error> {
        // The semaphore is never closed.
        let _turn = reads.acquire().await;
        let prefix = &self.resource.config.prefix;
        let start = self.options.start.as_ref().unwrap_or(prefix);
        let list = self.store.list_stream(prefix, start, self.options.revision).await?;
        self.streamed = list.is_some();
        match list {
            Some(list) => self.stream(list).await.map(|()| true),
            None => self.page().await,
        }
    }

    async fn stream(&mut self, mut list: ListStream) -> Result<(), Error> {
        self.options.revision = list.revision;
        while let Some(kvs) = list.chunks.try_next().await? {
            self.extend(kvs).await?;
            consume_budget().await;
        }
        Ok(())
    }

    /// Reads the next page; returns true for the last one.
    async fn page(&mut self) -> Result<bool, Error> {
        let listing = self.store.list(&self.resource.config.prefix, self.options.clone()).await?;
        if self.options.revision == 0 {
            self.options.revision = listing.revision;
        }
        let more = listing.has_more();
        self.options.limit = next_limit(listing.kvs.iter().map(|kv| kv.key.len() + kv.value.len()));
        self.extend(listing.kvs).await?;
        Ok(!more)
    }

    /// Decodes and appends pairs.
    async fn extend(&mut self, kvs: Vec<KeyValue>) -> Result<(), Error> {
        let mut elements = elements(kvs, &self.resource.config.ingest).await?;
        elements.iter().for_each(|element| self.resource.report_unreadable(element));
        self.elements.append(&mut elements);
        self.options.start = self.elements.last().map(|element| format!("{}\0", element.key()));
        Ok(())
    }
}

/// Decodes the values of a page. Large ones are distributed over the runtime's threads.
///
/// # Errors
/// The runtime shuts down.
async fn elements(kvs: Vec<KeyValue>, ingest: &Arc<dyn Ingest>) -> Result<Vec<Arc<Element>>, Error> {
    let mut shares = split_page(kvs);
    let last = shares.pop().unwrap_or_default();
    let read = |share: Vec<KeyValue>, ingest: &dyn Ingest| -> Vec<_> {
        share.into_iter().map(|kv| Element::new(kv, ingest)).collect()
    };
    let tasks: Vec<_> = shares
        .into_iter()
        .map(|share| {
            let ingest = Arc::clone(ingest);
            AbortOnDropHandle::new(tokio::spawn(async move { read(share, &*ingest) }))
        })
        .collect();
    let last = read(last, &**ingest);
    let mut elements = Vec::new();
    for task in tasks {
        elements.append(&mut task.await.map_err(|error| Error::Internal(error.to_string()))?);
    }
    elements.extend(last);
    Ok(elements)
}

/// Splits a page into parts of about [`PART_BYTES`] each.
fn split_page(kvs: Vec<KeyValue>) -> Vec<Vec<KeyValue>> {
    let mut shares = Vec::new();
    let mut share = Vec::new();
    let mut bytes = 0;
    for kv in kvs {
        if bytes >= PART_BYTES {
            shares.push(take(&mut share));
            bytes = 0;
        }
        bytes += kv.value.len();
        share.push(kv);
    }
    shares.push(share);
    shares
}

/// The limit of the next page, based on the sizes of the current one.
fn next_limit(sizes: impl ExactSizeIterator<Item = usize>) -> usize {
    let count = sizes.len();
    let bytes: usize = sizes.sum();
    match bytes.checked_div(count) {
        Some(size) => (PAGE_BYTES / size.max(1)).clamp(PAGE_MIN, PAGE_MAX),
        None => FIRST_PAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_length_follows_value_size() {
        let check = |sizes: &[usize], expected| assert_eq!(next_limit(sizes.iter().copied()), expected);
        check(&[], FIRST_PAGE);
        check(&[0, 0], PAGE_MAX);
        check(&[100; 9], PAGE_MAX);
        check(&[1024, 3072], 2048);
        check(&[1 << 20], PAGE_MIN);
    }

    #[test]
    fn pages_are_split_by_size() {
        let check = |sizes: &[usize], expected: &[usize]| {
            let pair = |size: &usize| KeyValue::new("k", vec![0_u8; *size], 1);
            let shares = split_page(sizes.iter().map(pair).collect());
            assert_eq!(shares.iter().map(Vec::len).collect::<Vec<_>>(), expected, "{sizes:?}");
        };
        check(&[], &[0]);
        check(&[1; 9], &[9]);
        check(&[PART_BYTES, 1, PART_BYTES, 1], &[1, 2, 1]);
        check(&[PART_BYTES / 2; 5], &[2, 2, 1]);
    }
}
