//! The database file: a log keyed by revision, and metadata.
//!
//! The log contains every change from the compacted revision on, and earlier changes whose values are still
//! current at that revision. The store's revision is that of the last record, which is never dropped.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use bytes::Bytes;
use redb::{
    Builder, Database, DatabaseError, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    StorageError, TableDefinition,
};
use storage::feed::{Batch, CHANGES_PER_READ_MAX, Cursor, EVENTS_PER_READ_MAX};
use storage::mvcc::{Change, Image, Millis, Mvcc, REVISION_EMPTY};
use storage::{Error, Revision};

use crate::record::{self, Record};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const META_FORMAT: &str = "format";
const META_COMPACTED: &str = "compacted";
const FORMAT: u64 = 1;
/// Permissions of the files, which contain all secrets of a cluster.
const PRIVATE: u32 = 0o600;

/// Opens or reopens the database.
type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

pub(crate) struct Disk {
    path: PathBuf,
    open: Open,
    /// `None` while it could not be reopened, and after closing. The lock is held to begin a transaction, not
    /// during it.
    database: RwLock<Option<Database>>,
    /// Excludes other processes, also between closing and reopening the database.
    lock: Mutex<Option<File>>,
}

/// The directory of a store that no other process uses until this value, or the store opened in it, is dropped.
#[derive(Debug)]
pub struct LockedDirectory {
    dir: PathBuf,
    lock: File,
}

impl LockedDirectory {
    /// Locks `dir`, which is created if missing, accessible only by the owner. Writes only the number of this
    /// process, into the lock file.
    ///
    /// # Errors
    /// [`Error::Rejected`] if another process holds the lock, with its number; [`Error::Internal`] for other
    /// failures. The text contains the path.
    pub fn lock(dir: &Path) -> Result<Self, Error> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| failed(dir, &error))?;
        let path = dir.join("store.lock");
        let lock = private_file(&path).map_err(|error| failed(&path, &error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let holder =
                    holder(&lock).map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
                Error::Rejected(format!("{}: the store is in use by {holder}", path.display()))
            }
            TryLockError::Error(error) => failed(&path, &error),
        })?;
        record_holder(&lock).map_err(|error| failed(&path, &error))?;
        Ok(LockedDirectory { dir: dir.to_owned(), lock })
    }
}

/// Maximum length of the content of a lock file in bytes.
const HOLDER_BYTES_MAX: u64 = 20;

