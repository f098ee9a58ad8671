//! The storage contract for one machine: durable, embedded, one process.
//!
//! The present state and the index of history are in memory ([`storage::mvcc`]). [`redb`] is the log behind
//! them, keyed by revision, so that writes append at one edge of its tree. Values are shared with readers
//! (the watch cache keeps the same bytes). Reads do not access the disk, except for past values and changes
//! that exceed the memory limit for history.
//!
//! All writes go through one thread. It takes the queued writes, decides them, commits them in one
//! transaction with one sync, applies them in memory, and only then replies. So no reader sees a write that a
//! crash could undo, and concurrent writers share the cost of the disk.
//!
//! If the disk fails or is full, writes are rejected and reads continue. The store tries to reopen its file
//! with every further write or health check until that succeeds.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use storage::mvcc::{Archive, Image, Millis, REVISION_EMPTY, Write};
use storage::{
    DeleteResult, Error, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchOptions,
    WatchStream,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use committer::{Command, Committer};
use disk::Disk;
pub use disk::LockedDirectory;
use shared::Shared;

mod committer;
mod disk;
mod maintenance;
mod read;
mod record;
mod shared;
pub mod snapshot;

#[cfg(test)]
mod tests;

/// Clock for deadlines. They are stored, so it must be the wall clock.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Timeout of [`Storage::healthy`], from the contract.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Options for opening a store.
#[derive(Clone)]
pub struct Options {
    pub clock: Clock,
    /// Memory for pages of the file in bytes. It is used for writes and reads of the past, so it can be
    /// small.
    pub cache_bytes: usize,
    /// Memory in bytes for recent changes and their superseded values. Older ones are read from disk.
    pub history_bytes_max: usize,
    /// Interval of compactions to the revision at the previous interval, so that one to two intervals of
    /// history remain, as in upstream with etcd. `None` leaves compaction to [`Storage::compact`].
    pub compaction_interval: Option<Duration>,
    /// Maximum size of a value. The default is etcd's request limit.
    pub value_bytes_max: usize,
    /// Initial contents of an empty store, which are copied; its revisions continue from there. A store with
    /// any earlier write is not changed.
    pub begin: Option<Arc<dyn Archive>>,
    /// Length of the committer's queue; further writers wait to enter it.
    pub queue_max: usize,
}

impl Options {
    pub fn new(clock: Clock) -> Self {
        Options {
            clock,
            cache_bytes: 8 << 20,
            history_bytes_max: 32 << 20,
            compaction_interval: Some(Duration::from_secs(300)),
            value_bytes_max: 3 << 19,
            begin: None,
            queue_max: 1024,
        }
    }
}

/// An open store. [`close`](EmbeddedStore::close) waits until its file is released; dropping the store releases it
/// soon after.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    tasks: Vec<JoinHandle<()>>,
    clock: Clock,
    value_bytes_max: usize,
}

impl EmbeddedStore {
    /// Opens the store in `dir`, which is created if missing. Must be called within a tokio runtime. Takes as
    /// long as reading the file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if another process has the store open, [`Error::Internal`] if the file cannot be
    /// opened or is damaged. The text contains the path.
    pub fn open(dir: &Path, options: Options) -> Result<Arc<EmbeddedStore>, Error> {
        EmbeddedStore::open_locked(LockedDirectory::lock(dir)?, options)
    }

    /// Opens the store in a directory that the caller has locked; otherwise like [`open`](Self::open).
    ///
    /// # Errors
    /// [`Error::Internal`] if the file cannot be opened or is damaged. The text contains the path.
    pub fn open_locked(directory: LockedDirectory, options: Options) -> Result<Arc<EmbeddedStore>, Error> {
        EmbeddedStore::open_on(Disk::in_directory(directory, options.cache_bytes)?, options)
    }

