//! The storage contract for one machine: durable, embedded, one process.
//!
//! The present state and the index of history live in memory ([`storage::mvcc`]); [`redb`] is the
//! log behind them, keyed by revision, so that writes append at one edge of its tree. The values are
//! shared with whoever reads them (the watch cache keeps the same bytes), and reading never touches
//! the disk, except for values and changes of the past that have left the memory's share of history.
//!
//! All writes go through one thread, which takes what has queued up, decides it, commits it in one
//! transaction with one sync, applies it to the memory, and only then answers: nobody sees what a
//! crash could take back, and many writers share the cost of the disk.
//!
//! When the disk fails or is full, writes are refused and reads go on. The store tries to reopen its
//! file with every further write or health check until that works.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use storage::mvcc::{Archive, Image, Millis, REVISION_EMPTY, Write};
use storage::{
    Deleted, Error, ListOptions, Listing, Lookup, Revision, Storage, WatchOptions, WatchStream, Written,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use committer::{Command, Committer};
use disk::Disk;
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

/// Tells the time for deadlines. They are stored, so it must be the wall clock.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// How long [`Storage::healthy`] waits, by contract.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// What can be chosen when a store is opened.
#[derive(Clone)]
pub struct Options {
    /// The time.
    pub clock: Clock,
    /// Memory for pages of the file. It serves writes and reads of the past, so it can be small.
    pub cache_bytes: usize,
    /// Memory for recent changes and the values they superseded. What is older is read from disk.
    pub history_bytes_max: usize,
    /// Every so often history is compacted up to where the store was one interval before, so that
    /// one to two intervals of it remain, as upstream does with etcd. `None` leaves compaction to
    /// [`Storage::compact`].
    pub compaction_interval: Option<Duration>,
    /// Larger values are refused. etcd's limit for a request by default.
    pub value_bytes_max: usize,
    /// What an empty store begins with, all of which is copied; its revisions go on from there. A store in which anything
    /// was ever written stays as it is.
    pub begin: Option<Arc<dyn Archive>>,
    /// Writers that wait for the committer; more wait to get into the queue.
    pub queue_max: usize,
}

impl Options {
    /// The defaults, with this clock.
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

/// An open store. [`close`](Embedded::close) it to know that its file is free again; dropping it
/// closes it at some time soon.
pub struct Embedded {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    tasks: Vec<JoinHandle<()>>,
    clock: Clock,
    value_bytes_max: usize,
}

impl Embedded {
    /// Opens the store in `dir`, which is created if need be. Must be called within a tokio runtime.
    /// Takes as long as reading the file does.
    ///
    /// # Errors
    /// [`Error::Refused`] when another process has the store open, [`Error::Internal`] when the file
    /// cannot be opened or is damaged. The text names the file.
    pub fn open(dir: &Path, options: Options) -> Result<Arc<Embedded>, Error> {
        Embedded::open_on(Disk::in_directory(dir, options.cache_bytes)?, options)
    }

    fn open_on(disk: Disk, options: Options) -> Result<Arc<Embedded>, Error> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|error| Error::Internal(format!("opening the store: {error}")))?;
        if let Some(archive) = &options.begin
            && disk.revision()? == REVISION_EMPTY
        {
            let image = Image::of(&**archive).map_err(Error::Refused)?;
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
        Ok(Arc::new(Embedded {
            shared,
            commands,
            tasks,
            clock: options.clock,
            value_bytes_max: options.value_bytes_max,
        }))
    }

    /// Carries out the writes that are queued, ends all watches and closes the file. Later calls
    /// answer [`Error::Unavailable`] (reads of the present still work). Closing twice is allowed.
    pub async fn close(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let (done, closed) = oneshot::channel();
        if self.commands.send(Command::Close(done)).await.is_ok() {
            // An error says that the committer is gone, which is what we want.
            let _ = closed.await;
        }
        self.shared.feed.close();
    }

    /// What is here now: every write that was acknowledged, and of those under way all before one or none.
    pub fn image(&self) -> Image {
        self.shared.mvcc().image(millis((self.clock)()))
    }

    async fn write(&self, write: Write) -> Result<Written, Error> {
        self.ask(|reply| Command::Write { write, reply }).await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Command,
    ) -> Result<T, Error> {
        let closed = || Error::Unavailable("the store is closed".into());
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shared.feed.close();
    }
}

/// A time as deadlines are stored.
fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

#[async_trait]
impl Storage for Embedded {
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
    ) -> Result<Written, Error> {
        if value.len() > self.value_bytes_max {
            return Err(Error::Refused("etcdserver: request is too large".into()));
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

    async fn delete(&self, key: &str, expected: Revision) -> Result<Deleted, Error> {
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
        self.ask(|reply| Command::Compact { revision, reply: Some(reply) }).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.shared.feed.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        let answer = tokio::time::timeout(HEALTH_TIMEOUT, self.ask(Command::Ping)).await;
        answer.unwrap_or_else(|_| Err(Error::Unavailable("the committer is busy".into())))
    }
}
