//! Conditional writes and their revisions.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{TestPrefix, all_at_once, done, stale};
use crate::{KeyValue, PutResult};

/// After a create, the key has the value at the revision of the write.
pub async fn a_create_makes_the_key_readable(prefix: TestPrefix) {
    let revision = prefix.create("a", "1").await;
    let lookup = prefix.store.get(&prefix.key("a")).await.unwrap();
    let expected = KeyValue::new(prefix.key("a"), Bytes::from_static(b"1"), revision);
    assert_eq!(lookup.kv, Some(expected));
    assert!(lookup.revision >= revision);
}

/// Creating an existing key writes nothing and returns its state.
pub async fn a_create_of_an_existing_key_is_stale(prefix: TestPrefix) {
    let revision = prefix.create("a", "1").await;
    let current = stale(prefix.put("a", "2", 0).await).unwrap();
    assert_eq!((current.mod_revision, &current.value[..]), (revision, &b"1"[..]));
    assert_eq!(prefix.get("a").await, Some(current));
}

/// An update at the right revision creates a new one.
pub async fn an_update_replaces_the_value(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    let updated = prefix.update("a", "2", created).await;
    assert!(updated > created);
    let kv = prefix.get("a").await.unwrap();
    assert_eq!((kv.mod_revision, &kv.value[..]), (updated, &b"2"[..]));
}

/// An update at an old revision writes nothing and returns the current state.
pub async fn a_stale_put_changes_nothing(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    let updated = prefix.update("a", "2", created).await;
    for expected in [created, updated + 1_000_000] {
        let written = prefix.put("a", "3", expected).await;
        let PutResult::Stale { current: Some(current), revision } = written else {
            panic!("wanted Stale with a current state, got {written:?}");
        };
        assert_eq!((current.mod_revision, &current.value[..]), (updated, &b"2"[..]));
        assert!(revision >= updated);
    }
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, updated);
}

/// An update of a deleted key, or of one that never existed, writes nothing.
pub async fn an_update_of_a_missing_key_is_stale(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    prefix.delete("a", created).await;
    assert_eq!(stale(prefix.put("a", "2", created).await), None);
    assert_eq!(stale(prefix.put("never", "2", created).await), None);
    assert_eq!(prefix.get("a").await, None);
    assert_eq!(prefix.get("never").await, None);
}

/// A deletion has a revision of its own, and so has a later creation.
pub async fn a_delete_removes_the_key(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    let deleted = prefix.delete("a", created).await;
    assert!(deleted > created);
    assert_eq!(prefix.get("a").await, None);
    let recreated = prefix.create("a", "2").await;
    assert!(recreated > deleted);
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, recreated);
}

/// Deleting at an old revision deletes nothing and returns the current state.
pub async fn a_stale_delete_changes_nothing(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    let updated = prefix.update("a", "2", created).await;
    let current = stale(prefix.store.delete(&prefix.key("a"), created).await.unwrap()).unwrap();
    assert_eq!((current.mod_revision, &current.value[..]), (updated, &b"2"[..]));
    assert_eq!(prefix.get("a").await, Some(current));
}

/// Deleting a missing key is reported, and creates no revision without an event.
pub async fn a_delete_of_a_missing_key_is_stale(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    prefix.delete("a", created).await;
    for name in ["a", "never"] {
        let written = prefix.store.delete(&prefix.key(name), created).await.unwrap();
        assert_eq!(stale(written), None, "{name}");
    }
}

/// Writing one key does not affect others, even if one name is a prefix of the other.
pub async fn keys_are_independent(prefix: TestPrefix) {
    let long = prefix.create("ab", "long").await;
    let short = prefix.create("a", "short").await;
    prefix.delete("a", short).await;
    assert_eq!(prefix.get("ab").await.unwrap().mod_revision, long);
    assert_eq!(prefix.value("ab").await.as_deref(), Some("long"));
}

/// Values are opaque: empty, or with every byte value.
pub async fn any_bytes_are_a_value(prefix: TestPrefix) {
    let every: Vec<u8> = (0..=255).collect();
    for (name, value) in [("empty", Bytes::new()), ("every", Bytes::from(every))] {
        done(prefix.store.put(&prefix.key(name), value.clone(), 0, None).await.unwrap());
        assert_eq!(prefix.get(name).await.unwrap().value, value, "{name}");
    }
}

/// The largest API objects fit.
pub async fn a_mebibyte_survives(prefix: TestPrefix) {
    let value: Bytes = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let key = prefix.key("big");
    let created = done(prefix.store.put(&key, value.clone(), 0, None).await.unwrap());
    assert_eq!(prefix.get("big").await.unwrap().value, value);
    let shown = stale(prefix.store.put(&key, Bytes::new(), 0, None).await.unwrap()).unwrap();
    assert_eq!((shown.mod_revision, shown.value), (created, value));
}

/// No two writes share a revision, and a write that starts after another ended has the greater one.
pub async fn every_write_has_its_own_larger_revision(prefix: TestPrefix) {
    const WRITERS: usize = 8;
    const WRITES: usize = 20;
    let writers = (0..WRITERS).map(|writer| {
        let prefix = prefix.clone();
        async move {
            let name = format!("{writer}");
            let mut revisions = vec![prefix.create(&name, "0").await];
            for _ in 1..WRITES {
                let last = *revisions.last().unwrap();
                let before = prefix.store.current_revision().await.unwrap();
                let revision = prefix.update(&name, "n", last).await;
                assert!(revision > before, "{revision} after {before} was current");
                revisions.push(revision);
            }
            revisions
        }
    });
    let revisions: Vec<_> = all_at_once(writers).await.concat();
    let distinct: BTreeSet<_> = revisions.iter().collect();
    assert_eq!(distinct.len(), WRITERS * WRITES);
}

/// Exactly one of many concurrent creators succeeds, and the others get its value.
pub async fn one_of_many_creators_wins(prefix: TestPrefix) {
    let creators = (0..16).map(|creator| {
        let prefix = prefix.clone();
        async move { prefix.put("a", &creator.to_string(), 0).await }
    });
    let outcomes = all_at_once(creators).await;
    let won = outcomes.iter().filter(|written| matches!(written, PutResult::Done(_))).count();
    assert_eq!(won, 1, "{outcomes:?}");
    let current = prefix.get("a").await;
    for written in outcomes {
        match written {
            PutResult::Done(revision) => assert_eq!(current.as_ref().unwrap().mod_revision, revision),
            PutResult::Stale { current: shown, .. } => assert_eq!(shown, current),
        }
    }
}
