//! Reads of single keys, counts and the store's revision.

use super::{TestPrefix, all_at_once};

/// Resource version 0 means "any version" to clients, so no state may have it.
pub async fn the_revision_is_above_zero(prefix: TestPrefix) {
    assert!(prefix.store.current_revision().await.unwrap() > 0);
    assert!(prefix.store.get(&prefix.key("a")).await.unwrap().revision > 0);
}

/// A key that never existed and a deleted one read the same.
pub async fn a_missing_key_is_none(prefix: TestPrefix) {
    assert_eq!(prefix.get("a").await, None);
    let created = prefix.create("a", "1").await;
    let deleted = prefix.delete("a", created).await;
    let lookup = prefix.store.get(&prefix.key("a")).await.unwrap();
    assert_eq!(lookup.kv, None);
    assert!(lookup.revision >= deleted);
}

/// After a write is acknowledged, every later read by any reader sees it.
pub async fn an_acknowledged_write_is_read(prefix: TestPrefix) {
    let mut revision = 0;
    for round in 0..20 {
        revision = prefix.update("a", &round.to_string(), revision).await;
        let readers = (0..4).map(|_| {
            let prefix = prefix.clone();
            async move {
                let listing = prefix.list(Default::default()).await;
                (prefix.get("a").await, listing.kvs, listing.revision)
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
pub async fn the_current_revision_covers_acknowledged_writes(prefix: TestPrefix) {
    let mut revision = 0;
    for _ in 0..20 {
        let before = prefix.store.current_revision().await.unwrap();
        revision = prefix.update("a", "1", revision).await;
        assert!(revision > before);
        assert!(prefix.store.current_revision().await.unwrap() >= revision);
    }
}

/// A count includes exactly the existing keys with the prefix.
pub async fn count_counts_the_prefix_alone(prefix: TestPrefix) {
    for name in ["a/1", "a/2", "a/3", "a", "ab/1", "a-b/1"] {
        prefix.create(name, "1").await;
    }
    let deleted = prefix.create("a/4", "1").await;
    prefix.delete("a/4", deleted).await;
    assert_eq!(prefix.store.count(&prefix.key("a/")).await.unwrap(), 3);
    assert_eq!(prefix.store.count(&prefix.key("none/")).await.unwrap(), 0);
    assert_eq!(prefix.store.count(&prefix.path).await.unwrap(), 6);
}

/// A running store passes its own health check.
pub async fn the_store_is_healthy(prefix: TestPrefix) {
    prefix.store.healthy().await.unwrap();
}
