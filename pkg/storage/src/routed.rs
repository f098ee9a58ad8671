//! Combines several stores: some prefixes are in other stores (`--etcd-servers-overrides`).
//!
//! Each store has its own revisions, which must not be compared across stores. So resources of different
//! stores cannot share a cache. Calls without a key go to the main store.

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
pub struct RoutedStorage {
    main: Arc<dyn Storage>,
    /// The other stores by key prefix, ending in `/`.
    routes: Vec<(String, Arc<dyn Storage>)>,
}

impl RoutedStorage {
    /// Routes keys with a prefix in `elsewhere` (ending in `/`) to that store, all others to `main`.
    pub fn new(main: Arc<dyn Storage>, routes: Vec<(String, Arc<dyn Storage>)>) -> Self {
        RoutedStorage { main, routes }
    }

    fn of(&self, key: &str) -> &Arc<dyn Storage> {
        let route = self.routes.iter().rev().find(|(prefix, _)| key.starts_with(prefix.as_str()));
        route.map_or(&self.main, |(_, store)| store)
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
        for store in std::iter::once(&self.main).chain(self.routes.iter().map(|(_, store)| store)) {
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
        let store = RoutedStorage::new(main.clone(), vec![("/registry/events/".to_owned(), events.clone())]);
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
}
