//! A store over an archive behaves like one with all contents in memory, and reads parts on demand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::super::unread::UnreadParts;
use super::*;
use crate::mvcc::{Archive, ArchiveError, ArchivedKey, Change, FoundKey, Image, PartInfo, Scan};
use crate::{ListOptions, Revision};

/// An archive of an image, in parts of a few keys each.
#[derive(Debug)]
struct PartedArchive {
    image: Image,
    parts: Vec<PartInfo>,
    keys: Vec<Vec<ArchivedKey>>,
    reads: Mutex<Vec<usize>>,
    broken: AtomicBool,
}

impl PartedArchive {
    fn of(image: Image, keys_per_part: usize) -> Arc<Self> {
        let ttl = |key: &str| image.ttls().iter().find(|(ttl_key, _)| **ttl_key == *key).map(|(_, ttl)| *ttl);
        let keys = image.changes().filter_map(|change| {
            let ttl = ttl(&change.key);
            let value = change.value?;
            Some(ArchivedKey { key: change.key, mod_revision: change.revision, value, ttl })
        });
        let keys: Vec<ArchivedKey> = keys.collect();
        let keys: Vec<Vec<ArchivedKey>> = keys.chunks(keys_per_part).map(<[ArchivedKey]>::to_vec).collect();
        let part = |keys: &Vec<ArchivedKey>| PartInfo {
            first: (&*keys[0].key).into(),
            keys: keys.len() as u64,
            first_expiry: keys.iter().filter_map(|key| key.ttl).min(),
        };
        let parts = keys.iter().map(part).collect();
        let broken = AtomicBool::new(false);
        Arc::new(PartedArchive { image, parts, keys, reads: Mutex::default(), broken })
    }

    /// The parts read since the last call.
    fn reads(&self) -> Vec<usize> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

impl Archive for PartedArchive {
    fn revision(&self) -> Revision {
        self.image.revision()
    }

    fn last(&self) -> Option<&Change> {
        self.image.last()
    }

    fn parts(&self) -> &[PartInfo] {
        &self.parts
    }

    fn read(&self, part: usize) -> Result<Vec<ArchivedKey>, ArchiveError> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(ArchiveError::Part("the disk is gone".into()));
        }
        self.reads.lock().unwrap().push(part);
        Ok(self.keys[part].clone())
    }
}

async fn filled(keys: impl IntoIterator<Item = String>) -> Memory {
    let store = Memory::new();
    for key in keys {
        let value = Bytes::from(key.repeat(3));
        assert!(matches!(store.put(&key, value, 0, None).await.unwrap(), PutResult::Done(_)));
    }
    store
}