/// Returns the number of the process that holds a lock, if it has recorded it.
fn holder(lock: &File) -> Option<u32> {
    let mut text = String::new();
    lock.take(HOLDER_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Records this process in its lock file.
fn record_holder(mut lock: &File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// Opens or creates a file. Its permissions become those of a new file: only for the owner.
fn private_file(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().create(true).read(true).write(true).truncate(false).mode(PRIVATE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != PRIVATE {
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
    }
    Ok(file)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Internal(format!("{}: {error}", path.display()))
}

#[derive(Debug, Default)]
pub(crate) struct Commit<'a> {
    pub(crate) changes: &'a [Change],
    pub(crate) compacted: Option<Revision>,
    /// Revisions to delete.
    pub(crate) deleted: &'a [Revision],
}

impl Disk {
    /// The file in a locked directory. It is created if missing, accessible only by the owner.
    pub(crate) fn in_directory(directory: LockedDirectory, cache_bytes: usize) -> Result<Self, Error> {
        let LockedDirectory { dir, lock } = directory;
        let path = dir.join("store.redb");
        private_file(&path).map_err(|error| failed(&path, &error))?;
        let database = path.clone();
        let open = Box::new(move || builder(cache_bytes).create(&database));
        let disk = Disk { lock: Mutex::new(Some(lock)), ..Disk::open_with(path, open)? };
        // The directory entry must survive a crash, too.
        File::open(&dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(&dir, &error))?;
        Ok(disk)
    }

    /// A file that `open` opens. `path` is for messages.
    pub(crate) fn open_with(path: PathBuf, open: Open) -> Result<Self, Error> {
        let disk = Disk { path, open, database: RwLock::new(None), lock: Mutex::new(None) };
        disk.reopen()?;
        Ok(disk)
    }

    /// Closes the database, if it is open, and opens it, which verifies all of it.
    pub(crate) fn reopen(&self) -> Result<(), Error> {
        self.close();
        let database = (self.open)().map_err(|error| match error {
            DatabaseError::Storage(StorageError::Corrupted(problem)) => self.damaged(problem),
            DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.damaged(error)
            }
            error => self.failed(&error),
        })?;
        self.prepare(&database)?;
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = Some(database);
        Ok(())
    }

    /// Closes the database. Running reads fail.
    pub(crate) fn close(&self) {
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = database.map(Database::close) {
            tracing::warn!("closing {}: {error}", self.path.display());
        }
    }

    /// Closes the database permanently and releases the lock.
    pub(crate) fn release(&self) {
        self.close();
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        failed(&self.path, error)
    }

    fn damaged(&self, problem: impl std::fmt::Display) -> Error {
        let path = self.path.display();
        Error::Internal(format!(
            "{path}: the file is damaged: {problem}. Move it away; a restart with --embedded-from=SNAPSHOT restores \
             a snapshot, and one without starts empty"
        ))
    }

    fn with_database<T>(&self, f: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, Error> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let closed = || Error::Unavailable(format!("{}: not open", self.path.display()));
        f(database.as_ref().ok_or_else(closed)?)
            .map_err(|error| Error::Unavailable(format!("{}: {error}", self.path.display())))
    }

    /// Initializes a new file, or checks the format of an existing one.
    fn prepare(&self, database: &Database) -> Result<(), Error> {
        let prepare = || -> Result<u64, redb::Error> {
            let format = match database.begin_read()?.open_table(META) {
                Ok(meta) => meta.get(META_FORMAT)?.map(|format| format.value()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(format) = format {
                return Ok(format);
            }
            let transaction = database.begin_write()?;
            transaction.open_table(LOG)?;
            transaction.open_table(META)?.insert(META_FORMAT, FORMAT)?;
            transaction.commit()?;
            Ok(FORMAT)
        };
        match prepare().map_err(|error| self.failed(&error))? {
            FORMAT => Ok(()),
            other => Err(self.failed(&format!("has format {other}, this program reads {FORMAT}"))),
        }
    }

    /// Appends changes, deletes dead records, and returns after all is on disk. Without an error all of it
    /// happened; after an error, [`Disk::reopen`] shows if it did.
    pub(crate) fn commit(&self, commit: &Commit<'_>) -> Result<(), Error> {
        let transaction = self.with_database(|database| Ok(database.begin_write()?))?;
        let fill = || -> Result<(), redb::Error> {
            let mut log = transaction.open_table(LOG)?;
            for change in commit.changes {
                let length = record::length(change).ok_or(redb::Error::ValueTooLarge(change.key.len()))?;
                let mut slot = log.insert_reserve(change.revision.unsigned_abs(), length)?;
                record::encode(change, slot.as_mut());
            }
            for revision in commit.deleted {
                log.remove(revision.unsigned_abs())?;
            }
            if let Some(compacted) = commit.compacted {
                transaction.open_table(META)?.insert(META_COMPACTED, compacted.unsigned_abs())?;
            }
            Ok(())
        };
        fill().map_err(|error| self.failed(&error))?;
        // Redb's default durability syncs before it returns.
        transaction.commit().map_err(|error| self.failed(&error))
    }

    /// Fills an empty file with an image, compacted to its revision, at the time `now`.
    pub(crate) fn fill(&self, image: &Image, now: Millis) -> Result<(), Error> {
        let ttls: HashMap<&str, Millis> = image.ttls().iter().map(|(key, ttl)| (&**key, *ttl)).collect();
        let changes = image.changes().map(|change| {
            let expires_at = ttls.get(&*change.key).map(|ttl| now.saturating_add(*ttl));
            Change { expires_at, ..change }
        });
        let mut changes: Vec<Change> = changes.collect();
        changes.sort_unstable_by_key(|change| change.revision);
        let compacted = (!changes.is_empty()).then(|| image.revision());
        self.commit(&Commit { changes: &changes, compacted, deleted: &[] })
    }

    /// The last revision on disk.
    pub(crate) fn revision(&self) -> Result<Revision, Error> {
        let (_transaction, log) = self.log()?;
        let last = log.last().map_err(|error| self.failed(&error))?;
        Ok(last.map_or(REVISION_EMPTY, |(revision, _)| revision.value() as Revision))
    }

    /// Reads the whole file into memory and verifies its consistency.
    pub(crate) fn load(&self) -> Result<Mvcc, Error> {
        let (transaction, log) = self.log()?;
        let meta = transaction.open_table(META).map_err(|error| self.failed(&error))?;
        let compacted = meta.get(META_COMPACTED).map_err(|error| self.failed(&error))?;
        let compacted = compacted.map_or(0, |revision| revision.value() as Revision);
        let mut mvcc = Mvcc::restoring(compacted);
        for entry in log.iter().map_err(|error| self.failed(&error))? {
            let (revision, bytes) = entry.map_err(|error| self.failed(&error))?;
            let (revision, record) = self.record(revision.value(), bytes.value())?;
            self.check(&mvcc, revision, &record)?;
            mvcc.restore(&record.change(revision, None));
        }
        if mvcc.revision() < compacted {
            return Err(self.damaged(format_args!("it ends before its compacted revision {compacted}")));
        }
        Ok(mvcc)
    }

    /// Checks that no change is missing from the compacted revision on, and that each change names the
    /// superseded one.
    fn check(&self, mvcc: &Mvcc, revision: Revision, record: &Record<'_>) -> Result<(), Error> {
        if revision <= mvcc.compacted().max(REVISION_EMPTY) {
            return Ok(());
        }
        let expected = mvcc.revision().max(mvcc.compacted()) + 1;
        if revision != expected {
            return Err(self.damaged(format_args!("revision {expected} is missing")));
        }
        let current = mvcc.current(record.key).map_or(0, |(revision, _)| revision);
        if current != record.supersedes {
            let Record { key, supersedes, .. } = record;
            return Err(self.damaged(format_args!(
                "revision {revision} of {key:?} supersedes {supersedes}, but {current} was current"
            )));
        }
        Ok(())
    }

    /// The changes on disk from `next` on, oldest first.
    pub(crate) fn changes(&self, next: Revision) -> Result<Vec<Change>, Error> {
        let (_transaction, log) = self.log()?;
        let range = log.range(next.unsigned_abs()..).map_err(|error| self.failed(&error))?;
        let mut changes = Vec::new();
        for entry in range {
            let (revision, bytes) = entry.map_err(|error| self.failed(&error))?;
            let (revision, record) = self.record(revision.value(), bytes.value())?;
            let previous = self.value(&log, record.supersedes)?;
            changes.push(record.change(revision, previous));
        }
        Ok(changes)
    }

    /// The values of past changes, `None` for dropped ones.
    pub(crate) fn values(&self, revisions: &[Revision]) -> Result<Vec<Option<Bytes>>, Error> {
        let (_transaction, log) = self.log()?;
        revisions.iter().map(|revision| self.value(&log, *revision)).collect()
    }

    /// A watcher's events from the changes before `until`, within the limits of one read.
    ///
    /// # Errors
    /// [`Error::Compacted`] if a change in between has been dropped.
    pub(crate) fn read(&self, cursor: &Cursor, until: Revision) -> Result<Batch, Error> {
        let (_transaction, log) = self.log()?;
        let range = cursor.next.unsigned_abs()..until.unsigned_abs();
        let range = log.range(range).map_err(|error| self.failed(&error))?;
        let mut batch = Batch { events: Default::default(), next: cursor.next };
        for entry in range.take(CHANGES_PER_READ_MAX) {
            let (revision, bytes) = entry.map_err(|error| self.failed(&error))?;
            let (revision, record) = self.record(revision.value(), bytes.value())?;
            if revision != batch.next {
                return Err(Error::Compacted { oldest: 0 });
            }
            batch.next += 1;
            if cursor.selects(record.key) {
                let previous =
                    if cursor.wants_previous() { self.value(&log, record.supersedes)? } else { None };
                let change = record.change(revision, previous);
                batch.events.push_back(change.event(cursor.wants_previous()));
                if batch.events.len() == EVENTS_PER_READ_MAX {
                    break;
                }
            }
        }
        if batch.next == cursor.next { Err(Error::Compacted { oldest: 0 }) } else { Ok(batch) }
    }

    fn log(&self) -> Result<(ReadTransaction, ReadOnlyTable<u64, &'static [u8]>), Error> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let log = transaction.open_table(LOG)?;
            Ok((transaction, log))
        })
    }

    fn value(
        &self,
        log: &ReadOnlyTable<u64, &'static [u8]>,
        revision: Revision,
    ) -> Result<Option<Bytes>, Error> {
        let Some(bytes) = log.get(revision.unsigned_abs()).map_err(|error| self.failed(&error))? else {
            return Ok(None);
        };
        let (_, record) = self.record(revision.unsigned_abs(), bytes.value())?;
        Ok((!record.deletion).then(|| Bytes::copy_from_slice(record.value)))
    }

    fn record<'a>(&self, revision: u64, bytes: &'a [u8]) -> Result<(Revision, Record<'a>), Error> {
        let decoded = Revision::try_from(revision).ok().zip(record::decode(bytes));
        decoded.ok_or_else(|| self.damaged(format_args!("revision {revision} is unreadable")))
    }
}

/// Opening verifies the whole file, so that damage is reported immediately instead of later. The file is read
/// completely at that time anyway.
pub(crate) fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes).set_check_integrity_on_open(true);
    builder
}
