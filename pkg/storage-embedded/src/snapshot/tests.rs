//! Snapshots survive a round trip, and invalid ones are errors.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use storage::memory::Memory;
use storage::mvcc::{Archive, ArchiveError};
use storage::{ListOptions, PutResult, Storage, WatchItem, WatchOptions};

use super::*;
use crate::{EmbeddedStore, Options};

/// A store with some keys, an expiring one, and a deleted one.
async fn store() -> Memory {
    let store = Memory::new();
    for (key, ttl) in [("/a", None), ("/leased", Some(Duration::from_secs(3600))), ("/gone", None)] {
        store.put(key, Bytes::from(key.repeat(9)), 0, ttl).await.unwrap();
    }
    assert_eq!(store.put("/a", Bytes::from_static(b"again"), 2, None).await.unwrap(), PutResult::Done(5));
    assert_eq!(store.delete("/gone", 4).await.unwrap(), PutResult::Done(6));
    store
}

fn whole(store: &Memory) -> Bytes {
    let pieces: Vec<Bytes> = encode(&store.image().unwrap()).unwrap().collect();
    Bytes::from(pieces.concat())
}

fn opened(bytes: &Bytes) -> Arc<dyn Archive> {
    Arc::new(Snapshot::decode(bytes).unwrap())
}

/// Reads all parts.
fn read(bytes: &Bytes) -> Result<(), ArchiveError> {
    let snapshot = Snapshot::decode(bytes).map_err(|error| ArchiveError::Part(error.into()))?;
    (0..snapshot.parts().len()).try_for_each(|part| snapshot.read(part).map(drop))
}

async fn contents(store: &dyn Storage) -> Vec<(String, Bytes, Revision)> {
    let list = store.list("/", ListOptions::default()).await.unwrap();
    list.kvs.into_iter().map(|kv| (kv.key, kv.value, kv.mod_revision)).collect()
}

/// Continues at the next revision, and delivers the change at the last one.
async fn assert_continues(store: &dyn Storage) {
    let options = WatchOptions { start: 6, ..WatchOptions::default() };
    let mut watch = store.watch("/", options).await.unwrap();
    assert_eq!(store.put("/b", Bytes::new(), 0, None).await.unwrap(), PutResult::Done(7));
    for expected in ["/gone", "/b"] {
        let Some(Ok(WatchItem::Event(event))) = futures::StreamExt::next(&mut watch).await else {
            panic!("no event")
        };
        assert_eq!(event.kv.key, expected);
    }
}

#[tokio::test]
async fn memory_store_continues_from_snapshot() {
    let before = store().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seed");
    write(&before.image().unwrap(), &path).unwrap();
    let snapshot = Snapshot::open(&path).unwrap();
    let parts = snapshot.parts();
    assert_eq!(
        (parts.len(), parts[0].keys, parts[0].first_expiry.map(|left| left / 3_601_000)),
        (1, 2, Some(0))
    );
    // Replacing the file does not affect the open snapshot.
    write(&Image::default(), &path).unwrap();
    let after = Memory::from_archive(Arc::new(snapshot));
    assert_eq!(contents(&after).await, contents(&before).await);
    assert_continues(&after).await;
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
}

#[tokio::test]
async fn a_durable_store_is_filled_once() {
    let before = store().await;
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let mut options = Options::new(Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30)));
        options.begin = Some(opened(&whole(&before)));
        EmbeddedStore::open(dir.path(), options).unwrap()
    };
    let of =
        |store: &EmbeddedStore| Bytes::from(encode(&store.image()).unwrap().collect::<Vec<Bytes>>().concat());
    let first = open();
    assert_eq!(contents(&*first).await, contents(&before).await);
    assert_continues(&*first).await;
    let again = of(&first);
    assert_eq!(opened(&again).revision(), 7);
    first.close().await;
    let second = open();
    assert_eq!(second.current_revision().await.unwrap(), 7, "it is not filled again");
    assert_eq!(of(&second), again, "what has it left, and all else, is as it was");
    second.close().await;
}

#[tokio::test]
async fn an_empty_store_has_a_snapshot() {
    let empty = opened(&whole(&Memory::new()));
    assert!(empty.parts().is_empty() && empty.last().is_none());
    assert_eq!(
        Memory::from_archive(empty).put("/a", Bytes::new(), 0, None).await.unwrap(),
        PutResult::Done(2)
    );
}

/// A store whose values fill several parts, with one value that is larger than a part.
async fn large() -> Memory {
    let store = Memory::new();
    for number in 0..300 {
        let length = if number == 7 { 3 * PART_BYTES } else { 1_000 };
        let value = Bytes::from(vec![b'x'; length]);
        store.put(&format!("/large/{number}"), value, 0, None).await.unwrap();
    }
    store
}

