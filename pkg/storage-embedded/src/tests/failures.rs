//! A disk that is full, fails or loses power.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use storage::{Error, ListOptions, PutResult, Storage};

use super::ledger::{Ledger, Random, write_until_failure};
use super::sim_disk::SimDisk;
use super::{options, put};
use crate::{EmbeddedStore, Options};

/// The store on a simulated disk. Compaction runs only explicitly.
fn open(disk: &SimDisk) -> Result<Arc<EmbeddedStore>, Error> {
    open_at(disk, &Arc::new(AtomicU64::new(1_700_000_000)))
}

/// The same with a clock that is set by the test, in seconds.
fn open_at(disk: &SimDisk, now: &Arc<AtomicU64>) -> Result<Arc<EmbeddedStore>, Error> {
    let now = now.clone();
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let options = Options {
        clock: Arc::new(clock),
        compaction_interval: None,
        history_bytes_max: 1 << 16,
        ..options()
    };
    EmbeddedStore::open_on(disk.file()?, options)
}

/// Lets the pause after a failure pass, in which writes are rejected.
fn pass(now: &AtomicU64) {
    now.fetch_add(60, Ordering::Relaxed);
}

/// Writers run until the power fails during any operation of the committer. The recovered store contains all
/// acknowledged writes and nothing that was not written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_power_loss() {
    let mut random = Random(7);
    for _ in 0..6 {
        let disk = SimDisk::new();
        let mut ledger = Ledger::default();
        let mut writes = 0;
        for _ in 0..8 {
            let store = open(&disk).unwrap();
            disk.cut_power_after(random.below(400));
            let entries = Arc::new(Mutex::new(Vec::new()));
            let writers = (0..4).map(|writer| {
                let store = store.clone();
                let entries = entries.clone();
                let random = Random(random.next());
                let say = move |entry| entries.lock().unwrap().push(entry);
                tokio::spawn(async move { write_until_failure(&*store, writer, random, say).await })
            });
            for writer in writers.collect::<Vec<_>>() {
                let error = writer.await.unwrap();
                assert!(matches!(error, Error::Unavailable(_) | Error::Rejected(_)), "{error:?}");
            }
            store.close().await;
            std::mem::take(&mut *entries.lock().unwrap()).into_iter().for_each(|e| ledger.enter(e));
            writes += ledger.acknowledged();
            disk.restore_power(&mut random);
            let store = open(&disk).unwrap();
            ledger.settle(&*store).await;
            store.close().await;
        }
        assert!(writes > 100, "only {writes} writes");
    }
}

/// On a full disk writes are rejected without effect, reads continue, and writes continue once there is
/// space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_rejects_writes_and_recovers() {
    for (blocks, value_bytes) in [(200, 30_000), (301, 3_000), (77, 100), (1_000, 400_000)] {
        fill_a_disk(blocks, &"x".repeat(value_bytes)).await;
    }
}

async fn fill_a_disk(blocks: usize, value: &str) {
    let disk = SimDisk::new();
    let now = Arc::new(AtomicU64::new(1_700_000_000));
    let store = open_at(&disk, &now).unwrap();
    disk.leave_room(blocks);
    let mut acknowledged = vec![];
    let mut refusals = 0;
    // After a rejection, smaller writes may fit into pages left by its transaction.
    while refusals < 5 {
        let key = format!("/a/{:04}", acknowledged.len());
        match put(&*store, &key, value, 0).await {
            Ok(PutResult::Done(revision)) => acknowledged.push((key, revision)),
            Err(Error::Rejected(_)) => {
                refusals += 1;
                assert_eq!(store.get(&key).await.unwrap().kv, None);
                assert!(store.healthy().await.is_err(), "during the pause");
                pass(&now);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(!acknowledged.is_empty(), "nothing fits into {blocks} blocks");
    let held = store.list("/a/", ListOptions::default()).await.unwrap();
    let held: Vec<_> = held.kvs.into_iter().map(|kv| (kv.key, kv.mod_revision)).collect();
    assert_eq!(held, acknowledged);

    disk.leave_room(blocks);
    store.healthy().await.unwrap();
    let last = store.current_revision().await.unwrap();
    let next = put(&*store, "/a/next", value, 0).await.unwrap();
    assert_eq!(next, PutResult::Done(last + 1));
    assert_eq!(last, acknowledged.last().unwrap().1, "what was refused made no revision");

    store.close().await;
    let store = open(&disk).unwrap();
    assert_eq!(store.count("/a/").await.unwrap(), acknowledged.len() as u64 + 1);
    store.close().await;
}

/// While the disk returns errors writes fail; afterwards the store is unchanged and continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_disk_loses_no_acknowledged_writes() {
    let disk = SimDisk::new();
    let now = Arc::new(AtomicU64::new(1_700_000_000));
    let store = open_at(&disk, &now).unwrap();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let mut revision = 0;
    for round in 0..5 {
        let PutResult::Done(written) = put(&*store, "/a", &round.to_string(), revision).await.unwrap() else {
            panic!("stale")
        };
        disk.set_broken(true);
        let failed = put(&*store, "/a", "lost", written).await.unwrap_err();
        assert!(matches!(failed, Error::Unavailable(_) | Error::Rejected(_)), "{failed:?}");
        assert!(store.healthy().await.is_err());
        let kv = store.get("/a").await.unwrap().kv.unwrap();
        assert_eq!((kv.mod_revision, kv.value), (written, Bytes::from(round.to_string())));
        disk.set_broken(false);
        pass(&now);
        store.healthy().await.unwrap();
        revision = store.get("/a").await.unwrap().kv.unwrap().mod_revision;
        assert_eq!(revision, written);
        super::expect_revision(&mut watch, written).await;
    }
    store.close().await;
}

/// A transaction with a failed sync may be in the file anyway. It then becomes visible at once for reads and
/// watches, and its writer was not informed that it did not happen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_despite_sync_error_is_visible() {
    let disk = SimDisk::new();
    let now = Arc::new(AtomicU64::new(1_700_000_000));
    let store = open_at(&disk, &now).unwrap();
    let mut watch = store.watch("/", Default::default()).await.unwrap();
    let mut happened = 0;
    for round in 0..10 {
        let key = format!("/{round}");
        disk.fail_next_sync();
        let failed = put(&*store, &key, "1", 0).await.unwrap_err();
        pass(&now);
        store.healthy().await.unwrap();
        let kv = store.get(&key).await.unwrap().kv;
        match (&failed, kv) {
            (Error::Rejected(_), None) => {}
            (Error::Unavailable(_), Some(kv)) => {
                happened += 1;
                super::expect_revision(&mut watch, kv.mod_revision).await;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(happened > 0, "redb writes its header before it syncs");
    store.close().await;
}
