//! The trait that every backend implements, and its data types.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::sync::watch;

use crate::Error;

/// A revision of the whole store. The first write has a revision above 0; later revisions are greater. 0
/// means "none" or "latest", depending on the use.
pub type Revision = i64;

/// A key at some revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The full key, for example `/registry/configmaps/default/a`.
    pub key: String,
    /// The stored bytes. Cloning shares them.
    pub value: Bytes,
    /// The revision of the write of this value: the object's `resourceVersion`.
    pub mod_revision: Revision,
    /// The form in which the value was stored.
    pub form: Form,
}

/// The stored form of a value. Backends return values unchanged; a layer above may transform them
/// (encryption).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Form {
    /// A write would store the value in the same form.
    #[default]
    Current,
    /// The value is correct, but a write would store it in another form. So an update writes it even if it is
    /// unchanged.
    Stale,
    /// The value is unreadable, and the pair has an empty one instead. Contains the error message.
    Unreadable(Arc<str>),
}

impl KeyValue {
    /// A pair with a value in its stored form.
    pub fn new(key: impl Into<String>, value: impl Into<Bytes>, mod_revision: Revision) -> Self {
        KeyValue { key: key.into(), value: value.into(), mod_revision, form: Form::Current }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn readable(&self) -> Result<&Bytes, Error> {
        match &self.form {
            Form::Current | Form::Stale => Ok(&self.value),
            Form::Unreadable(why) => {
                Err(Error::Unreadable { key: self.key.clone(), message: Arc::clone(why) })
            }
        }
    }
}

/// Result of reading one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// The store's revision at the time of the read.
    pub revision: Revision,
    /// The key's value at that time, `None` if the key does not exist.
    pub kv: Option<KeyValue>,
}

/// The part of a prefix to list.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// First key (inclusive), `None` for the start of the prefix. Must be within the prefix.
    pub start: Option<String>,
    /// Maximum number of pairs; 0 for all.
    pub limit: usize,
    /// The revision to read; 0 for the latest (linearizable).
    pub revision: Revision,
    /// True if the number of keys after the page is not needed, only whether there are any. Then the cost of
    /// a page depends only on its content, if the store supports it; etcd counts anyway.
    pub uncounted: bool,
}

/// A page of a prefix, in byte order of keys, at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Pairs of the page, at most [`ListOptions::limit`].
    pub kvs: Vec<KeyValue>,
    /// Number of keys from `start` to the end of the prefix, including this page. For an
    /// [uncounted](ListOptions::uncounted) list, any number between the length of the page and that number;
    /// greater than the length if keys remain.
    pub count: u64,
    /// The store's revision at the time of the read (not the requested revision).
    pub revision: Revision,
}

impl Listing {
    /// True if keys remain after this page.
    pub fn has_more(&self) -> bool {
        self.count > self.kvs.len() as u64
    }
}

/// A list that the store sends in chunks of its own choice. The store waits while no chunk is read, so that neither
/// side holds the whole list.
pub struct ListStream {
    /// The revision of the list. After an error, the rest can be read at this revision.
    pub revision: Revision,
    /// Pairs in byte order of keys. The stream ends after the last chunk, or after an `Err`.
    pub chunks: BoxStream<'static, Result<Vec<KeyValue>, Error>>,
}

/// Outcome of a conditional write that the store has decided. (A transport failure is an [`Error`] instead.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutResult {
    /// The write happened at this revision.
    Done(Revision),
    /// The key was not at the expected revision. Nothing was written.
    Stale {
        /// The key's current state, read in the same transaction; `None` if it does not exist.
        current: Option<KeyValue>,
        /// The store's revision of that read.
        revision: Revision,
    },
}

/// Outcome of a conditional delete.
pub type DeleteResult = PutResult;

/// Type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The key did not exist before.
    Create,
    /// The key existed and got a new value.
    Update,
    /// The key was deleted. The event's `kv.value` is empty, and `kv.mod_revision` is the revision of the
    /// deletion.
    Delete,
}

/// A change of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// Type of the change; an expiry is a deletion.
    pub kind: EventKind,
    /// The key after the change.
    pub kv: KeyValue,
    /// The key before the change, if the watch requested it and the store still has it.
    pub prev: Option<KeyValue>,
}

/// Item of a [`WatchStream`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchItem {
    /// A change. Changes arrive in the order of revisions, without gaps and without repetition.
    Event(WatchEvent),
    /// Every change up to and including this revision has been delivered: later events have greater
    /// revisions. Progress never decreases; it may repeat.
    Progress(Revision),
}