#[tokio::test]
async fn values_are_divided_into_parts() {
    let before = large().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seed");
    write(&before.image().unwrap(), &path).unwrap();
    let snapshot = Snapshot::open(&path).unwrap();
    assert_eq!(snapshot.parts().iter().map(|part| part.keys).collect::<Vec<_>>(), [63, 63, 63, 63, 16, 32]);
    let after = Memory::from_archive(Arc::new(snapshot));
    assert_eq!(after.count("/large/").await.unwrap(), 300);
    assert_eq!(contents(&after).await, contents(&before).await);
    assert!(whole(&after) == whole(&before), "it has the same snapshot");
}

/// The index is longer than the first read at the end of the file.
#[tokio::test]
async fn long_index_is_read() {
    let before = Memory::new();
    let dir = tempfile::tempdir().unwrap();
    for number in 0..20 {
        let key = format!("/{number:02}/{}", "k".repeat(PART_BYTES));
        before.put(&key, Bytes::new(), 0, None).await.unwrap();
    }
    let path = dir.path().join("seed");
    write(&before.image().unwrap(), &path).unwrap();
    let after = Memory::from_archive(Arc::new(Snapshot::open(&path).unwrap()));
    assert_eq!(contents(&after).await, contents(&before).await);
}

/// Any truncation or change is an error, not a panic.
#[tokio::test]
async fn damaged_snapshots_are_rejected() {
    let good = whole(&store().await);
    read(&good).unwrap();
    for end in 0..good.len() {
        assert!(Snapshot::decode(&good.slice(..end)).is_err(), "cut at {end}");
    }
    for at in 0..good.len() {
        let mut bad = good.to_vec();
        bad[at] ^= 0x41;
        assert!(read(&Bytes::from(bad)).is_err(), "changed at {at}");
    }
}

/// With correct checksums, the content must still be consistent: it is, or is an error. Counts match the
/// content.
#[tokio::test]
async fn forged_snapshots_are_rejected_or_consistent() {
    let good = whole(&store().await);
    let end = good.len() - END;
    let length = u64::from_le_bytes(good[end + 16..][..8].try_into().unwrap());
    let index = end - usize::try_from(length).unwrap();
    let checksum =
        good[index..end].windows(4).position(|at| *at == crc32fast::hash(&good[HEAD..index]).to_le_bytes());
    for at in HEAD..good.len() - CHECKSUM {
        for by in [0x01, 0x81, 0xFF] {
            let mut bad = good.to_vec();
            bad[at] = bad[at].wrapping_add(by);
            let of_part = crc32fast::hash(&bad[HEAD..index]).to_le_bytes();
            bad[index + checksum.unwrap()..][..CHECKSUM].copy_from_slice(&of_part);
            let of_index = checksum_of(&bad[index..good.len() - CHECKSUM]).to_le_bytes();
            bad[good.len() - CHECKSUM..].copy_from_slice(&of_index);
            let bad = Bytes::from(bad);
            let Ok(snapshot) = Snapshot::decode(&bad) else { continue };
            let store = Memory::from_archive(Arc::new(snapshot));
            let counted = store.count("/").await;
            let listed = store.list("/", ListOptions::default()).await;
            let listed = listed.map(|list| (list.kvs.len() as u64, list.count)).ok();
            assert_eq!(counted.ok().map(|count| (count, count)), listed, "byte {at} + {by}");
            if let Some((count, _)) = listed {
                let written = store.put("/new", Bytes::new(), 0, None).await.unwrap();
                let PutResult::Done(revision) = written else { panic!("there is no such key") };
                assert!(revision > 2 && count <= 2);
            }
        }
    }
}

/// No store has a revision without room for later ones.
#[tokio::test]
async fn invalid_revisions_are_rejected() {
    let good = whole(&Memory::new());
    for revision in [0, u64::MAX, i64::MAX as u64] {
        let mut bad = good.to_vec();
        let at = good.len() - END;
        let end = good.len() - CHECKSUM;
        bad[at..at + 8].copy_from_slice(&revision.to_le_bytes());
        let checksum = checksum_of(&bad[HEAD..end]).to_le_bytes();
        bad[end..].copy_from_slice(&checksum);
        let refused = Snapshot::decode(&Bytes::from(bad)).unwrap_err();
        assert_eq!(refused.to_string(), "the snapshot is damaged: no store has its revision");
    }
}

#[test]
fn errors_have_a_reason() {
    let check = |bytes: &[u8], expected: &str| {
        let error = Snapshot::decode(&Bytes::copy_from_slice(bytes)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(b"", "the snapshot is cut off");
    check(b"MAINSTAYx", "the snapshot is cut off");
    check(b"something else", "this is not a snapshot");
    check(b"MAINSTAY\x02\0\0\0", "the snapshot has format 2, this program reads 3");
    let mut long = b"MAINSTAY\x03\0\0\0".to_vec();
    long.resize(100, 0xFF);
    check(&long, "the snapshot is cut off");
    long.resize(200, 0);
    check(&long, "the snapshot is cut off or damaged: the checksum of its index differs");
    let missing = Snapshot::open(Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/at/all"), "{missing}");
}
