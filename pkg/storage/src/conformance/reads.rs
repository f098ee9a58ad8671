//! Reads of single keys, counts and the store's revision.

use super::{TestPrefix, all_at_once};

/// Resource version 0 means "any version" to clients, so no state may have it.
pub async fn the_revision_is_above_zero(corner: TestPrefix) {
    assert!(corner.store.current_revision().await.unwrap() > 0);
    assert!(corner.store.get(&corner.key("a")).await.unwrap().revision > 0);
}

/// A key that never existed and a deleted one read the same.
pub async fn a_missing_key_is_none(corner: TestPrefix) {
    assert_eq!(corner.get("a").await, None);
    let created = corner.create("a", "1").await;
    let deleted = corner.delete("a", created).await;
    let lookup = corner.store.get(&corner.key("a")).await.unwrap();
    assert_eq!(lookup.kv, None);
    assert!(lookup.revision >= deleted);
}

/// After a write is acknowledged, every later read by any reader sees it.
pub async fn an_acknowledged_write_is_read(corner: TestPrefix) {
    let mut revision = 0;
    for round in 0..20 {
        revision = corner.update("a", &round.to_string(), revision).await;
        let readers = (0..4).map(|_| {
            let corner = corner.clone();
            async move {
                let listing = corner.list(Default::default()).await;
                (corner.get("a").await, listing.kvs, listing.revision)
            }
        });
        for (kv, listed, at) in all_at_once(readers).await {
            assert_eq!(kv.as_ref().unwrap().mod_revision, revision);
            assert_eq!(listed, Vec::from_iter(kv));
            assert!(at >= revision);
        }
    }
}

/// The current revision is not older than any acknowledged write.
pub async fn the_current_revision_covers_acknowledged_writes(corner: TestPrefix) {
    let mut revision = 0;
    for _ in 0..20 {
        let before = corner.store.current_revision().await.unwrap();
        revision = corner.update("a", "1", revision).await;
        assert!(revision > before);
        assert!(corner.store.current_revision().await.unwrap() >= revision);
    }
}

/// A count includes exactly the existing keys with the prefix.
pub async fn count_counts_the_prefix_alone(corner: TestPrefix) {
    for name in ["a/1", "a/2", "a/3", "a", "ab/1", "a-b/1"] {
        corner.create(name, "1").await;
    }
    let deleted = corner.create("a/4", "1").await;
    corner.delete("a/4", deleted).await;
    assert_eq!(corner.store.count(&corner.key("a/")).await.unwrap(), 3);
    assert_eq!(corner.store.count(&corner.key("none/")).await.unwrap(), 0);
    assert_eq!(corner.store.count(&corner.prefix).await.unwrap(), 6);
}

/// A running store passes its own health check.
pub async fn the_store_is_healthy(corner: TestPrefix) {
    corner.store.healthy().await.unwrap();
}
