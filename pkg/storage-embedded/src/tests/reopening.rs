//! State after closing and reopening, and stores that cannot be opened.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use storage::{Error, ListOptions, PutResult, Storage, WatchOptions};

use super::{expect_revision, must_put, options, put};
use crate::disk::{Commit, Disk};
use crate::{EmbeddedStore, LockedDirectory, Options};

fn open(dir: &Path) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(dir, options()).unwrap()
}

fn refused(dir: &Path) -> Error {
    EmbeddedStore::open(dir, options()).err().expect("the store does not open")
}

#[tokio::test]
async fn state_history_and_compaction_are_durable() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = must_put(&*store, "/a", "1", 0).await;
    let second = must_put(&*store, "/a", "2", first).await;
    let b = must_put(&*store, "/b", "1", 0).await;
    let third = must_put(&*store, "/a", "3", second).await;
    let PutResult::Done(deleted) = store.delete("/b", b).await.unwrap() else { panic!("stale") };
    store.compact(second).await.unwrap();
    store.close().await;

    let store = open(dir.path());
    assert_eq!(store.current_revision().await.unwrap(), deleted);
    assert_eq!(store.get("/a").await.unwrap().kv.unwrap().mod_revision, third);
    assert_eq!(store.get("/b").await.unwrap().kv, None);
    let at = |revision| ListOptions { revision, ..ListOptions::default() };
    for (revision, expected) in [(second, "2"), (b, "21"), (third, "31"), (deleted, "3")] {
        let listing = store.list("/", at(revision)).await.unwrap();
        let values: Vec<_> = listing.kvs.iter().flat_map(|kv| kv.value.to_vec()).collect();
        assert_eq!(values, expected.as_bytes(), "at {revision}");
    }
    assert_eq!(*store.compacted().borrow(), second);
    let compacted = store.list("/", at(first)).await;
    assert!(matches!(compacted, Err(Error::Compacted { oldest }) if oldest == second));
    let start = WatchOptions { start: second, prev_kv: true, ..WatchOptions::default() };
    let mut watch = store.watch("/", start).await.unwrap();
    for revision in [second, b, third, deleted] {
        expect_revision(&mut watch, revision).await;
    }
    let next = must_put(&*store, "/b", "2", 0).await;
    assert_eq!(next, deleted + 1);
    expect_revision(&mut watch, next).await;
    store.close().await;
}

/// The state of an empty store that was opened twice without a write.
#[tokio::test]
async fn an_empty_store_stays_empty() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let store = open(dir.path());
        assert_eq!(store.current_revision().await.unwrap(), 1);
        assert_eq!(store.count("/").await.unwrap(), 0);
        store.close().await;
    }
    let store = open(dir.path());
    assert_eq!(put(&*store, "/a", "1", 0).await.unwrap(), PutResult::Done(2));
    store.close().await;
}

/// Deadlines are wall-clock times: keys that became due while the store was closed expire when it is opened,
/// others later.
#[tokio::test]
async fn ttls_are_durable() {
    let dir = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_700_000_000));
    let clock = {
        let now = now.clone();
        move || std::time::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed))
    };
    let open = || {
        let options = Options { clock: Arc::new(clock.clone()), ..options() };
        EmbeddedStore::open(dir.path(), options).unwrap()
    };
    let store = open();
    for (key, ttl) in [("/short", Some(10)), ("/long", Some(1_000)), ("/none", None)] {
        let ttl = ttl.map(Duration::from_secs);
        assert!(matches!(store.put(key, "v".into(), 0, ttl).await, Ok(PutResult::Done(_))));
    }
    let last = store.current_revision().await.unwrap();
    store.close().await;

    now.fetch_add(10, Ordering::Relaxed);
    let store = open();
    let mut watch = store.watch("/", WatchOptions { start: last + 1, ..Default::default() }).await.unwrap();
    expect_revision(&mut watch, last + 1).await;
    assert_eq!(store.get("/short").await.unwrap().kv, None);
    assert!(store.get("/long").await.unwrap().kv.is_some());
    store.close().await;

    now.fetch_add(1_000, Ordering::Relaxed);
    let store = open();
    let mut watch = store.watch("/", WatchOptions { start: last + 2, ..Default::default() }).await.unwrap();
    expect_revision(&mut watch, last + 2).await;
    assert_eq!(store.get("/long").await.unwrap().kv, None);
    assert!(store.get("/none").await.unwrap().kv.is_some());
    store.close().await;
}

#[tokio::test]
async fn second_opener_is_rejected_with_path() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let error = refused(dir.path());
    assert!(matches!(error, Error::Rejected(_)), "{error:?}");
    assert!(error.to_string().contains(dir.path().to_str().unwrap()), "{error}");
    store.close().await;
    open(dir.path()).close().await;
}

