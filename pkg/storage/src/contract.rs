//! The trait that every backend implements, and the values that cross it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::sync::watch;

use crate::Error;

/// A point in the history of the whole store. The first write has a revision above 0; a larger
/// revision is later. 0 means "none" or "latest", as each use says.
pub type Revision = i64;

/// One key as of some revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The full key, for example `/registry/configmaps/default/a`.
    pub key: String,
    /// The stored bytes. Cloning shares them.
    pub value: Bytes,
    /// The revision of the write that made this value: the object's `resourceVersion`.
    pub mod_revision: Revision,
    /// What became of the value on its way here.
    pub form: Form,
}

/// What became of a stored value on its way to its reader. Backends give values as they are; a layer above them may
/// read what another form holds (encryption).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Form {
    /// The value is what a write of it would store.
    #[default]
    Current,
    /// The value is right, but a write of the same value would store it in another form, so an update writes it even
    /// if it does not change.
    Stale,
    /// The value cannot be read, and the pair has an empty one in its place. Why, is said.
    Unreadable(Arc<str>),
}

impl KeyValue {
    /// A pair whose value is as it is stored.
    pub fn new(key: impl Into<String>, value: impl Into<Bytes>, mod_revision: Revision) -> Self {
        KeyValue { key: key.into(), value: value.into(), mod_revision, form: Form::Current }
    }

    /// The value.
    ///
    /// # Errors
    /// [`Error::Transformation`].
    pub fn readable(&self) -> Result<&Bytes, Error> {
        match &self.form {
            Form::Current | Form::Stale => Ok(&self.value),
            Form::Unreadable(why) => {
                Err(Error::Transformation { key: self.key.clone(), message: Arc::clone(why) })
            }
        }
    }
}

/// The answer to a read of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// The store's revision when the read was served.
    pub revision: Revision,
    /// The key's value at that time, `None` when it does not exist.
    pub kv: Option<KeyValue>,
}

/// Which part of a prefix to list.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// First key wanted (inclusive), `None` for the start of the prefix. Must lie in the prefix.
    pub start: Option<String>,
    /// At most so many pairs; 0 for all.
    pub limit: usize,
    /// Read as of this revision; 0 for the latest (linearizable).
    pub revision: Revision,
    /// Nobody needs to know how many keys there are behind the page, only whether there are any. It
    /// makes a page cost what is on it, where the store can do that; etcd counts all the same.
    pub uncounted: bool,
}

/// One page of a prefix, in byte order of keys, all as of one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The pairs of this page.
    pub kvs: Vec<KeyValue>,
    /// How many keys there are from `start` to the end of the prefix, this page included. Of an
    /// [uncounted](ListOptions::uncounted) list, any number between that and the length of the page,
    /// and above the latter if keys remain.
    pub count: u64,
    /// The store's revision when the read was served (not the revision asked for).
    pub revision: Revision,
}

impl Listing {
    /// Whether keys remain after this page.
    pub fn more(&self) -> bool {
        self.count > self.kvs.len() as u64
    }
}

/// The outcome of a conditional write that was decided by the store (a transport failure is an
/// [`Error`] instead).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The write happened, at this revision.
    Done(Revision),
    /// The key was not at the expected revision. Nothing was written.
    Stale {
        /// What the key holds instead, read in the same transaction; `None` when it is absent.
        current: Option<KeyValue>,
        /// The store's revision of that read.
        revision: Revision,
    },
}

/// The outcome of a conditional delete.
pub type Deleted = Written;

/// What happened to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The key did not exist before.
    Create,
    /// The key existed and got a new value.
    Update,
    /// The key is gone; the event's `kv.value` is empty and `kv.mod_revision` is the revision of
    /// the deletion.
    Delete,
}

/// One change of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// The key after the change.
    pub kv: KeyValue,
    /// The key before the change, where the watch asked for it and the store still had it.
    pub prev: Option<KeyValue>,
}

/// What a watch delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchItem {
    /// A change. Changes arrive in revision order, without gaps and without repetition.
    Event(WatchEvent),
    /// Every change up to and including this revision has been delivered: no event after it has this
    /// revision or an earlier one. Progress never goes back; it may repeat itself.
    Progress(Revision),
}

