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
    prefix: &TestPrefix,
    suggestion: Option<KeyValue>,
    change: impl FnMut(Option<&KeyValue>) -> Result<Update, Failure> + Send,
) -> Result<UpdateResult, Failure> {
    guaranteed_update(&*prefix.store, &prefix.key("a"), suggestion, change).await
}

/// Two states of the key: an outdated one, and the current one.
async fn outdated(prefix: &TestPrefix) -> (KeyValue, Revision) {
    let created = prefix.create("a", "old").await;
    let suggestion = prefix.get("a").await.unwrap();
    (suggestion, prefix.update("a", "current", created).await)
}

/// Writers that lose a race retry with the winner's value: no increment is lost.
pub async fn lost_races_converge(prefix: TestPrefix) {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 10;
    prefix.create("a", "0").await;
    let writers = (0..WRITERS).map(|_| {
        let prefix = prefix.clone();
        async move {
            let mut suggestion = None;
            for _ in 0..ROUNDS {
                let increment = |kv: Option<&KeyValue>| {
                    write((text(kv.unwrap()).parse::<usize>().unwrap() + 1).to_string())
                };
                let updated = update(&prefix, suggestion.take(), increment).await.unwrap();
                assert!(matches!(updated, UpdateResult::Written(_)), "{updated:?}");
                suggestion = prefix.get("a").await;
            }
        }
    });
    all_at_once(writers).await;
    assert_eq!(prefix.value("a").await, Some((WRITERS * ROUNDS).to_string()));
}

/// The closure gets `None`, and its result is created.
pub async fn a_missing_key_is_created(prefix: TestPrefix) {
    let updated = update(&prefix, None, |kv| {
        assert_eq!(kv, None);
        write("new")
    });
    let UpdateResult::Written(revision) = updated.await.unwrap() else { panic!("wanted a write") };
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, revision);
}

/// Writing equal bytes creates no revision.
pub async fn equal_bytes_are_not_written(prefix: TestPrefix) {
    let created = prefix.create("a", "same").await;
    let suggestion = prefix.get("a").await;
    for suggestion in [None, suggestion] {
        let updated = update(&prefix, suggestion, |_| write("same")).await.unwrap();
        assert_eq!(updated, UpdateResult::Unchanged(created));
    }
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, created);
}

/// Keeping the value, or its absence, creates no revision.
pub async fn a_kept_value_is_not_written(prefix: TestPrefix) {
    let updated = update(&prefix, None, |_| Ok(Update::Keep)).await.unwrap();
    assert_eq!(updated, UpdateResult::Unchanged(0));
    let created = prefix.create("a", "1").await;
    let updated = update(&prefix, None, |_| Ok(Update::Keep)).await.unwrap();
    assert_eq!(updated, UpdateResult::Unchanged(created));
    assert_eq!(prefix.get("a").await.unwrap().mod_revision, created);
}

/// The closure may decide to delete, with or without a suggestion.
pub async fn a_deletion_is_carried_out(prefix: TestPrefix) {
    for suggest in [false, true] {
        let created = prefix.create("a", "1").await;
        let suggestion = if suggest { prefix.get("a").await } else { None };
        let updated = update(&prefix, suggestion, |_| Ok(Update::Delete)).await.unwrap();
        assert!(matches!(updated, UpdateResult::Deleted(revision) if revision > created), "{updated:?}");
        assert_eq!(prefix.get("a").await, None);
    }
}

/// Deleting a missing key is no change, even if a stale suggestion contains it.
pub async fn deleting_a_missing_key_changes_nothing(prefix: TestPrefix) {
    let (suggestion, revision) = outdated(&prefix).await;
    prefix.delete("a", revision).await;
    for suggestion in [None, Some(suggestion)] {
        let updated = update(&prefix, suggestion, |_| Ok(Update::Delete)).await.unwrap();
        assert_eq!(updated, UpdateResult::Unchanged(0));
    }
}

/// A suggestion that already has the desired bytes does not prove that the store has them.
pub async fn no_op_on_stale_suggestion_is_verified(prefix: TestPrefix) {
    let (suggestion, before) = outdated(&prefix).await;
    let updated = update(&prefix, Some(suggestion), |_| write("old")).await.unwrap();
    assert!(matches!(updated, UpdateResult::Written(revision) if revision > before), "{updated:?}");
    assert_eq!(prefix.value("a").await.as_deref(), Some("old"));
}

/// After an error based on a stale suggestion, the closure is called again with current data.
pub async fn error_on_stale_suggestion_is_verified(prefix: TestPrefix) {
    let (suggestion, _) = outdated(&prefix).await;
    let updated = update(&prefix, Some(suggestion), |kv| match kv.map(text).as_deref() {
        Some("current") => write("new"),
        _ => Err(Failure::Rejected(kv.map_or(0, |kv| kv.mod_revision))),
    });
    assert!(matches!(updated.await, Ok(UpdateResult::Written(_))));
    assert_eq!(prefix.value("a").await.as_deref(), Some("new"));
}

/// An error based on a current suggestion is returned.
pub async fn an_error_on_a_current_suggestion_is_returned(prefix: TestPrefix) {
    let created = prefix.create("a", "1").await;
    let suggestion = prefix.get("a").await;
    rejected(&prefix, suggestion, created).await;
}

/// An error based on a fresh read is returned.
pub async fn an_error_on_fresh_state_is_returned(prefix: TestPrefix) {
    rejected(&prefix, None, 0).await;
    let created = prefix.create("a", "1").await;
    rejected(&prefix, None, created).await;
}

async fn rejected(prefix: &TestPrefix, suggestion: Option<KeyValue>, at: Revision) {
    let reject = |kv: Option<&KeyValue>| Err(Failure::Rejected(kv.map_or(0, |kv| kv.mod_revision)));
    match update(prefix, suggestion, reject).await {
        Err(Failure::Rejected(revision)) => assert_eq!(revision, at),
        Err(Failure::Store(error)) => panic!("the store failed: {error}"),
        Ok(updated) => panic!("wanted the closure's error, got {updated:?}"),
    }
    assert_eq!(prefix.get("a").await.map_or(0, |kv| kv.mod_revision), at);
}
