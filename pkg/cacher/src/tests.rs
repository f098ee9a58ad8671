//! Tests of the delegator over an in-memory store that records its reads.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cached;
mod driver;
mod gap;
mod list;
mod metrics;
mod model;
mod resources;
mod resting;
mod routed;
mod seed;
mod streams;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use storage::fault::{Fault, FaultyStorage, Operation, Plan};
use storage::memory::Memory;
use storage::{
    DeleteResult, Error, Form, KeyValue, ListOptions, Listing, Lookup, PutResult, Revision, Storage,
    WatchItem, WatchOptions, WatchStream,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{
    Delegator, Field, FieldTerm, Freshness, GetResult, HeaderBuilder, Ingest, IngestError, ListQuery,
    Options, Page, Predicate, Resource, ResourceConfig, Scope, Watch, WatchQuery, WatchStart,
};

/// Prefix of all keys.
const ROOT: &str = "/r";
/// Prefix of the resource under test.
const PREFIX: &str = "/r/p/";

/// A store that records the options of every list.
struct Recorded {
    memory: Memory,
    lists: Mutex<Vec<ListOptions>>,
    /// While true, the value "sealed" cannot be decrypted.
    locked: Arc<AtomicBool>,
    /// Values up to this revision are doubtful: they may read differently now.
    doubtful: AtomicI64,
    /// Number of reads of single keys.
    gets: AtomicUsize,
}

impl Recorded {
    /// A store with these pairs below [`PREFIX`], written in this order.
    async fn with(pairs: &[(&str, &str)]) -> Arc<Self> {
        let store = Arc::new(Recorded {
            memory: Memory::new(),
            lists: Mutex::default(),
            locked: Arc::new(AtomicBool::new(true)),
            doubtful: AtomicI64::new(0),
            gets: AtomicUsize::new(0),
        });
        for (name, value) in pairs {
            store.set(name, Some(value)).await;
        }
        store
    }

    /// Writes or deletes a key unconditionally. Returns the revision.
    async fn set(&self, name: &str, value: Option<&str>) -> Revision {
        set(&self.memory, name, value).await
    }

    /// Limit and revision of each list so far.
    fn reads(&self) -> Vec<(usize, Revision)> {
        self.lists.lock().unwrap().iter().map(|options| (options.limit, options.revision)).collect()
    }

    fn opened(&self, kv: KeyValue) -> KeyValue {
        opened(kv, &self.locked)
    }
}

fn opened(mut kv: KeyValue, locked: &AtomicBool) -> KeyValue {
    if kv.value == "sealed" && locked.load(Relaxed) {
        kv.form = Form::Unreadable("no key".into());
    }
    kv
}

fn opened_item(item: WatchItem, locked: &AtomicBool) -> WatchItem {
    match item {
        WatchItem::Event(mut event) => {
            event.kv = opened(event.kv, locked);
            WatchItem::Event(event)
        }
        progress @ WatchItem::Progress(_) => progress,
    }
}

#[async_trait]
impl Storage for Recorded {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.gets.fetch_add(1, Relaxed);
        let Lookup { revision, kv } = self.memory.get(key).await?;
        Ok(Lookup { revision, kv: kv.map(|kv| self.opened(kv)) })
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.lists.lock().unwrap().push(options.clone());
        let mut listing = self.memory.list(prefix, options).await?;
        listing.kvs = listing.kvs.into_iter().map(|kv| self.opened(kv)).collect();
        Ok(listing)
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.memory.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        self.memory.put(key, value, expected, ttl).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.memory.delete(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let locked = Arc::clone(&self.locked);
        let events = self.memory.watch(prefix, options).await?;
        Ok(events.map_ok(move |item| opened_item(item, &locked)).boxed())
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.memory.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.memory.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.memory.compact(revision).await
    }

    fn compacted(&self) -> tokio::sync::watch::Receiver<Revision> {
        self.memory.compacted()
    }

    fn needs_reread(&self, _: &str, revision: Revision) -> bool {
        revision <= self.doubtful.load(Relaxed)
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.memory.healthy().await
    }
}

/// Decodes values that consist of words. The first word is a selectable field. "broken" is malformed,
/// "unserved" has an unserved version, "mad" panics.
struct Words;

impl Ingest for Words {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        let text = std::str::from_utf8(&value).map_err(IngestError::decode)?;
        let word = text.split_whitespace().next().unwrap_or_default();
        if word == "broken" {
            return Err(IngestError::decode("not a value"));
        }
        if word == "unserved" {
            return Err(IngestError::Unserved("not a version".into()));
        }
        header.push_field(word);
        assert_ne!(word, "mad");
        Ok(value)
    }
}

