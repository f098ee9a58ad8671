//! [`guaranteed_update`] over the store: races converge, results based on stale suggestions are verified,
//! no-ops write nothing.

use bytes::Bytes;

use super::{TestPrefix, all_at_once, text};
use crate::{Error, KeyValue, Revision, Update, UpdateResult, guaranteed_update};

/// Error of a closure under test.
#[derive(Debug)]
enum Failure {
    Store(Error),
    Rejected(Revision),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Store(error)
    }
}

fn write(value: impl Into<String>) -> Result<Update, Failure> {
    Ok(Update::Write(Bytes::from(value.into()), None))
}

async fn update(
    corner: &TestPrefix,
    suggestion: Option<KeyValue>,
    change: impl FnMut(Option<&KeyValue>) -> Result<Update, Failure> + Send,
) -> Result<UpdateResult, Failure> {
    guaranteed_update(&*corner.store, &corner.key("a"), suggestion, change).await
}

/// Two states of the key: an outdated one, and the current one.
async fn outdated(corner: &TestPrefix) -> (KeyValue, Revision) {
    let created = corner.create("a", "old").await;
    let suggestion = corner.get("a").await.unwrap();
    (suggestion, corner.update("a", "current", created).await)
}

/// Writers that lose a race retry with the winner's value: no increment is lost.
pub async fn lost_races_converge(corner: TestPrefix) {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 10;
    corner.create("a", "0").await;
    let writers = (0..WRITERS).map(|_| {
        let corner = corner.clone();
        async move {
            let mut suggestion = None;
            for _ in 0..ROUNDS {
                let increment = |kv: Option<&KeyValue>| {
                    write((text(kv.unwrap()).parse::<usize>().unwrap() + 1).to_string())
                };
                let updated = update(&corner, suggestion.take(), increment).await.unwrap();
                assert!(matches!(updated, UpdateResult::Written(_)), "{updated:?}");
                suggestion = corner.get("a").await;
            }
        }
    });
    all_at_once(writers).await;
    assert_eq!(corner.value("a").await, Some((WRITERS * ROUNDS).to_string()));
}

/// The closure gets `None`, and its result is created.
pub async fn a_missing_key_is_created(corner: TestPrefix) {
    let updated = update(&corner, None, |kv| {
        assert_eq!(kv, None);
        write("new")
    });
    let UpdateResult::Written(revision) = updated.await.unwrap() else { panic!("wanted a write") };
    assert_eq!(corner.get("a").await.unwrap().mod_revision, revision);
}

/// Writing equal bytes creates no revision.
pub async fn equal_bytes_are_not_written(corner: TestPrefix) {
    let created = corner.create("a", "same").await;
    let suggestion = corner.get("a").await;
    for suggestion in [None, suggestion] {
        let updated = update(&corner, suggestion, |_| write("same")).await.unwrap();
        assert_eq!(updated, UpdateResult::Unchanged(created));
    }
    assert_eq!(corner.get("a").await.unwrap().mod_revision, created);
}

/// Keeping the value, or its absence, creates no revision.
pub async fn a_kept_value_is_not_written(corner: TestPrefix) {
    let updated = update(&corner, None, |_| Ok(Update::Keep)).await.unwrap();
    assert_eq!(updated, UpdateResult::Unchanged(0));
    let created = corner.create("a", "1").await;
    let updated = update(&corner, None, |_| Ok(Update::Keep)).await.unwrap();
    assert_eq!(updated, UpdateResult::Unchanged(created));
    assert_eq!(corner.get("a").await.unwrap().mod_revision, created);
}

/// The closure may decide to delete, with or without a suggestion.
pub async fn a_deletion_is_carried_out(corner: TestPrefix) {
    for suggest in [false, true] {
        let created = corner.create("a", "1").await;
        let suggestion = if suggest { corner.get("a").await } else { None };
        let updated = update(&corner, suggestion, |_| Ok(Update::Delete)).await.unwrap();
        assert!(matches!(updated, UpdateResult::Deleted(revision) if revision > created), "{updated:?}");
        assert_eq!(corner.get("a").await, None);
    }
}

/// Deleting a missing key is no change, even if a stale suggestion contains it.
pub async fn deleting_a_missing_key_changes_nothing(corner: TestPrefix) {
    let (suggestion, revision) = outdated(&corner).await;
    corner.delete("a", revision).await;
    for suggestion in [None, Some(suggestion)] {
        let updated = update(&corner, suggestion, |_| Ok(Update::Delete)).await.unwrap();
        assert_eq!(updated, UpdateResult::Unchanged(0));
    }
}

/// A suggestion that already has the desired bytes does not prove that the store has them.
pub async fn no_op_on_stale_suggestion_is_verified(corner: TestPrefix) {
    let (suggestion, before) = outdated(&corner).await;
    let updated = update(&corner, Some(suggestion), |_| write("old")).await.unwrap();
    assert!(matches!(updated, UpdateResult::Written(revision) if revision > before), "{updated:?}");
    assert_eq!(corner.value("a").await.as_deref(), Some("old"));
}

/// After an error based on a stale suggestion, the closure is called again with current data.
pub async fn error_on_stale_suggestion_is_verified(corner: TestPrefix) {
    let (suggestion, _) = outdated(&corner).await;
    let updated = update(&corner, Some(suggestion), |kv| match kv.map(text).as_deref() {
        Some("current") => write("new"),
        _ => Err(Failure::Rejected(kv.map_or(0, |kv| kv.mod_revision))),
    });
    assert!(matches!(updated.await, Ok(UpdateResult::Written(_))));
    assert_eq!(corner.value("a").await.as_deref(), Some("new"));
}

/// An error based on a current suggestion is returned.
pub async fn an_error_on_a_current_suggestion_is_returned(corner: TestPrefix) {
    let created = corner.create("a", "1").await;
    let suggestion = corner.get("a").await;
    rejected(&corner, suggestion, created).await;
}

/// An error based on a fresh read is returned.
pub async fn an_error_on_fresh_state_is_returned(corner: TestPrefix) {
    rejected(&corner, None, 0).await;
    let created = corner.create("a", "1").await;
    rejected(&corner, None, created).await;
}

async fn rejected(corner: &TestPrefix, suggestion: Option<KeyValue>, at: Revision) {
    let reject = |kv: Option<&KeyValue>| Err(Failure::Rejected(kv.map_or(0, |kv| kv.mod_revision)));
    match update(corner, suggestion, reject).await {
        Err(Failure::Rejected(revision)) => assert_eq!(revision, at),
        Err(Failure::Store(error)) => panic!("the store failed: {error}"),
        Ok(updated) => panic!("wanted the closure's error, got {updated:?}"),
    }
    assert_eq!(corner.get("a").await.map_or(0, |kv| kv.mod_revision), at);
}
