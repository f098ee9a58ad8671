//! Read, change, compare-and-swap, and again until it holds.

use std::time::Duration;

use bytes::Bytes;

use crate::key_queues::KeyQueues;
use crate::{Error, Form, KeyValue, Revision, Storage, Written};

/// What the caller's closure wants done with the current value.
pub enum Update {
    /// Write these bytes, with this time to live.
    Write(Bytes, Option<Duration>),
    /// Delete the key.
    Delete,
    /// Leave the key as it is.
    Keep,
}

/// Computes what to do with a key from what it holds. A closure that never waits is one.
pub trait Change<E>: Send {
    /// What to do, given the current value (`None` when the key is absent). May be called several times,
    /// each time on a newer state; only what the last call says is done.
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

/// How a [`guaranteed_update`] ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updated {
    /// Written at this revision.
    Written(Revision),
    /// Deleted at this revision.
    Deleted(Revision),
    /// Nothing was written: the closure kept the value or its bytes were equal to the stored ones.
    Unchanged(Revision),
}

/// Attempts before a key that changes under us on every try is given up as unavailable. Upstream
/// retries until the request's deadline; the bound only guards against a caller without one.
const ATTEMPTS_MAX: usize = 10_000;

/// [`Turns::guaranteed_update`] for a key that nobody else in this process is expected to write.
///
/// # Errors
/// As that.
pub async fn guaranteed_update<E: From<Error>>(
    store: &dyn Storage,
    key: &str,
    suggestion: Option<KeyValue>,
    change: impl Change<E>,
) -> Result<Updated, E> {
    KeyQueues::default().guaranteed_update(store, key, suggestion, change).await
}

impl KeyQueues {
    /// Applies `change` to the current value of `key` until the result is written without
    /// interference. All calls on the same turns must be about the same store.
    ///
    /// `suggestion` is what the key held at some time, for example a cached copy. It saves the read,
    /// and nothing hangs on it: a write on a stale one does not happen, and a failure or "nothing
    /// changed" that was computed on one is not believed before the key was read. Its value may be
    /// spelled differently from what is stored, which counts as a change (upstream's
    /// `etcd3/store.go`). A value in a [stale form](Form::Stale) is written even if it does not change.
    ///
    /// # Errors
    /// `E` from `change` on current data, or the store's own error converted into `E`;
    /// [`Error::Transformation`] for a value that is, which `change` never sees.
    pub async fn guaranteed_update<E: From<Error>>(
        &self,
        store: &dyn Storage,
        key: &str,
        suggestion: Option<KeyValue>,
        mut change: impl Change<E>,
    ) -> Result<Updated, E> {
        let mut turn = self.join(key).await;
        let left = turn.as_mut().and_then(|turn| turn.newer(suggestion.as_ref()));
        let (mut current, mut fresh) = match left.or(suggestion) {
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
                    Ok(_) => return Ok(Updated::Unchanged(revision)),
                }
            }
            let (written, value) = match outcome? {
                Update::Write(value, ttl) => {
                    (store.put(key, value.clone(), revision, ttl).await?, Some(value))
                }
                Update::Delete | Update::Keep => (store.delete(key, revision).await?, None),
            };
            match (written, value) {
                (Written::Done(revision), None) => return Ok(Updated::Deleted(revision)),
                (Written::Done(mod_revision), Some(value)) => {
                    if let Some(turn) = &mut turn {
                        turn.leave(KeyValue::new(key, value, mod_revision));
                    }
                    return Ok(Updated::Written(mod_revision));
                }
                (Written::Stale { current: now, .. }, _) => (current, fresh) = (now, true),
            }
            if turn.is_none() {
                let mut ours = self.queue(key).await;
                if let Some(left) = ours.newer(current.as_ref()) {
                    (current, fresh) = (Some(left), false);
                }
                turn = Some(ours);
            }
        }
        Err(Error::Unavailable(format!("{key} changed on {ATTEMPTS_MAX} attempts in a row")).into())
    }
}