    fn open_on(disk: Disk, options: Options) -> Result<Arc<EmbeddedStore>, Error> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|error| Error::Internal(format!("opening the store: {error}")))?;
        if let Some(archive) = &options.begin
            && disk.revision()? == REVISION_EMPTY
        {
            let image = Image::of(&**archive).map_err(|error| Error::Rejected(error.to_string()))?;
            disk.fill(&image, millis((options.clock)()))?;
        }
        let mvcc = disk.load()?;
        let shared = Arc::new(Shared::new(mvcc, disk));
        let (commands, queue) = mpsc::channel(options.queue_max.max(1));
        let committer = Committer::new(shared.clone(), options.clock.clone(), options.history_bytes_max);
        std::thread::Builder::new()
            .name("store-committer".into())
            .spawn(move || committer.run(queue))
            .map_err(|error| Error::Internal(format!("starting the committer: {error}")))?;
        let expiry = maintenance::expire_keys(shared.clone(), commands.clone(), options.clock.clone());
        let mut tasks = vec![runtime.spawn(expiry)];
        if let Some(interval) = options.compaction_interval {
            let compaction = maintenance::compact(shared.clone(), commands.clone(), interval);
            tasks.push(runtime.spawn(compaction));
        }
        Ok(Arc::new(EmbeddedStore {
            shared,
            commands,
            tasks,
            clock: options.clock,
            value_bytes_max: options.value_bytes_max,
        }))
    }

    /// Completes the queued writes, ends all watches and closes the file. Later calls return
    /// [`Error::Unavailable`] (reads of the present still work). Closing twice is allowed.
    pub async fn close(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let (done, closed) = oneshot::channel();
        if self.commands.send(Command::Close(done)).await.is_ok() {
            // An error means that the committer has already exited.
            let _ = closed.await;
        }
        self.shared.feed.close();
    }

    /// The current contents: every acknowledged write, and possibly a prefix of the running ones.
    pub fn image(&self) -> Image {
        self.shared.mvcc().image(millis((self.clock)()))
    }

    async fn write(&self, write: Write) -> Result<PutResult, Error> {
        self.send_command(|reply| Command::Write { write, reply }).await
    }

    async fn send_command<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Command,
    ) -> Result<T, Error> {
        let closed = || Error::Unavailable("the store is closed".into());
        let (reply, result) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| closed())?;
        result.await.map_err(|_| closed())?
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shared.feed.close();
    }
}

/// Converts a time to a stored deadline.
fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

#[async_trait]
impl Storage for EmbeddedStore {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        let mvcc = self.shared.mvcc();
        Ok(Lookup { revision: mvcc.revision(), kv: mvcc.get(key) })
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        read::list(&self.shared, prefix, &options).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        read::count(&self.shared, prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        if value.len() > self.value_bytes_max {
            return Err(Error::Rejected("etcdserver: request is too large".into()));
        }
        let expires_at = ttl.map(|ttl| {
            let ttl = Millis::try_from(ttl.as_millis()).unwrap_or(Millis::MAX);
            millis((self.clock)()).saturating_add(ttl)
        });
        let write = Write { key: key.into(), value: Some(value), expected, expires_at };
        let written = self.write(write).await?;
        if expires_at.is_some() {
            self.shared.deadline_set.notify_one();
        }
        Ok(written)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.write(Write { key: key.into(), value: None, expected, expires_at: None }).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let next = self.shared.mvcc().watch_start(options.start)?;
        let log = Arc::new(read::Log(self.shared.clone()));
        Ok(self.shared.feed.watch(log, prefix, next, &options))
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.shared.feed.request_progress();
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        Ok(self.shared.mvcc().revision())
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.send_command(|reply| Command::Compact { revision, reply: Some(reply) }).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.shared.feed.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        let result = tokio::time::timeout(HEALTH_TIMEOUT, self.send_command(Command::Ping)).await;
        result.unwrap_or_else(|_| Err(Error::Unavailable("the committer is busy".into())))
    }
}
