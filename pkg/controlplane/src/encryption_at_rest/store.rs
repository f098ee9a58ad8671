//! A store wrapper that encrypts and decrypts values transparently.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use encryption::Protection;
use futures::{StreamExt, TryStreamExt, stream};
use storage::{
    DeleteResult, Error, KeyValue, ListOptions, ListStream, Listing, Lookup, PutResult, Revision, Storage,
    WatchItem, WatchOptions, WatchStream,
};
use tokio::sync::watch;

use super::CurrentRules;
use super::key_rules::PrefixEncryption;
use super::value::{expect_plain, set_decrypted};
use super::watch_decryptor::WatchDecryptor;

/// Number of bytes to decrypt before yielding to other tasks: about a millisecond of work.
const INLINE_BYTES_MAX: usize = 256 << 10;
/// Maximum concurrent KMS calls for one list.
const KMS_CALLS_MAX: usize = 16;

/// The wrapped store and the active configuration.
pub(super) struct EncryptedStore {
    inner: Arc<dyn Storage>,
    /// Index among the stores of the server.
    index: usize,
    current: CurrentRules,
    watch_decryptor: Arc<WatchDecryptor>,
}

impl EncryptedStore {
    pub(super) fn new(inner: Arc<dyn Storage>, index: usize, current: CurrentRules) -> Self {
        EncryptedStore { inner, index, current, watch_decryptor: Arc::default() }
    }

    async fn decrypt_found(&self, kv: Option<KeyValue>) -> Option<KeyValue> {
        match kv {
            Some(kv) => Some(open(&self.current, kv).await),
            None => None,
        }
    }

    async fn decrypt_written(&self, written: PutResult) -> PutResult {
        match written {
            PutResult::Stale { current, revision } => {
                PutResult::Stale { current: self.decrypt_found(current).await, revision }
            }
            PutResult::Done(revision) => PutResult::Done(revision),
        }
    }
}

#[async_trait]
impl Storage for EncryptedStore {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        let Lookup { revision, kv } = self.inner.get(key).await?;
        Ok(Lookup { revision, kv: self.decrypt_found(kv).await })
    }

    /// An unresponsive plugin fails the list. The client can retry it.
    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let Listing { kvs, count, revision } = self.inner.list(prefix, options).await?;
        Ok(Listing { kvs: open_below(&self.current, prefix, kvs).await?, count, revision })
    }

    /// An unresponsive plugin fails the stream. The client can read the rest again.
    async fn list_stream(
        &self,
        prefix: &str,
        start: &str,
        revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        let Some(list) = self.inner.list_stream(prefix, start, revision).await? else { return Ok(None) };
        let current = Arc::clone(&self.current);
        let prefix: Arc<str> = prefix.into();
        let opened = list.chunks.and_then(move |kvs| {
            let current = Arc::clone(&current);
            let prefix = Arc::clone(&prefix);
            async move { open_below(&current, &prefix, kvs).await }
        });
        Ok(Some(ListStream { chunks: opened.boxed(), ..list }))
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.inner.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        let protection = self.current.load().of(key);
        let sealed = match protection {
            None => value,
            Some(protection) => protection.seal(value, key.as_bytes()).await.map_err(|error| {
                Error::Transformation { key: key.to_owned(), message: error.to_string().into() }
            })?,
        };
        let written = self.inner.put(key, sealed, expected, ttl).await?;
        Ok(self.decrypt_written(written).await)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        let deleted = self.inner.delete(key, expected).await?;
        Ok(self.decrypt_written(deleted).await)
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let stream = self.inner.watch(prefix, options).await?;
        let current = Arc::clone(&self.current);
        let patience = Arc::clone(&self.watch_decryptor);
        let opened = stream.and_then(move |item| {
            let current = Arc::clone(&current);
            let patience = Arc::clone(&patience);
            async move {
                let WatchItem::Event(mut event) = item else { return Ok(item) };
                // The value of a deletion is empty.
                if event.kind != storage::EventKind::Delete {
                    event.kv = patience.open(&current, event.kv).await;
                }
                if let Some(prev) = event.prev.take() {
                    event.prev = Some(patience.open(&current, prev).await);
                }
                Ok(WatchItem::Event(event))
            }
        });
        Ok(opened.boxed())
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.inner.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.inner.compact(revision).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.inner.compacted()
    }

    fn needs_reread(&self, key: &str, revision: Revision) -> bool {
        self.current.load().needs_reread(self.index, key, revision) || self.inner.needs_reread(key, revision)
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.inner.healthy().await
    }
}

/// Decrypts values of keys with a prefix.
///
/// # Errors
/// [`Error::Transformation`] if a plugin does not respond.
async fn open_below(
    current: &CurrentRules,
    prefix: &str,
    mut kvs: Vec<KeyValue>,
) -> Result<Vec<KeyValue>, Error> {
    let rules = current.load_full();
    Ok(match rules.of_keys_below(prefix) {
        PrefixEncryption::Same(None) => {
            kvs.iter_mut().for_each(expect_plain);
            kvs
        }
        PrefixEncryption::Same(Some(protection)) => open_all(protection, kvs).await?,
        PrefixEncryption::Mixed => stream::iter(kvs).then(|kv| open(current, kv)).collect().await,
    })
}

/// Decrypts one value. Marks it as unreadable after an error.
async fn open(current: &CurrentRules, mut kv: KeyValue) -> KeyValue {
    let protection = current.load().of(&kv.key);
    match protection {
        None => expect_plain(&mut kv),
        Some(protection) => {
            let opened = protection.open(&kv.value, kv.key.as_bytes()).await;
            set_decrypted(&mut kv, opened);
        }
    }
    kv
}

/// Decrypts the values of a list.
///
/// # Errors
/// [`Error::Transformation`] if a plugin does not respond.
async fn open_all(protection: Protection, kvs: Vec<KeyValue>) -> Result<Vec<KeyValue>, Error> {
    let bytes: usize = kvs.iter().map(|kv| kv.value.len()).sum();
    let (mut kvs, waiting) = if bytes <= INLINE_BYTES_MAX {
        open_now(&protection, kvs)
    } else {
        let protection = protection.clone();
        let opened = tokio::task::spawn_blocking(move || open_now(&protection, kvs)).await;
        opened.map_err(|error| Error::Internal(error.to_string()))?
    };
    if waiting.is_empty() {
        return Ok(kvs);
    }
    let values: Vec<_> = waiting
        .into_iter()
        .filter_map(|at| kvs.get(at).map(|kv| (at, kv.key.clone(), kv.value.clone())))
        .collect();
    let protection = &protection;
    let mut results = stream::iter(values)
        .map(|(at, key, value)| async move { (at, protection.open(&value, key.as_bytes()).await) })
        .buffer_unordered(KMS_CALLS_MAX);
    while let Some((at, opened)) = results.next().await {
        let Some(kv) = kvs.get_mut(at) else { continue };
        match opened {
            Err(error) if error.is_transient() => {
                return Err(Error::Transformation { key: kv.key.clone(), message: error.to_string().into() });
            }
            opened => set_decrypted(kv, opened),
        }
    }
    Ok(kvs)
}

/// Decrypts all values that need no waiting, and returns the positions of the rest.
fn open_now(protection: &Protection, mut kvs: Vec<KeyValue>) -> (Vec<KeyValue>, Vec<usize>) {
    let mut waiting = Vec::new();
    for (at, kv) in kvs.iter_mut().enumerate() {
        match protection.open_now(&kv.value, kv.key.as_bytes()) {
            Some(opened) => set_decrypted(kv, opened),
            None => waiting.push(at),
        }
    }
    (kvs, waiting)
}
