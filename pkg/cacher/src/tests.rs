//! Claims about what the delegator answers, over a store in memory that keeps a record of how it was
//! read.
#![allow(clippy::unwrap_used, clippy::panic)]

mod list;
mod watch;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use storage::memory::Memory;
use storage::{
    Deleted, Error, ListOptions, Listing, Lookup, Revision, Storage, WatchOptions, WatchStream, Written,
};

use crate::{Delegator, Filter};

/// Where all keys of these tests are.
const PREFIX: &str = "/p/";

/// A store that remembers the options of every list.
struct Recorded {
    memory: Memory,
    lists: Mutex<Vec<ListOptions>>,
}

impl Recorded {
    /// A store with these pairs below [`PREFIX`], written in this order.
    async fn with(pairs: &[(&str, &str)]) -> Arc<Self> {
        let store = Arc::new(Recorded { memory: Memory::new(), lists: Mutex::default() });
        for (name, value) in pairs {
            store.set(name, Some(value)).await;
        }
        store
    }

    /// Writes, or deletes, whatever is there. Returns the revision.
    async fn set(&self, name: &str, value: Option<&str>) -> Revision {
        let key = format!("{PREFIX}{name}");
        let found = self.memory.get(&key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
        let written = match value {
            Some(value) => self.memory.put(&key, Bytes::from(value.to_owned()), found, None).await,
            None => self.memory.delete(&key, found).await,
        };
        match written.unwrap() {
            Written::Done(revision) => revision,
            Written::Stale { .. } => panic!("nobody else writes {key}"),
        }
    }

    /// The limit and revision of each list so far.
    fn reads(&self) -> Vec<(usize, Revision)> {
        self.lists.lock().unwrap().iter().map(|options| (options.limit, options.revision)).collect()
    }
}

#[async_trait]
impl Storage for Recorded {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.memory.get(key).await
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        self.lists.lock().unwrap().push(options.clone());
        self.memory.list(prefix, options).await
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
    ) -> Result<Written, Error> {
        self.memory.put(key, value, expected, ttl).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error> {
        self.memory.delete(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.memory.watch(prefix, options).await
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

    async fn healthy(&self) -> Result<(), Error> {
        self.memory.healthy().await
    }
}

fn delegator(store: &Arc<Recorded>) -> Delegator {
    Delegator::new(store.clone())
}

/// Wants values that begin with `yes`; cannot read those that begin with `broken`.
fn yes() -> Filter {
    Arc::new(|kv| match kv.value.starts_with(b"broken") {
        true => Err("not a value".to_owned()),
        false => Ok(kv.value.starts_with(b"yes")),
    })
}
