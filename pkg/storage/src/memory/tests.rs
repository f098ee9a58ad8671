//! The memory store keeps the contract, and does so under a paused clock.
#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use futures::StreamExt;

use super::Memory;
use crate::{Error, Storage, WatchItem, WatchOptions, Written};

mod keeps_the_contract {
    crate::conformance_suite!(
        crate::conformance::Fixture::new(crate::memory::Memory::new()),
        start_paused = true
    );
}

mod keeps_the_contract_on_many_threads {
    crate::conformance_suite!(
        crate::conformance::Fixture::new(crate::memory::Memory::new()),
        flavor = "multi_thread",
        worker_threads = 4
    );
}

/// A watch that is not read is not fed either; what it has not read in time is gone, and it says so.
#[tokio::test]
async fn a_watch_overtaken_by_compaction_ends_with_the_error() {
    let store = Memory::new();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let mut revision = 0;
    for _ in 0..10 {
        let written = store.put("/a", Bytes::new(), revision, None).await.unwrap();
        let Written::Done(done) = written else { panic!("stale") };
        revision = done;
    }
    store.compact(revision).await.unwrap();
    assert!(matches!(watch.next().await, Some(Err(Error::Compacted { oldest })) if oldest == revision));
    assert!(watch.next().await.is_none());
}

/// No write makes revision 1, which an empty store is at; a watch from there has nothing to wait for
/// but the first write.
#[tokio::test]
async fn a_watch_from_before_the_first_write_waits_for_it() {
    for start in [-1, 1, 2] {
        let store = Memory::new();
        let options = WatchOptions { start, progress: true, ..WatchOptions::default() };
        let mut watch = store.watch("/", options).await.unwrap();
        store.request_progress().await.unwrap();
        assert_eq!(watch.next().await.unwrap().unwrap(), WatchItem::Progress(1), "from {start}");
        let written = store.put("/a", Bytes::new(), 0, None).await.unwrap();
        let Some(Ok(WatchItem::Event(event))) = watch.next().await else { panic!("no event") };
        assert_eq!(Written::Done(event.kv.mod_revision), written, "from {start}");
    }
}

#[tokio::test]
async fn dropping_the_store_ends_its_watches_without_an_error() {
    let store = Memory::new();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    drop(store);
    assert!(watch.next().await.is_none());
}
