//! Read, change, compare-and-swap, and again until it holds.

use std::time::Duration;

use bytes::Bytes;

use crate::{Error, KeyValue, Revision, Storage, Written};

/// What the caller's closure wants done with the current value.
pub enum Update {
    /// Write these bytes, with this time to live.
    Write(Bytes, Option<Duration>),
    /// Delete the key.
    Delete,
    /// Leave the key as it is.
    Keep,
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

/// Applies `change` to the current value of `key` until the result is written without interference.
///
/// `change` may run several times, each time on a newer state (`None` when the key is absent), and
/// must not have side effects. Its error is returned as it is, but only when it was computed on
/// current data: `suggestion` (a cached copy, possibly stale) is never trusted for a failure or for
/// "nothing changed"; the state is read again first.
///
/// # Errors
/// `E` from `change`, or the store's own error converted into `E`.
pub async fn guaranteed_update<E: From<Error>>(
    store: &dyn Storage,
    key: &str,
    suggestion: Option<KeyValue>,
    mut change: impl FnMut(Option<&KeyValue>) -> Result<Update, E>,
) -> Result<Updated, E> {
    let mut fresh = suggestion.is_none();
    let mut current = match suggestion {
        Some(kv) => Some(kv),
        None => store.get(key).await?.kv,
    };
    for _ in 0..ATTEMPTS_MAX {
        let revision = current.as_ref().map_or(0, |kv| kv.mod_revision);
        let update = match change(current.as_ref()) {
            Ok(update) => update,
            Err(error) if fresh => return Err(error),
            Err(error) => {
                let now = store.get(key).await?.kv;
                if now.as_ref().map_or(0, |kv| kv.mod_revision) == revision {
                    return Err(error);
                }
                (current, fresh) = (now, true);
                continue;
            }
        };
        let unchanged = match &update {
            Update::Keep => true,
            Update::Write(value, _) => current.as_ref().is_some_and(|kv| kv.value == *value),
            Update::Delete => current.is_none(),
        };
        if unchanged {
            if fresh {
                return Ok(Updated::Unchanged(revision));
            }
            (current, fresh) = (store.get(key).await?.kv, true);
            continue;
        }
        let (written, deleted) = match update {
            Update::Write(value, ttl) => (store.put(key, value, revision, ttl).await?, false),
            Update::Delete | Update::Keep => (store.delete(key, revision).await?, true),
        };
        match written {
            Written::Done(revision) if deleted => return Ok(Updated::Deleted(revision)),
            Written::Done(revision) => return Ok(Updated::Written(revision)),
            Written::Stale { current: now, .. } => (current, fresh) = (now, true),
        }
    }
    Err(Error::Unavailable(format!("{key} changed on {ATTEMPTS_MAX} attempts in a row")).into())
}
