//! The store as a whole: the contract, reopening, disk failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::StreamExt;
use storage::conformance::Fixture;
use storage::{Error, PutResult, Revision, Storage, WatchItem, WatchStream};

use crate::{EmbeddedStore, Options};

#[path = "../tests/support/ledger.rs"]
mod ledger;

mod failures;
mod reopening;
pub(crate) mod sim_disk;

mod keeps_the_contract {
    use crate::tests::{fixture, options};

    storage::conformance_suite!(fixture(options()), flavor = "multi_thread", worker_threads = 2);
}

/// Without memory for history, every read of the past comes from disk.
mod keeps_the_contract_with_history_on_disk {
    use crate::tests::{fixture, options};

    storage::conformance_suite!(
        fixture(crate::Options { history_bytes_max: 0, ..options() }),
        flavor = "multi_thread",
        worker_threads = 2
    );
}

fn options() -> Options {
    Options::new(Arc::new(SystemTime::now))
}

fn fixture(options: Options) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), options).unwrap();
    Fixture::shared(store).keeping(dir)
}

async fn put(store: &dyn Storage, key: &str, value: &str, expected: Revision) -> Result<PutResult, Error> {
    store.put(key, Bytes::copy_from_slice(value.as_bytes()), expected, None).await
}

/// A write that must succeed.
async fn must_put(store: &dyn Storage, key: &str, value: &str, expected: Revision) -> Revision {
    match put(store, key, value, expected).await.unwrap() {
        PutResult::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    }
}

/// Current values are never copied for readers or watches, even if history is not in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_readers_share_the_bytes_of_a_value() {
    for history_bytes_max in [0, 32 << 20] {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Options { history_bytes_max, ..options() }).unwrap();
        let mut watch = store.watch("/", Default::default()).await.unwrap();
        let value = Bytes::from("value".repeat(100));
        store.put("/a", value.clone(), 0, None).await.unwrap();
        let got = store.get("/a").await.unwrap().kv.unwrap();
        let listed = store.list("/", Default::default()).await.unwrap().kvs.remove(0);
        assert_eq!((got.value.as_ptr(), listed.value.as_ptr()), (value.as_ptr(), value.as_ptr()));
        let Some(Ok(WatchItem::Event(event))) = watch.next().await else { panic!("no event") };
        // Without memory for history, the change itself is read from disk.
        assert_eq!(event.kv.value.as_ptr() == value.as_ptr(), history_bytes_max > 0);
        store.close().await;
    }
}

/// Asserts that the next event is at this revision.
async fn expect_revision(watch: &mut WatchStream, revision: Revision) {
    match watch.next().await {
        Some(Ok(WatchItem::Event(event))) => assert_eq!(event.kv.mod_revision, revision),
        other => panic!("wanted the event at {revision}, got {other:?}"),
    }
}
