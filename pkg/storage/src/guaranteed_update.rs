//! Optimistic updates: read, change, compare-and-swap, retry on conflict.

use std::time::Duration;

use bytes::Bytes;

use crate::key_queues::KeyQueues;
use crate::{Error, Form, KeyValue, PutResult, Revision, Storage};

/// The result of the caller's closure for the current value.
pub enum Update {
    /// Write these bytes, with this time to live.
    Write(Bytes, Option<Duration>),
    /// Delete the key. No effect on a missing one.
    Delete,
    /// Leave the key unchanged.
    Keep,
}

/// Computes the update of a key from its value. Implemented by synchronous closures.
pub trait Change<E>: Send {
    /// Returns the update for the current value (`None` if the key does not exist). May be called several
    /// times, each time with a newer state; only the last result is applied.
    fn change(&mut self, current: Option<&KeyValue>) -> impl Future<Output = Result<Update, E>> + Send;
}

impl<E: Send, F> Change<E> for F
where
    F: FnMut(Option<&KeyValue>) -> Result<Update, E> + Send,
{
    fn change(&mut self, current: Option<&KeyValue>) -> impl Future<Output = Result<Update, E>> + Send {
        std::future::ready(self(current))
    }
}

/// The outcome of a [`guaranteed_update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateResult {
    /// Revision of the write.
    Written(Revision),
    /// Revision of the deletion.
    Deleted(Revision),
    /// Nothing was written: the closure kept the value or its bytes equal the stored ones.
    Unchanged(Revision),
}

/// Maximum number of attempts for a key that changes on every attempt; then the update fails as unavailable.
/// Upstream retries until the request's deadline; this bound is only for callers without one.
const ATTEMPTS_MAX: usize = 10_000;

/// [`KeyQueues::guaranteed_update`] for a key without other writers in this process.
///
/// # Errors
/// Those of [`KeyQueues::guaranteed_update`].
pub async fn guaranteed_update<E: From<Error>>(
    store: &dyn Storage,
    key: &str,
    suggestion: Option<KeyValue>,
    change: impl Change<E>,
) -> Result<UpdateResult, E> {
    KeyQueues::default().guaranteed_update(store, key, suggestion, change).await
}

impl KeyQueues {
    /// Applies `change` to the current value of `key` and retries until the result is written without a
    /// conflict. All calls with the same queues must use the same store.
    ///
    /// `suggestion` is a former value of the key, for example a cached copy. It saves the read and does not
    /// affect correctness: a write based on a stale suggestion does not happen. An error or a no-op result
    /// based on it is only accepted after the key has been read. Its value may be encoded differently from
    /// the stored one, which counts as a change (upstream's `etcd3/store.go`). A value in a [stale
    /// form](Form::Stale) is written even if it is unchanged.
    ///
    /// # Errors
    /// `E` from `change` on current data, or the store's error converted to `E`; [`Error::Unreadable`]
    /// for an unreadable value, which is never passed to `change`.
    pub async fn guaranteed_update<E: From<Error>>(
        &self,
        store: &dyn Storage,
        key: &str,
        suggestion: Option<KeyValue>,
        mut change: impl Change<E>,
    ) -> Result<UpdateResult, E> {
        let mut turn = self.join(key).await;
        let inherited = turn.as_mut().and_then(|turn| turn.take_newer_value(suggestion.as_ref()));
        let (mut current, mut fresh) = match inherited.or(suggestion) {
            Some(kv) => (Some(kv), false),
            None => (store.get(key).await?.kv, true),
        };
        for _ in 0..ATTEMPTS_MAX {
            let revision = current.as_ref().map_or(0, |kv| kv.mod_revision);
            current.as_ref().map(KeyValue::readable).transpose()?;
            let outcome = change.change(current.as_ref()).await;
            let writes = match &outcome {
                Err(_) | Ok(Update::Keep) => false,
                Ok(Update::Write(value, _)) => {
                    current.as_ref().is_none_or(|kv| kv.value != *value || kv.form == Form::Stale)
                }
                Ok(Update::Delete) => current.is_some(),
            };
            if !writes {
                let confirmed = fresh || {
                    let suggested = current;
                    (current, fresh) = (store.get(key).await?.kv, true);
                    current == suggested
                };
                match outcome {
                    _ if !confirmed => continue,
                    Err(error) => return Err(error),
                    Ok(_) => return Ok(UpdateResult::Unchanged(revision)),
                }
            }
            let (written, value) = match outcome? {
                Update::Write(value, ttl) => {
                    (store.put(key, value.clone(), revision, ttl).await?, Some(value))
                }
                Update::Delete | Update::Keep => (store.delete(key, revision).await?, None),
            };
            match (written, value) {
                (PutResult::Done(revision), None) => return Ok(UpdateResult::Deleted(revision)),
                (PutResult::Done(mod_revision), Some(value)) => {
                    if let Some(turn) = &mut turn {
                        turn.hand_over(KeyValue::new(key, value, mod_revision));
                    }
                    return Ok(UpdateResult::Written(mod_revision));
                }
                (PutResult::Stale { current: now, .. }, _) => (current, fresh) = (now, true),
            }
            if turn.is_none() {
                let mut guard = self.queue(key).await;
                if let Some(inherited) = guard.take_newer_value(current.as_ref()) {
                    (current, fresh) = (Some(inherited), false);
                }
                turn = Some(guard);
            }
        }
        Err(Error::Unavailable(format!("{key} changed on {ATTEMPTS_MAX} attempts in a row")).into())
    }
}
