//! What is read is what was written, and what is not that is an error in words.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::{Duration, SystemTime};

use storage::memory::Memory;
use storage::{ListOptions, Storage, WatchItem, WatchOptions, Written};

use super::*;
use crate::{Embedded, Options};

/// A store with some keys, one of which expires and one of which is gone.
async fn store() -> Memory {
    let store = Memory::new();
    for (key, ttl) in [("/a", None), ("/leased", Some(Duration::from_secs(3600))), ("/gone", None)] {
        store.put(key, Bytes::from(key.repeat(9)), 0, ttl).await.unwrap();
    }
    assert_eq!(store.put("/a", Bytes::from_static(b"again"), 2, None).await.unwrap(), Written::Done(5));
    assert_eq!(store.delete("/gone", 4).await.unwrap(), Written::Done(6));
    store
}

fn whole(image: &Image) -> Bytes {
    let pieces: Vec<Bytes> = pieces(image).unwrap().collect();
    Bytes::from(pieces.concat())
}

async fn contents(store: &dyn Storage) -> Vec<(String, Bytes, Revision)> {
    let list = store.list("/", ListOptions::default()).await.unwrap();
    list.kvs.into_iter().map(|kv| (kv.key, kv.value, kv.mod_revision)).collect()
}

/// Goes on at the next revision, and tells the change that made the last one.
async fn goes_on(store: &dyn Storage) {
    let options = WatchOptions { start: 6, ..WatchOptions::default() };
    let mut watch = store.watch("/", options).await.unwrap();
    assert_eq!(store.put("/b", Bytes::new(), 0, None).await.unwrap(), Written::Done(7));
    for expected in ["/gone", "/b"] {
        let Some(Ok(WatchItem::Event(event))) = futures::StreamExt::next(&mut watch).await else {
            panic!("no event")
        };
        assert_eq!(event.kv.key, expected);
    }
}

#[tokio::test]
async fn a_store_in_memory_goes_on_from_its_snapshot() {
    let (before, dir) = (store().await, tempfile::tempdir().unwrap());
    let path = dir.path().join("seed");
    write(&before.image(), &path).unwrap();
    let image = read(&path).unwrap();
    let left = image.left().iter().map(|(key, left)| (&**key, left / 3_601_000));
    assert_eq!(left.collect::<Vec<_>>(), [("/leased", 0)]);
    let after = Memory::of(&image);
    assert_eq!(contents(&after).await, contents(&before).await);
    goes_on(&after).await;
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
}

#[tokio::test]
async fn a_durable_store_is_filled_once() {
    let (before, dir) = (store().await, tempfile::tempdir().unwrap());
    let open = || {
        let mut options = Options::new(Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30)));
        options.begin = Some(before.image());
        Embedded::open(dir.path(), options).unwrap()
    };
    let first = open();
    assert_eq!(contents(&*first).await, contents(&before).await);
    goes_on(&*first).await;
    let again = whole(&first.image());
    assert_eq!(decode(&again).unwrap().revision(), 7);
    first.close().await;
    let second = open();
    assert_eq!(second.current_revision().await.unwrap(), 7, "it is not filled again");
    assert_eq!(whole(&second.image()), again, "what has it left, and all else, is as it was");
    second.close().await;
}

#[tokio::test]
async fn an_empty_store_has_a_snapshot() {
    let image = decode(&whole(&Memory::new().image())).unwrap();
    assert!(image.is_empty());
    assert_eq!(Memory::of(&image).put("/a", Bytes::new(), 0, None).await.unwrap(), Written::Done(2));
}

/// Whatever is cut off or changed, it is an error and no panic.
#[tokio::test]
async fn what_is_damaged_is_refused() {
    let good = whole(&store().await.image());
    for end in 0..good.len() {
        assert!(decode(&good.slice(..end)).is_err(), "cut at {end}");
    }
    for at in 0..good.len() {
        let mut bad = good.to_vec();
        bad[at] ^= 0x41;
        assert!(decode(&Bytes::from(bad)).is_err(), "changed at {at}");
    }
    // With a checksum that is right, the records still have to make sense.
    for at in HEAD - 16..good.len() - CHECKSUM {
        let mut bad = good[..good.len() - CHECKSUM].to_vec();
        bad[at] = bad[at].wrapping_add(0x81);
        let checksum = crc32fast::hash(&bad);
        bad.extend_from_slice(&checksum.to_le_bytes());
        let _ = decode(&Bytes::from(bad));
    }
}

#[test]
fn the_error_says_what_is_wrong() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(decode(&Bytes::copy_from_slice(bytes)).unwrap_err(), expected);
    };
    check(b"", "the snapshot is cut off");
    check(b"MAINSTAYx", "the snapshot is cut off");
    check(b"something else", "this is not a snapshot");
    check(b"MAINSTAY\x01\0\0\0", "the snapshot has format 1, this program reads 2");
    let missing = read(Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/at/all"), "{missing}");
}