/// `/a/00`, `/a/01`, … and the same number below `/b/` and `/c/`, unsorted.
fn keys(each: usize) -> impl Iterator<Item = String> {
    (0..each).rev().flat_map(|number| ["/b/", "/a/", "/c/"].map(|prefix| format!("{prefix}{number:02}")))
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Runs the same operation on both stores; the results must be equal.
async fn step(random: &mut Random, [left, right]: [&Memory; 2], initial_revision: Revision) {
    let key = format!("{}{:02}", ["/b/", "/a/", "/c/", "/", "/zz"][random.below(5)], random.below(14));
    match random.below(8) {
        0 => assert_eq!(left.get(&key).await.unwrap(), right.get(&key).await.unwrap(), "{key}"),
        1 => {
            let prefix = key.get(..random.below(4)).unwrap();
            assert_eq!(left.count(prefix).await.unwrap(), right.count(prefix).await.unwrap(), "{prefix}");
        }
        2..5 => {
            let prefix = key.get(..random.below(5).min(key.len())).unwrap();
            let now = left.current_revision().await.unwrap();
            let options = ListOptions {
                start: (random.below(2) == 0).then(|| format!("{}{:02}", &key[..3], random.below(14))),
                limit: random.below(5) * random.below(5),
                revision: [0, now, initial_revision][random.below(3)],
                uncounted: random.below(2) == 0,
            };
            let of_left = left.list(prefix, options.clone()).await.unwrap();
            let of_right = right.list(prefix, options.clone()).await.unwrap();
            assert_eq!(format!("{of_left:?}"), format!("{of_right:?}"), "{prefix} {options:?}");
        }
        n => {
            let expected = left.get(&key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
            let (of_left, of_right) = match n {
                5 => {
                    (left.delete(&key, expected).await.unwrap(), right.delete(&key, expected).await.unwrap())
                }
                _ => {
                    let value = || Bytes::from(format!("{expected}"));
                    (
                        left.put(&key, value(), expected, None).await.unwrap(),
                        right.put(&key, value(), expected, None).await.unwrap(),
                    )
                }
            };
            assert_eq!(format!("{of_left:?}"), format!("{of_right:?}"), "{key}");
        }
    }
}

#[tokio::test]
async fn archive_store_equals_memory_store() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let parent = filled(keys(12)).await;
        if seed % 2 == 0 {
            assert!(matches!(parent.delete("/b/11", 2).await.unwrap(), PutResult::Done(_)));
        }
        let image = parent.image().unwrap();
        let loaded = Memory::from_image(&image);
        let lazy = Memory::from_archive(PartedArchive::of(image, 1 + random.below(9)));
        for _ in 0..30 {
            step(&mut random, [&loaded, &lazy], parent.current_revision().await.unwrap()).await;
        }
        let all = |store: &Memory| {
            let image = store.image().unwrap();
            image.changes().map(|change| format!("{change:?}")).collect::<Vec<_>>()
        };
        assert_eq!(all(&loaded), all(&lazy));
    }
}

#[tokio::test]
async fn parts_are_read_on_demand() {
    let archive = PartedArchive::of(filled(keys(20)).await.image().unwrap(), 4);
    let store = Memory::from_archive(Arc::clone(&archive) as Arc<dyn Archive>);
    assert_eq!(archive.reads(), [0; 0], "opening reads no part");
    assert!(store.get("/a/05").await.unwrap().kv.is_some());
    assert_eq!(archive.reads(), [1]);
    assert!(store.get("/a/05x").await.unwrap().kv.is_none());
    assert_eq!(store.count("/b/").await.unwrap(), 20);
    assert_eq!(archive.reads(), [4, 9], "the parts at the ends may have other keys too");
    let page = ListOptions { limit: 4, uncounted: true, ..ListOptions::default() };
    let listed = store.list("/b/", page).await.unwrap();
    assert_eq!((listed.kvs.len(), listed.has_more()), (4, true));
    assert_eq!(archive.reads(), [5]);
    assert_eq!(store.list("/b/", ListOptions::default()).await.unwrap().count, 20);
    assert_eq!(archive.reads(), [6, 7, 8]);
    assert!(matches!(store.delete("/c/19", 4).await.unwrap(), PutResult::Done(_)));
    assert_eq!(archive.reads(), [14]);
    assert_eq!(store.image().unwrap().len(), 60);
    assert_eq!(archive.reads(), [0, 2, 3, 10, 11, 12, 13]);
}

#[tokio::test]
async fn unreadable_parts_are_errors() {
    let archive = PartedArchive::of(filled(keys(4)).await.image().unwrap(), 4);
    let store = Memory::from_archive(Arc::clone(&archive) as Arc<dyn Archive>);
    assert!(store.get("/a/00").await.unwrap().kv.is_some());
    archive.broken.store(true, Ordering::Relaxed);
    let revision = store.current_revision().await.unwrap();
    let is_read_error = |error: Error| matches!(error, Error::Internal(text) if text == "the disk is gone");
    assert!(is_read_error(store.get("/b/00").await.unwrap_err()));
    assert!(is_read_error(store.list("/", ListOptions::default()).await.unwrap_err()));
    assert!(is_read_error(store.count("/b/").await.unwrap_err()));
    assert!(is_read_error(store.put("/b/00", Bytes::new(), 0, None).await.unwrap_err()));
    assert!(is_read_error(store.delete("/b/00", 11).await.unwrap_err()));
    assert!(is_read_error(store.image().unwrap_err()));
    assert_eq!(store.current_revision().await.unwrap(), revision);
    assert!(store.get("/a/00").await.unwrap().kv.is_some(), "the part was read before");
    archive.broken.store(false, Ordering::Relaxed);
    assert!(store.get("/b/00").await.unwrap().kv.is_some());
}