/// A store that was dropped without closing can be reopened a moment later.
#[tokio::test]
async fn dropped_store_releases_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    must_put(&*store, "/a", "1", 0).await;
    drop(store);
    let store = loop {
        match EmbeddedStore::open(dir.path(), options()) {
            Ok(store) => break store,
            Err(Error::Rejected(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(store.count("/").await.unwrap(), 1);
    store.close().await;
}

/// Damaging any byte of the file results in an error with the path, or in a correct read.
#[tokio::test]
async fn damaged_file_is_reported_with_path() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for i in 0..20 {
        must_put(&*store, &format!("/{i:02}"), &"v".repeat(500), 0).await;
    }
    store.close().await;
    let path = dir.path().join("store.redb");
    let good = std::fs::read(&path).unwrap();
    let mut errors = 0;
    for step in 0..60 {
        let mut bytes = good.clone();
        let at = step * good.len() / 60 + step;
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        match EmbeddedStore::open(dir.path(), options()) {
            Err(error) => {
                assert!(matches!(error, Error::Internal(_)), "{error:?}");
                assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
                errors += 1;
            }
            Ok(store) => {
                let listing = store.list("/", ListOptions::default()).await.unwrap();
                assert_eq!(listing.count, 20);
                assert!(listing.kvs.iter().all(|kv| kv.value == "v".repeat(500)));
                store.close().await;
            }
        }
    }
    assert!(errors > 0);
    for bytes in [&b"not a database"[..], &good[..good.len() / 2]] {
        std::fs::write(&path, bytes).unwrap();
        let error = refused(dir.path());
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

/// A log that is valid for redb but lacks a revision is rejected.
#[tokio::test]
async fn a_missing_revision_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for i in 0..3 {
        must_put(&*store, &format!("/{i}"), "v", 0).await;
    }
    store.close().await;
    {
        let disk = Disk::in_directory(LockedDirectory::lock(dir.path()).unwrap(), 1 << 20).unwrap();
        disk.commit(&Commit { deleted: &[3], ..Commit::default() }).unwrap();
        disk.release();
    }
    let error = refused(dir.path()).to_string();
    assert!(error.contains("revision 3 is missing") && error.contains("store.redb"), "{error}");
}

#[tokio::test]
async fn oversized_values_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), Options { value_bytes_max: 10, ..options() }).unwrap();
    let error = put(&*store, "/a", "12345678901", 0).await.unwrap_err();
    assert!(matches!(&error, Error::Rejected(text) if text == "etcdserver: request is too large"));
    must_put(&*store, "/a", "1234567890", 0).await;
    store.close().await;
}

/// Commands queued before closing are executed; later ones get an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_answers_all_commands() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut watch = store.watch("/", WatchOptions::default()).await.unwrap();
    let acknowledged = Arc::new(Mutex::new(vec![]));
    let writers = (0..20).map(|writer| {
        let store = store.clone();
        let acknowledged = acknowledged.clone();
        tokio::spawn(async move {
            for i in 0.. {
                match put(&*store, &format!("/{writer}/{i}"), "v", 0).await {
                    Ok(PutResult::Done(revision)) => acknowledged.lock().unwrap().push(revision),
                    Ok(stale) => panic!("{stale:?}"),
                    Err(Error::Unavailable(text)) => return assert_eq!(text, "the store is closed"),
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    while acknowledged.lock().unwrap().len() < 100 {
        watch.next().await.unwrap().unwrap();
    }
    store.close().await;
    store.close().await;
    for writer in writers {
        writer.await.unwrap();
    }
    while let Some(item) = watch.next().await {
        item.unwrap();
    }
    assert!(store.healthy().await.is_err());
    let store = open(dir.path());
    let count = store.count("/").await.unwrap();
    assert_eq!(count, acknowledged.lock().unwrap().len() as u64);
    store.close().await;
}

/// The file stops growing while the same key is written repeatedly, if history is compacted.
#[tokio::test]
async fn space_of_compacted_history_is_reused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut revision = 0;
    let mut sizes = vec![];
    for _ in 0..10 {
        for _ in 0..100 {
            revision = must_put(&*store, "/a", &"v".repeat(3_000), revision).await;
        }
        store.compact(revision).await.unwrap();
        sizes.push(std::fs::metadata(dir.path().join("store.redb")).unwrap().len());
    }
    assert!(sizes.iter().all(|size| *size < 1_500_000), "3 MB were written in all: {sizes:?}");
    store.close().await;
}

/// An unread watch gets no events; history that it has not read in time is lost, which it reports.
#[tokio::test]
async fn watch_overtaken_by_compaction_fails() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), Options { history_bytes_max: 1_000, ..options() }).unwrap();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let mut revision = 0;
    for _ in 0..50 {
        revision = must_put(&*store, "/a", "1", revision).await;
    }
    store.compact(revision).await.unwrap();
    assert!(matches!(watch.next().await, Some(Err(Error::Compacted { oldest })) if oldest == revision));
    assert!(watch.next().await.is_none());
    store.close().await;
}

/// Every file in the directory contains or protects secrets, also one that an earlier version has created.
#[tokio::test]
async fn files_are_private_and_tightened() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("data").join("store");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for _ in 0..2 {
        open(&dir).close().await;
        for directory in [&dir, &parent.path().join("data")] {
            assert_eq!(mode(directory), 0o700);
        }
        let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() >= 2, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{file:?}");
            std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        }
    }
}