/// What to watch and how.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// The first revision wanted (inclusive); 0 starts with the next write.
    pub start: Revision,
    /// Deliver the previous value with updates and deletions.
    pub prev_kv: bool,
    /// Watch the exact key instead of everything below the prefix.
    pub exact: bool,
    /// Deliver [`WatchItem::Progress`]
    /// * behind each batch of events that the store hands over, at the revision of the last of them,
    ///   so that the reader knows at once that it has all up to there. Events of one revision are
    ///   never in two batches;
    /// * on [`Storage::request_progress`];
    /// * from time to time while nothing happens.
    pub progress: bool,
}

/// Items in order; after an `Err` the stream ends. Dropping it cancels the watch.
/// A stream that ends without an error was closed by the store's shutdown.
pub type WatchStream = BoxStream<'static, Result<WatchItem, Error>>;

/// The contract. All methods may be called concurrently.
///
/// Guarantees, held by the conformance suite:
/// * every successful write has its own revision, larger than all before it;
/// * a read with revision 0 sees every write that was acknowledged before the read began;
/// * an acknowledged write survives a crash of the process (backends that are durable);
/// * an [`Error`] on a write leaves open whether it happened, unless the variant says otherwise.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// Reads one key. Linearizable.
    async fn get(&self, key: &str) -> Result<Lookup, Error>;

    /// Lists the keys that begin with `prefix`, which ends in `/`.
    ///
    /// # Errors
    /// [`Error::Compacted`] when the revision asked for is no longer kept, [`Error::FutureRevision`]
    /// when it does not exist yet.
    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error>;

    /// Counts the keys that begin with `prefix`, without reading them.
    async fn count(&self, prefix: &str) -> Result<u64, Error>;

    /// Writes `key` if its mod revision is `expected`; 0 expects it to be absent.
    ///
    /// With a `ttl` the key expires, by a deletion with its own revision, not before the ttl is over
    /// and within a minute after it (expiries share leases, as upstream's do). Without one, a ttl
    /// that the key had before is gone.
    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<Written, Error>;

    /// Deletes `key` if its mod revision is `expected`. `Stale` with `current: None` says that the
    /// key does not exist.
    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error>;

    /// Watches a prefix (or one key). The watch is in place when this returns: a write that starts
    /// afterwards is delivered.
    ///
    /// # Errors
    /// [`Error::Compacted`], here or as the stream's first item, when `start` is no longer kept.
    /// A `start` in the future is allowed; the watch waits for it.
    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error>;

    /// Asks for a [`WatchItem::Progress`] on every watch that has `progress` set.
    async fn request_progress(&self) -> Result<(), Error>;

    /// The latest revision, linearizable: at least the revision of every write that was
    /// acknowledged before the call.
    async fn current_revision(&self) -> Result<Revision, Error>;

    /// Forgets history below `revision`. Reads at and watches from an earlier revision answer
    /// [`Error::Compacted`] from then on. Compacting twice is not an error.
    async fn compact(&self, revision: Revision) -> Result<(), Error>;

    /// The newest revision that history is known to be compacted to, by whomever; 0 while none is
    /// known. It never goes back. A cache that forgets what is older answers as the store does.
    ///
    /// A compaction by this store shows when [`Storage::compact`] returns, one by another process
    /// some time after it (or a little before: who compacts etcd announces it first). A compaction
    /// outside the protocol that API servers share may stay unknown. The channel closes some time after
    /// the store is gone. Must be called within a tokio runtime.
    fn compacted(&self) -> watch::Receiver<Revision>;

    /// Whether a value may read differently now than it did before, although nothing was written: what opens stored
    /// values was replaced since `revision`, that of the write. A reader that has to know asks [`get`](Self::get).
    fn is_doubtful(&self, _key: &str, _revision: Revision) -> bool {
        false
    }

    /// Whether the store can serve a request now. Bounded by the backend's own deadline (2 s).
    async fn healthy(&self) -> Result<(), Error>;
}