/// The resource at `prefix`, cached and indexed by its field.
fn config(prefix: &str) -> ResourceConfig {
    ResourceConfig {
        prefix: prefix.to_owned(),
        group: "test".to_owned(),
        resource: prefix.trim_start_matches(ROOT).trim_matches('/').replace('/', "-"),
        cached: true,
        index: Some(0),
        ingest: Arc::new(Words),
    }
}

struct Reader {
    delegator: Delegator,
    resource: Arc<Resource>,
}

impl Reader {
    fn new(delegator: &Delegator, prefix: &str) -> Self {
        let resource = delegator.resource(prefix).unwrap();
        Reader { delegator: delegator.clone(), resource }
    }

    async fn get(&self, key: &str, freshness: Freshness) -> Result<GetResult, crate::Error> {
        self.delegator.get(&self.resource, key, freshness).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Page, crate::Error> {
        self.delegator.list(&self.resource, query.clone()).await
    }

    async fn watch(&self, query: WatchQuery) -> Result<Watch, crate::Error> {
        self.delegator.watch(&self.resource, query).await
    }
}

/// Reads without a cache.
fn uncached(store: &Arc<Recorded>) -> Reader {
    Reader::new(&Delegator::uncached(store.clone(), vec![config(PREFIX)]), PREFIX)
}

/// Caches with a running driver.
struct Driven {
    delegator: Delegator,
    driver: JoinHandle<()>,
}

impl Driven {
    /// Caches of [`PREFIX`] and two other resources.
    fn new(store: Arc<dyn Storage>, options: Options) -> Self {
        let configs = vec![config(PREFIX), config("/r/group/q/"), config("/r/s/")];
        let (delegator, driver) = Delegator::new(store, ROOT, configs, options);
        Driven { delegator, driver: tokio::spawn(driver.run()) }
    }

    /// Like [`Driven::new`], after the caches are filled.
    async fn ready(store: Arc<dyn Storage>) -> Self {
        let driven = Driven::new(store, Options::default());
        driven.delegator.ready().await;
        driven
    }

    fn reader(&self) -> Reader {
        Reader::new(&self.delegator, PREFIX)
    }

    /// Number of times the cache of [`PREFIX`] was filled.
    fn fills(&self) -> u64 {
        self.reader().resource.metrics.initializations.get()
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A store with scripted faults.
fn faulty(faults: impl IntoIterator<Item = (Operation, u64, Fault)>) -> Arc<FaultyStorage<Memory>> {
    Arc::new(FaultyStorage::new(Arc::new(Memory::new()), Plan::script(faults)))
}

/// Writes or deletes a key of [`PREFIX`] unconditionally. Returns the revision.
async fn set(store: &dyn Storage, name: &str, value: Option<&str>) -> Revision {
    put(store, &format!("{PREFIX}{name}"), value).await
}

/// Writes or deletes any key unconditionally. Returns the revision.
async fn put(store: &dyn Storage, key: &str, value: Option<&str>) -> Revision {
    let current_revision = store.get(key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
    let result = match value {
        Some(value) => store.put(key, Bytes::from(value.to_owned()), current_revision, None).await,
        None => store.delete(key, current_revision).await,
    };
    match result.unwrap() {
        PutResult::Done(revision) => revision,
        PutResult::Stale { .. } => panic!("nobody else writes {key}"),
    }
}

/// A list of everything.
fn all(freshness: Freshness) -> ListQuery {
    ListQuery { scope: everything(), start: None, limit: 0, freshness, predicate: any() }
}

/// A watch of everything with a distant deadline.
fn watching(start: WatchStart) -> WatchQuery {
    let deadline = Instant::now() + Duration::from_secs(3600);
    WatchQuery { scope: everything(), start, predicate: any(), bookmarks: false, deadline }
}

/// The names on a page.
fn names(page: &Page) -> Vec<String> {
    page.items.iter().map(|element| element.key().strip_prefix(PREFIX).unwrap().to_owned()).collect()
}

fn everything() -> Scope {
    Scope { prefix: PREFIX.to_owned(), exact: false }
}

fn only(name: &str) -> Scope {
    Scope { prefix: format!("{PREFIX}{name}"), exact: true }
}

fn any() -> Predicate {
    Predicate::default()
}

/// Selects values whose first word is `yes`.
fn yes() -> Predicate {
    let term = FieldTerm { field: Field::Header(0), equal: true, value: "yes".to_owned() };
    Predicate { fields: [term].into_iter().collect(), ..Predicate::default() }
}
