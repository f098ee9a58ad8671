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
    Deleted, Error, ListOptions, Listing, Lookup, Revision, Storage, WatchOptions, WatchStream, Written,
};

/// A store that routes keys to several stores.
pub struct Routed {
    main: Arc<dyn Storage>,
    /// The other stores by key prefix, ending in `/`.
    elsewhere: Vec<(String, Arc<dyn Storage>)>,
}

impl Routed {
    /// Routes keys with a prefix in `elsewhere` (ending in `/`) to that store, all others to `main`.
    pub fn new(main: Arc<dyn Storage>, elsewhere: Vec<(String, Arc<dyn Storage>)>) -> Self {
        Routed { main, elsewhere }
    }

    fn of(&self, key: &str) -> &Arc<dyn Storage> {
        let found = self.elsewhere.iter().rev().find(|(prefix, _)| key.starts_with(prefix.as_str()));
        found.map_or(&self.main, |(_, store)| store)
    }
}

#[async_trait]
impl Storage for Routed {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.of(key).get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.of(prefix).list(prefix, options).await
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
    ) -> Result<Written, Error> {
        self.of(key).put(key, value, expected, ttl).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error> {
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

    fn is_doubtful(&self, key: &str, revision: Revision) -> bool {
        self.of(key).is_doubtful(key, revision)
    }

    async fn healthy(&self) -> Result<(), Error> {
        for store in std::iter::once(&self.main).chain(self.elsewhere.iter().map(|(_, store)| store)) {
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
        let store = Routed::new(main.clone(), vec![("/registry/events/".to_owned(), events.clone())]);
        let check = async |key: &str, here: &dyn Storage, elsewhere: &dyn Storage| {
            let prefix = &key[..=key.rfind('/').unwrap()];
            let start = WatchOptions { start: 1, ..WatchOptions::default() };
            let mut changes = store.watch(prefix, start).await.unwrap();
            let Written::Done(revision) = store.put(key, Bytes::new(), 0, None).await.unwrap() else {
                panic!("it was not there");
            };
            assert!(here.get(key).await.unwrap().kv.is_some(), "{key}");
            assert!(elsewhere.get(key).await.unwrap().kv.is_none(), "{key}");
            assert_eq!(store.count(prefix).await.unwrap(), 1);
            assert_eq!(store.list(prefix, ListOptions::default()).await.unwrap().kvs[0].key, key);
            assert!(matches!(changes.next().await, Some(Ok(WatchItem::Event(event))) if event.kv.key == key));
            assert!(matches!(store.delete(key, revision).await.unwrap(), Written::Done(_)));
            assert!(here.get(key).await.unwrap().kv.is_none(), "{key}");
        };
        check("/registry/events/a/b", &*events, &*main).await;
        check("/registry/events.k8s.io/a/b", &*main, &*events).await;
        check("/registry/pods/a/b", &*main, &*events).await;
    }
}
