//! Expiring keys. The ttls are short because a real server needs real time; a store may take up to a minute
//! longer (leases are shared).

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::{TestPrefix, done};
use crate::{EventKind, Revision, WatchOptions};

const TTL: Duration = Duration::from_secs(2);
const HOUR: Duration = Duration::from_secs(3600);

async fn put(prefix: &TestPrefix, name: &str, expected: Revision, ttl: Duration) -> Revision {
    let value = Bytes::from_static(b"mortal");
    done(prefix.store.put(&prefix.key(name), value, expected, Some(ttl)).await.unwrap())
}

/// Waits until a key with the ttl, written now, has expired: then all earlier keys with the same ttl have
/// expired, too.
async fn outlive_ttl(prefix: &TestPrefix) {
    let mut watch = prefix.watch_below("sentinel", WatchOptions::default()).await;
    put(prefix, "sentinel", 0, TTL).await;
    while watch.event().await.kind != EventKind::Delete {}
}

/// Expiry is an event like any deletion: at a greater revision of its own, with the old value as previous,
/// not before its time.
pub async fn expiry_is_a_deletion_with_its_own_revision(prefix: TestPrefix) {
    let options = WatchOptions { prev_kv: true, ..WatchOptions::default() };
    let mut watch = prefix.watch(options).await;
    let start = Instant::now();
    let first = put(&prefix, "a", 0, TTL).await;
    let second = put(&prefix, "b", 0, TTL).await;
    assert_eq!(watch.change().await, ("a".to_owned(), first));
    assert_eq!(watch.change().await, ("b".to_owned(), second));
    let mut deletions = Vec::new();
    for _ in 0..2 {
        let event = watch.event().await;
        assert_eq!(event.kind, EventKind::Delete);
        assert_eq!(event.prev.unwrap().value, Bytes::from_static(b"mortal"));
        assert!(start.elapsed() >= TTL, "expired {:?} after the write", start.elapsed());
        deletions.push((prefix.name(&event.kv.key).to_owned(), event.kv.mod_revision));
    }
    assert!(second < deletions[0].1 && deletions[0].1 < deletions[1].1, "{deletions:?}");
    deletions.sort();
    assert_eq!([&*deletions[0].0, &*deletions[1].0], ["a", "b"]);
    assert_eq!(prefix.get("a").await, None);
    assert!(prefix.store.current_revision().await.unwrap() >= deletions[0].1.max(deletions[1].1));
}

/// An update without a TTL makes an expiring key permanent.
pub async fn a_write_without_a_ttl_removes_the_ttl(prefix: TestPrefix) {
    let mortal = put(&prefix, "a", 0, TTL).await;
    let immortal = prefix.update("a", "immortal", mortal).await;
    outlive_ttl(&prefix).await;
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, immortal);
}

/// The ttl is that of the last write.
pub async fn a_longer_ttl_replaces_the_shorter_one(prefix: TestPrefix) {
    let short = put(&prefix, "a", 0, TTL).await;
    let long = put(&prefix, "a", short, HOUR).await;
    outlive_ttl(&prefix).await;
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, long);
}

/// After expiry the key does not exist for conditional writes, and its old ttl does not affect the new one.
pub async fn an_expired_key_can_be_created_again(prefix: TestPrefix) {
    put(&prefix, "sentinel", 0, TTL).await;
    let mut watch = prefix.watch_from(0).await;
    assert_eq!(watch.event().await.kind, EventKind::Delete);
    let again = prefix.create("sentinel", "again").await;
    let deleted = prefix.delete("sentinel", again).await;
    assert_eq!(watch.change().await.1, again);
    assert_eq!(watch.change().await.1, deleted);
    let last = prefix.create("sentinel", "last").await;
    assert_eq!(prefix.get("sentinel").await.unwrap().mod_revision, last);
}
