//! Conditional writes and their revisions.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{TestPrefix, all_at_once, done, stale};
use crate::{KeyValue, PutResult};

/// After a create, the key has the value at the revision of the write.
pub async fn a_create_makes_the_key_readable(corner: TestPrefix) {
    let revision = corner.create("a", "1").await;
    let lookup = corner.store.get(&corner.key("a")).await.unwrap();
    let expected = KeyValue::new(corner.key("a"), Bytes::from_static(b"1"), revision);
    assert_eq!(lookup.kv, Some(expected));
    assert!(lookup.revision >= revision);
}

/// Creating an existing key writes nothing and returns its state.
pub async fn a_create_of_an_existing_key_is_stale(corner: TestPrefix) {
    let revision = corner.create("a", "1").await;
    let current = stale(corner.put("a", "2", 0).await).unwrap();
    assert_eq!((current.mod_revision, &current.value[..]), (revision, &b"1"[..]));
    assert_eq!(corner.get("a").await, Some(current));
}

/// An update at the right revision creates a new one.
pub async fn an_update_replaces_the_value(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    let updated = corner.update("a", "2", created).await;
    assert!(updated > created);
    let kv = corner.get("a").await.unwrap();
    assert_eq!((kv.mod_revision, &kv.value[..]), (updated, &b"2"[..]));
}

/// An update at an old revision writes nothing and returns the current state.
pub async fn a_stale_put_changes_nothing(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    let updated = corner.update("a", "2", created).await;
    for expected in [created, updated + 1_000_000] {
        let written = corner.put("a", "3", expected).await;
        let PutResult::Stale { current: Some(current), revision } = written else {
            panic!("wanted Stale with a current state, got {written:?}");
        };
        assert_eq!((current.mod_revision, &current.value[..]), (updated, &b"2"[..]));
        assert!(revision >= updated);
    }
    assert_eq!(corner.get("a").await.unwrap().mod_revision, updated);
}

/// An update of a deleted key, or of one that never existed, writes nothing.
pub async fn an_update_of_a_missing_key_is_stale(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    corner.delete("a", created).await;
    assert_eq!(stale(corner.put("a", "2", created).await), None);
    assert_eq!(stale(corner.put("never", "2", created).await), None);
    assert_eq!(corner.get("a").await, None);
    assert_eq!(corner.get("never").await, None);
}

/// A deletion has a revision of its own, and so has a later creation.
pub async fn a_delete_removes_the_key(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    let deleted = corner.delete("a", created).await;
    assert!(deleted > created);
    assert_eq!(corner.get("a").await, None);
    let recreated = corner.create("a", "2").await;
    assert!(recreated > deleted);
    assert_eq!(corner.get("a").await.unwrap().mod_revision, recreated);
}

/// Deleting at an old revision deletes nothing and returns the current state.
pub async fn a_stale_delete_changes_nothing(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    let updated = corner.update("a", "2", created).await;
    let current = stale(corner.store.delete(&corner.key("a"), created).await.unwrap()).unwrap();
    assert_eq!((current.mod_revision, &current.value[..]), (updated, &b"2"[..]));
    assert_eq!(corner.get("a").await, Some(current));
}

/// Deleting a missing key is reported, and creates no revision without an event.
pub async fn a_delete_of_a_missing_key_is_stale(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    corner.delete("a", created).await;
    for name in ["a", "never"] {
        let written = corner.store.delete(&corner.key(name), created).await.unwrap();
        assert_eq!(stale(written), None, "{name}");
    }
}

/// Writing one key does not affect others, even if one name is a prefix of the other.
pub async fn keys_are_independent(corner: TestPrefix) {
    let long = corner.create("ab", "long").await;
    let short = corner.create("a", "short").await;
    corner.delete("a", short).await;
    assert_eq!(corner.get("ab").await.unwrap().mod_revision, long);
    assert_eq!(corner.value("ab").await.as_deref(), Some("long"));
}

/// Values are opaque: empty, or with every byte value.
pub async fn any_bytes_are_a_value(corner: TestPrefix) {
    let every: Vec<u8> = (0..=255).collect();
    for (name, value) in [("empty", Bytes::new()), ("every", Bytes::from(every))] {
        done(corner.store.put(&corner.key(name), value.clone(), 0, None).await.unwrap());
        assert_eq!(corner.get(name).await.unwrap().value, value, "{name}");
    }
}

/// The largest API objects fit.
pub async fn a_mebibyte_survives(corner: TestPrefix) {
    let value: Bytes = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let key = corner.key("big");
    let created = done(corner.store.put(&key, value.clone(), 0, None).await.unwrap());
    assert_eq!(corner.get("big").await.unwrap().value, value);
    let shown = stale(corner.store.put(&key, Bytes::new(), 0, None).await.unwrap()).unwrap();
    assert_eq!((shown.mod_revision, shown.value), (created, value));
}

/// No two writes share a revision, and a write that starts after another ended has the greater one.
pub async fn every_write_has_its_own_larger_revision(corner: TestPrefix) {
    const WRITERS: usize = 8;
    const WRITES: usize = 20;
    let writers = (0..WRITERS).map(|writer| {
        let corner = corner.clone();
        async move {
            let name = format!("{writer}");
            let mut revisions = vec![corner.create(&name, "0").await];
            for _ in 1..WRITES {
                let last = *revisions.last().unwrap();
                let before = corner.store.current_revision().await.unwrap();
                let revision = corner.update(&name, "n", last).await;
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
pub async fn one_of_many_creators_wins(corner: TestPrefix) {
    let creators = (0..16).map(|creator| {
        let corner = corner.clone();
        async move { corner.put("a", &creator.to_string(), 0).await }
    });
    let outcomes = all_at_once(creators).await;
    let won = outcomes.iter().filter(|written| matches!(written, PutResult::Done(_))).count();
    assert_eq!(won, 1, "{outcomes:?}");
    let current = corner.get("a").await;
    for written in outcomes {
        match written {
            PutResult::Done(revision) => assert_eq!(current.as_ref().unwrap().mod_revision, revision),
            PutResult::Stale { current: shown, .. } => assert_eq!(shown, current),
        }
    }
}