/// Options of a watch.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// The first revision (inclusive); 0 starts with the next write.
    pub start: Revision,
    /// True to deliver the previous value with updates and deletions.
    pub prev_kv: bool,
    /// True to watch the exact key instead of everything below the prefix.
    pub exact: bool,
    /// True to deliver [`WatchItem::Progress`]
    /// * after each batch of events that the store delivers, at the revision of its last event, so that the
    ///   reader is complete up to there without a delay. Events of one revision are never in two batches;
    /// * on [`Storage::request_progress`];
    /// * periodically while idle.
    pub progress: bool,
}

/// Items in order; the stream ends after an `Err`. Dropping it cancels the watch. A stream that ends without
/// an error was closed by the store's shutdown.
pub type WatchStream = BoxStream<'static, Result<WatchItem, Error>>;

/// The storage contract. All methods may be called concurrently.
///
/// Guarantees, verified by the conformance suite:
/// * every successful write has its own revision, greater than all before it;
/// * a read with revision 0 sees every write that was acknowledged before the read started;
/// * an acknowledged write survives a crash of the process (durable backends);
/// * after an [`Error`] a write may or may not have happened, unless the variant excludes it.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// Reads one key. Linearizable.
    async fn get(&self, key: &str) -> Result<Lookup, Error>;

    /// Lists the keys with the prefix `prefix`, which ends in `/`.
    ///
    /// # Errors
    /// [`Error::Compacted`] if the requested revision is no longer available, [`Error::FutureRevision`] if it
    /// does not exist yet.
    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error>;

    /// Lists the keys with the prefix `prefix`, from `start` (inclusive) on, as a stream of chunks. `revision` is 0
    /// for the latest (linearizable). `None` if the store has no streams; then [`list`](Self::list) reads pages.
    ///
    /// # Errors
    /// Those of [`list`](Self::list), here or in the stream.
    async fn list_stream(
        &self,
        _prefix: &str,
        _start: &str,
        _revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        Ok(None)
    }

    /// Counts the keys with the prefix `prefix`, without reading them.
    async fn count(&self, prefix: &str) -> Result<u64, Error>;

    /// Writes `key` if its mod revision is `expected`; 0 means that it must not exist.
    ///
    /// With a `ttl` the key expires: it is deleted at a revision of its own, at the earliest when the ttl is
    /// over and within a minute after it (expiries share leases, as in upstream). Without one, an earlier ttl
    /// of the key is removed.
    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error>;

    /// Deletes `key` if its mod revision is `expected`. `Stale` with `current: None` means that the key does
    /// not exist.
    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error>;

    /// Watches a prefix (or one key). The watch is established when this returns: all later writes are
    /// delivered.
    ///
    /// # Errors
    /// [`Error::Compacted`], here or as the stream's first item, if `start` is no longer available. A `start`
    /// in the future is allowed; the watch waits for it.
    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error>;

    /// Requests a [`WatchItem::Progress`] on every watch with `progress`.
    async fn request_progress(&self) -> Result<(), Error>;

    /// The latest revision, linearizable: at least the revision of every write that was acknowledged before
    /// the call.
    async fn current_revision(&self) -> Result<Revision, Error>;

    /// Drops the history before `revision`. Later reads at, and watches from, an earlier revision return
    /// [`Error::Compacted`]. Compacting twice is not an error.
    async fn compact(&self, revision: Revision) -> Result<(), Error>;

    /// The newest revision that is known to be compacted, by any process; 0 if none. It never decreases. A
    /// cache that also drops older states behaves like the store.
    ///
    /// A compaction by this store is visible when [`Storage::compact`] returns, one by another process some
    /// time later (or a little before, because compactors of etcd announce it first). A compaction outside of
    /// the API servers' protocol may not become visible. The channel closes some time after the store is
    /// dropped. Must be called within a tokio runtime.
    fn compacted(&self) -> watch::Receiver<Revision>;

    /// True if a value may read differently now although nothing was written, because the decryption was
    /// reconfigured after `revision`, the revision of the write. Readers that need the current value call
    /// [`get`](Self::get).
    fn needs_reread(&self, _key: &str, _revision: Revision) -> bool {
        false
    }

    /// Checks that the store can serve requests. Bounded by the backend's own deadline (2 s).
    async fn healthy(&self) -> Result<(), Error>;
}