#[tokio::test(start_paused = true)]
async fn keys_in_unread_parts_expire() {
    let parent = filled(keys(4)).await;
    let ttl = Duration::from_secs(100);
    parent.put("/b/leased", Bytes::new(), 0, Some(ttl)).await.unwrap();
    let archive = PartedArchive::of(parent.image().unwrap(), 3);
    for broken in [true, false] {
        archive.broken.store(broken, Ordering::Relaxed);
        let store = Memory::from_archive(Arc::clone(&archive) as Arc<dyn Archive>);
        store.start_expiring();
        let mut watch = store.watch("/b/", WatchOptions::default()).await.unwrap();
        tokio::time::sleep(ttl * 9 / 10).await;
        assert_eq!(archive.reads(), [0; 0]);
        tokio::time::sleep(ttl / 5).await;
        assert_eq!(archive.reads().len(), usize::from(!broken));
        let event = watch.next().now_or_never();
        assert_eq!(event.is_some(), !broken, "an unreadable part has no events");
    }
}

/// Concurrent requests for the same part: it is added once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_reads_add_a_part_once() {
    let archive = PartedArchive::of(filled(keys(30)).await.image().unwrap(), 2);
    let store = Arc::new(Memory::from_archive(archive));
    let writes = Arc::new(AtomicUsize::new(0));
    let tasks = (0..16).map(|task| {
        let store = Arc::clone(&store);
        let writes = Arc::clone(&writes);
        tokio::spawn(async move {
            for number in 0..30 {
                let key = format!("/b/{number:02}");
                let kv = store.get(&key).await.unwrap().kv.unwrap();
                let value = Bytes::from(format!("{task}"));
                if let PutResult::Done(_) = store.put(&key, value, kv.mod_revision, None).await.unwrap() {
                    writes.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.unwrap();
    }
    let writes = writes.load(Ordering::Relaxed);
    assert!(writes >= 30);
    assert_eq!(store.current_revision().await.unwrap(), 91 + Revision::try_from(writes).unwrap());
    assert_eq!(store.list("/", ListOptions::default()).await.unwrap().count, 90);
}

/// Keys that were counted on may be deleted before they are visited.
#[tokio::test]
async fn passed_over_parts_are_reported() {
    let mut unread = UnreadParts::of(PartedArchive::of(filled(keys(8)).await.image().unwrap(), 4));
    assert!(unread.remove(1) && !unread.remove(1));
    let at = |key: &str| FoundKey { key: key.into(), mod_revision: 2, value: None };
    let start = std::ops::Bound::Unbounded;
    let visit_max = usize::MAX;
    let check = |limit, found: &[&str], expected: &[usize]| {
        let scan = Scan { prefix: "/b/", start, revision: 0, limit, visit_max, uncounted: true };
        let found: Vec<FoundKey> = found.iter().map(|key| at(key)).collect();
        assert_eq!(unread.skipped_parts(&scan, &found), expected, "{limit} {found:?}");
    };
    check(2, &["/b/00", "/b/01"], &[2]);
    check(2, &["/b/00", "/b/05"], &[2, 3]);
    check(2, &["/b/00"], &[2, 3]);
    check(2, &[], &[2, 3]);
    check(0, &[], &[]);
}
