//! The memory store passes the conformance suite under a paused clock.
#![allow(clippy::unwrap_used, clippy::panic)]

mod over;

use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};

use super::Memory;
use crate::{Error, PutResult, Storage, WatchItem, WatchOptions};

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

/// An unread watch gets no events; history that it has not read in time is lost, which it reports.
#[tokio::test]
async fn watch_overtaken_by_compaction_fails() {
    let store = Memory::new();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let mut revision = 0;
    for _ in 0..10 {
        let written = store.put("/a", Bytes::new(), revision, None).await.unwrap();
        let PutResult::Done(done) = written else { panic!("stale") };
        revision = done;
    }
    store.compact(revision).await.unwrap();
    assert!(matches!(watch.next().await, Some(Err(Error::Compacted { oldest })) if oldest == revision));
    assert!(watch.next().await.is_none());
}

/// No write has revision 1, the revision of an empty store; a watch from there waits for the first write.
#[tokio::test]
async fn early_watch_waits_for_the_first_write() {
    for start in [-1, 1, 2] {
        let store = Memory::new();
        let options = WatchOptions { start, progress: true, ..WatchOptions::default() };
        let mut watch = store.watch("/", options).await.unwrap();
        store.request_progress().await.unwrap();
        assert_eq!(watch.next().await.unwrap().unwrap(), WatchItem::Progress(1), "from {start}");
        let written = store.put("/a", Bytes::new(), 0, None).await.unwrap();
        let Some(Ok(WatchItem::Event(event))) = watch.next().await else { panic!("no event") };
        assert_eq!(PutResult::Done(event.kv.mod_revision), written, "from {start}");
    }
}

/// Progress after a batch is available with the batch, without a timer or a request.
#[tokio::test]
async fn progress_is_available_with_its_batch() {
    let store = Memory::new();
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = store.watch("/", options).await.unwrap();
    let mut shown = Vec::new();
    for keys in [&["/a", "/b"][..], &["elsewhere"], &["/c"]] {
        for key in keys {
            store.put(key, Bytes::new(), 0, None).await.unwrap();
        }
        while let Some(item) = watch.next().now_or_never() {
            shown.push(match item.unwrap().unwrap() {
                WatchItem::Event(event) => format!("{}@{}", event.kv.key, event.kv.mod_revision),
                WatchItem::Progress(revision) => format!("p@{revision}"),
            });
        }
    }
    assert_eq!(shown.join(" "), "/a@2 /b@3 p@3 /c@5 p@5");
}

/// Values are not copied for readers or watches.
#[tokio::test]
async fn all_readers_share_the_bytes_of_a_value() {
    let store = Memory::new();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let value = Bytes::from("value".repeat(100));
    store.put("/a", value.clone(), 0, None).await.unwrap();
    let got = store.get("/a").await.unwrap().kv.unwrap();
    let listed = store.list("/", Default::default()).await.unwrap().kvs.remove(0);
    let Some(Ok(WatchItem::Event(event))) = watch.next().await else { panic!("no event") };
    for kv in [got, listed, event.kv] {
        assert_eq!(kv.value.as_ptr(), value.as_ptr());
    }
}

#[tokio::test]
async fn dropped_store_ends_watches_without_error() {
    let store = Memory::new();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    drop(store);
    assert!(watch.next().await.is_none());
}

/// Forks of one store: each has its initial contents, and none sees writes of the others.
#[tokio::test]
async fn forks_of_an_image_are_independent() {
    let parent = Memory::new();
    let mut revision = 0;
    for name in ["/a", "/b", "/gone"] {
        let PutResult::Done(done) = parent.put(name, Bytes::from_static(b"1"), 0, None).await.unwrap() else {
            panic!("stale")
        };
        revision = done;
    }
    let PutResult::Done(revision) = parent.delete("/gone", revision).await.unwrap() else { panic!("stale") };
    let image = parent.image().unwrap();
    assert_eq!(image.revision(), revision);
    let forks = [Memory::from_image(&image), Memory::from_image(&image)];
    for (number, fork) in forks.iter().enumerate() {
        let list = fork.list("/", Default::default()).await.unwrap();
        let keys: Vec<_> = list.kvs.iter().map(|kv| (&*kv.key, kv.mod_revision)).collect();
        assert_eq!((keys, list.count, list.revision), (vec![("/a", 2), ("/b", 3)], 2, revision));
        let parent_value = parent.get("/a").await.unwrap().kv.unwrap().value;
        assert_eq!(list.kvs[0].value.as_ptr(), parent_value.as_ptr(), "the bytes are shared");
        let before =
            fork.list("/", crate::ListOptions { revision: revision - 1, ..Default::default() }).await;
        assert!(matches!(before, Err(Error::Compacted { oldest }) if oldest == revision));
        // The change at the image's revision is still delivered; later changes are the fork's own.
        let options = WatchOptions { start: revision, ..WatchOptions::default() };
        let mut watch = fork.watch("/", options).await.unwrap();
        let value = Bytes::from(number.to_string());
        assert_eq!(fork.put("/a", value.clone(), 2, None).await.unwrap(), PutResult::Done(revision + 1));
        for expected in [("/gone", revision), ("/a", revision + 1)] {
            let Some(Ok(WatchItem::Event(event))) = watch.next().await else { panic!("no event") };
            assert_eq!((&*event.kv.key, event.kv.mod_revision), expected);
        }
        assert_eq!(fork.get("/a").await.unwrap().kv.unwrap().value, value);
        fork.compact(revision + 1).await.unwrap();
        assert_eq!(fork.count("/").await.unwrap(), 2);
    }
    assert_eq!(parent.get("/a").await.unwrap().kv.unwrap().mod_revision, 2);
    assert_eq!(parent.current_revision().await.unwrap(), revision);
}

#[tokio::test(start_paused = true)]
async fn forks_keep_remaining_ttls() {
    let parent = Memory::new();
    let ttl = std::time::Duration::from_secs(100);
    parent.put("/a", Bytes::new(), 0, Some(ttl)).await.unwrap();
    tokio::time::sleep(ttl / 2).await;
    let fork = Memory::from_image(&parent.image().unwrap());
    fork.start_expiring();
    tokio::time::sleep(ttl * 4 / 10).await;
    assert!(fork.get("/a").await.unwrap().kv.is_some());
    tokio::time::sleep(ttl / 5).await;
    assert!(fork.get("/a").await.unwrap().kv.is_none());
}

mod a_fork_keeps_the_contract {
    crate::conformance_suite!(
        crate::conformance::Fixture::new(crate::memory::Memory::from_image(&crate::mvcc::Image::default())),
        start_paused = true
    );
}
