//! Combines several stores: some prefixes are in other stores (`--etcd-servers-overrides`).
//!
//! Each store has its own revisions, which must not be compared across stores. So every store feeds its own caches. Calls
//! without a key go to the main store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;

use crate::{
    DeleteResult, Error, ListOptions, ListStream, Listing, Lookup, PutResult, Revision, Storage,
    WatchOptions, WatchStream,
};

/// A store that routes keys to several stores.
#[derive(Clone)]
pub struct RoutedStorage {
    main: Arc<dyn Storage>,
    /// All stores, the main one first.
    stores: Vec<Arc<dyn Storage>>,
    routes: Vec<Route>,
}

/// The store of a key prefix.
#[derive(Debug, Clone)]
struct Route {
    /// Ends in `/`.
    prefix: String,
    /// Index in [`RoutedStorage::stores`].
    store: usize,
}

impl RoutedStorage {
    /// Routes all keys to `main`.
    pub fn new(main: Arc<dyn Storage>) -> Self {
        RoutedStorage { stores: vec![Arc::clone(&main)], main, routes: Vec::new() }
    }

    /// Routes the keys with a prefix (ending in `/`) to `store`. Later routes take precedence. A store can have several
    /// prefixes.
    #[must_use]
    pub fn with_route(mut self, prefix: String, store: Arc<dyn Storage>) -> Self {
        let known = self.stores.iter().position(|known| Arc::ptr_eq(known, &store));
        let index = known.unwrap_or(self.stores.len());
        if known.is_none() {
            self.stores.push(store);
        }
        self.routes.push(Route { prefix, store: index });
        self
    }

    /// Replaces every store by a wrapper of it. `wrap` gets the index of the store in [`stores`](Self::stores).
    #[must_use]
    pub fn map(self, wrap: impl Fn(usize, Arc<dyn Storage>) -> Arc<dyn Storage>) -> Self {
        let main = wrap(0, self.main);
        let others = self.stores.into_iter().enumerate().skip(1).map(|(index, store)| wrap(index, store));
        RoutedStorage {
            stores: std::iter::once(Arc::clone(&main)).chain(others).collect(),
            main,
            routes: self.routes,
        }
    }

    /// The store of all keys without a route.
    pub fn main(&self) -> &Arc<dyn Storage> {
        &self.main
    }

    /// All stores without repetitions, the main one first.
    pub fn stores(&self) -> &[Arc<dyn Storage>] {
        &self.stores
    }

    /// The index of a key's store in [`stores`](Self::stores).
    pub fn index_of(&self, key: &str) -> usize {
        let route = self.routes.iter().rev().find(|route| key.starts_with(&route.prefix));
        route.map_or(0, |route| route.store)
    }

    /// Returns one store for all keys: the main one if there is no other.
    pub fn into_store(self) -> Arc<dyn Storage> {
        if self.routes.is_empty() { self.main } else { Arc::new(self) }
    }

    fn of(&self, key: &str) -> &Arc<dyn Storage> {
        self.stores.get(self.index_of(key)).unwrap_or(&self.main)
    }
}

#[async_trait]
impl Storage for RoutedStorage {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.of(key).get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.of(prefix).list(prefix, options).await
    }

    async fn list_stream(
        &self,
        prefix: &str,
        start: &str,
        revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        self.of(prefix).list_stream(prefix, start, revision).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.of(prefix).count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        self.of(key).put(key, value, expected, ttl).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.of(key).delete(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.of(prefix).watch(prefix, options).await
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.main.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.main.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.main.compact(revision).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.main.compacted()
    }

    fn needs_reread(&self, key: &str, revision: Revision) -> bool {
        self.of(key).needs_reread(key, revision)
    }

    async fn healthy(&self) -> Result<(), Error> {
        for store in &self.stores {
            store.healthy().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;
    use crate::WatchItem;
    use crate::memory::Memory;

    #[tokio::test]
    async fn keys_are_routed_by_prefix() {
        let main: Arc<dyn Storage> = Arc::new(Memory::new());
        let events: Arc<dyn Storage> = Arc::new(Memory::new());
        let store =
            RoutedStorage::new(main.clone()).with_route("/registry/events/".to_owned(), events.clone());
        let check = async |key: &str, here: &dyn Storage, elsewhere: &dyn Storage| {
            let prefix = &key[..=key.rfind('/').unwrap()];
            let start = WatchOptions { start: 1, ..WatchOptions::default() };
            let mut changes = store.watch(prefix, start).await.unwrap();
            let PutResult::Done(revision) = store.put(key, Bytes::new(), 0, None).await.unwrap() else {
                panic!("it was not there");
            };
            assert!(here.get(key).await.unwrap().kv.is_some(), "{key}");
            assert!(elsewhere.get(key).await.unwrap().kv.is_none(), "{key}");
            assert_eq!(store.count(prefix).await.unwrap(), 1);
            assert_eq!(store.list(prefix, ListOptions::default()).await.unwrap().kvs[0].key, key);
            assert!(matches!(changes.next().await, Some(Ok(WatchItem::Event(event))) if event.kv.key == key));
            assert!(matches!(store.delete(key, revision).await.unwrap(), PutResult::Done(_)));
            assert!(here.get(key).await.unwrap().kv.is_none(), "{key}");
        };
        check("/registry/events/a/b", &*events, &*main).await;
        check("/registry/events.k8s.io/a/b", &*main, &*events).await;
        check("/registry/pods/a/b", &*main, &*events).await;
    }

    #[test]
    fn store_with_two_prefixes_is_counted_once() {
        let main: Arc<dyn Storage> = Arc::new(Memory::new());
        let other: Arc<dyn Storage> = Arc::new(Memory::new());
        let store = RoutedStorage::new(main.clone())
            .with_route("/r/events/".to_owned(), other.clone())
            .with_route("/r/leases/".to_owned(), other)
            .with_route("/r/pods/".to_owned(), main);
        assert_eq!(store.stores().len(), 2);
        let index = |key| store.index_of(key);
        assert_eq!([index("/r/events/a"), index("/r/leases/a"), index("/r/pods/a")], [1, 1, 0]);
    }

    #[test]
    fn later_routes_take_precedence() {
        let main: Arc<dyn Storage> = Arc::new(Memory::new());
        let other: Arc<dyn Storage> = Arc::new(Memory::new());
        let store = RoutedStorage::new(main.clone())
            .with_route("/r/".to_owned(), other)
            .with_route("/r/pods/".to_owned(), main);
        assert_eq!((store.index_of("/r/events/a"), store.index_of("/r/pods/a")), (1, 0));
    }
}
