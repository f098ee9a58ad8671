//! Reads of many keys or of the past.

use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use storage::feed::{Batch, Cursor, History};
use storage::mvcc::{FoundKey, LogRead, Scan};
use storage::{Error, KeyValue, ListOptions, Listing, Revision};

use crate::shared::Shared;

/// Number of keys visited at a time. It bounds the time the committer waits for readers before applying a
/// commit. A list is consistent across steps, because all of them read at the same revision.
const VISIT_MAX: usize = 2_048;

/// Maximum number of restarts of a list of the present that was overtaken by compaction.
const ATTEMPTS_MAX: usize = 5;

pub(crate) async fn list(
    shared: &Arc<Shared>,
    prefix: &str,
    options: &ListOptions,
) -> Result<Listing, Error> {
    let mut attempt = 1;
    loop {
        match list_once(shared, prefix, options).await {
            // The present is always readable; it was compacted during the read.
            Err(Error::Compacted { .. }) if options.revision == 0 && attempt < ATTEMPTS_MAX => attempt += 1,
            result => return result,
        }
    }
}

async fn list_once(shared: &Arc<Shared>, prefix: &str, options: &ListOptions) -> Result<Listing, Error> {
    let limit = if options.limit == 0 { usize::MAX } else { options.limit };
    let start = options.start.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let revision = options.revision;
    let request = Scan { prefix, start, revision, limit, visit_max: VISIT_MAX, uncounted: options.uncounted };
    let scanned = scan(shared, request).await?;
    Ok(Listing {
        kvs: resolve(shared, scanned.keys).await?,
        count: scanned.count,
        revision: scanned.revision,
    })
}

pub(crate) async fn count(shared: &Arc<Shared>, prefix: &str) -> Result<u64, Error> {
    let start = Bound::Unbounded;
    let all = Scan { prefix, start, revision: 0, limit: 0, visit_max: VISIT_MAX, uncounted: false };
    Ok(scan(shared, all).await?.count)
}

struct ScanResult {
    keys: Vec<FoundKey>,
    count: u64,
    /// The store's revision at the start.
    revision: Revision,
}

/// Scans in steps of `request.visit_max` keys. `request.revision` may be 0 for the present.
async fn scan(shared: &Shared, request: Scan<'_>) -> Result<ScanResult, Error> {
    let (revision, now) = {
        let mvcc = shared.mvcc();
        (mvcc.readable(request.revision)?, mvcc.revision())
    };
    let mut result = ScanResult { keys: Vec::new(), count: 0, revision: now };
    let mut last: Option<Arc<str>> = None;
    loop {
        let step = {
            let mvcc = shared.mvcc();
            let start = last.as_deref().map_or(request.start, Bound::Excluded);
            let revision = mvcc.readable(revision)?;
            let limit = request.limit.saturating_sub(result.keys.len());
            mvcc.scan(&Scan { start, revision, limit, ..request })
        };
        result.count += step.count;
        if result.keys.is_empty() {
            result.keys = step.keys
        } else {
            result.keys.extend(step.keys)
        }
        match step.resume_after {
            None => return Ok(result),
            resume => last = resume,
        }
        tokio::task::yield_now().await;
    }
}

/// Reads values from disk that are no longer in memory.
async fn resolve(shared: &Arc<Shared>, keys: Vec<FoundKey>) -> Result<Vec<KeyValue>, Error> {
    let missing: Vec<_> = keys.iter().filter(|key| key.value.is_none()).map(|key| key.mod_revision).collect();
    let mut values = if missing.is_empty() {
        Vec::new()
    } else {
        on_disk(shared, move |shared| shared.disk.values(&missing)).await?
    }
    .into_iter();
    let resolved = keys.into_iter().map(|found| {
        // A value that is not on disk either was swept concurrently: the revision is compacted.
        let value = found.value.or_else(|| values.next().flatten());
        let key = found.key.as_ref().to_owned();
        let kv = |value: bytes::Bytes| KeyValue::new(key, value, found.mod_revision);
        value.map(kv).ok_or_else(|| Error::Compacted { oldest: shared.mvcc().compacted() })
    });
    resolved.collect()
}

/// The log for watchers: the part in memory, and before it the part on disk.
pub(crate) struct Log(pub(crate) Arc<Shared>);

#[async_trait]
impl History for Log {
    async fn read(&self, cursor: &Cursor) -> Result<Batch, Error> {
        let shared = &self.0;
        let until = match shared.mvcc().changes(cursor.next)? {
            LogRead::Changes(changes) => return Ok(cursor.read(changes)),
            LogRead::Trimmed { until } => until,
        };
        let cursor = cursor.clone();
        let read = on_disk(shared, move |shared| shared.disk.read(&cursor, until)).await;
        read.map_err(|error| match error {
            Error::Compacted { .. } => Error::Compacted { oldest: shared.mvcc().compacted() },
            other => other,
        })
    }
}

async fn on_disk<T: Send + 'static>(
    shared: &Arc<Shared>,
    read: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let shared = shared.clone();
    let read = tokio::task::spawn_blocking(move || read(&shared)).await;
    read.unwrap_or_else(|error| Err(Error::Internal(format!("reading history: {error}"))))
}
