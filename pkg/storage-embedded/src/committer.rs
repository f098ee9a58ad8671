//! The only writing thread: takes queued commands, decides them, commits them, applies them, and replies.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use storage::mvcc::{Change, Millis, Write};
use storage::{Error, PutResult, Revision};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::disk::Commit;
use crate::shared::Shared;
use crate::{Clock, millis};

/// Maximum size of a transaction: it bounds the latency of a batch's first command, and memory.
const COMMANDS_PER_BATCH_MAX: usize = 1024;
const BYTES_PER_BATCH_MAX: usize = 8 << 20;

/// Maximum number of keys that expire, and of dead records that are deleted, in one transaction.
const EXPIRED_PER_BATCH_MAX: usize = 512;
const OBSOLETE_PER_BATCH_MAX: usize = 512;

/// Number of changes whose keys are visited by a sweep step, under the lock.
const SWEEP_STEP: usize = 512;

/// Minimum pause after a failure in which writes are rejected; at least as long as reopening the file took.
/// With a full disk, the store must not read its file over and over.
const PAUSE_MIN_MILLIS: Millis = 500;

type Reply<T> = oneshot::Sender<Result<T, Error>>;

pub(crate) enum Command {
    Write {
        write: Write,
        reply: Reply<PutResult>,
    },
    Expire,
    /// Compact the history.
    Compact {
        /// The oldest revision to keep.
        revision: Revision,
        /// `None` for compactions by the store itself.
        reply: Option<Reply<()>>,
    },
    /// Check that writes work, after trying to repair.
    Ping(Reply<()>),
    Close(oneshot::Sender<()>),
}

pub(crate) struct Committer {
    shared: Arc<Shared>,
    clock: Clock,
    history_bytes_max: usize,
    /// Obsolete records that are still on disk.
    obsolete: Vec<Revision>,
    /// True if the last compaction left history to sweep.
    sweeping: bool,
    /// The last failure, until writes work again.
    broken: Option<RepairState>,
}

struct RepairState {
    cause: Error,
    /// True if the file is open again and only the pause is pending.
    reopened: bool,
    since: Millis,
    pause: Millis,
}

/// A batch under construction.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    bytes: usize,
    /// The last change of each key in `changes`.
    last: HashMap<Arc<str>, usize>,
    commands: usize,
    writes: Vec<(Reply<PutResult>, PutResult)>,
    compacted: Option<Revision>,
    done: Vec<Reply<()>>,
    close: Option<oneshot::Sender<()>>,
}

impl Batch {
    fn has_room(&self) -> bool {
        self.close.is_none() && self.commands < COMMANDS_PER_BATCH_MAX && self.bytes < BYTES_PER_BATCH_MAX
    }

    /// The state of `key` after the batch; `None` if the batch does not change it.
    fn current(&self, key: &str) -> Option<Option<(Revision, &Bytes)>> {
        let change = self.changes.get(*self.last.get(key)?)?;
        Some(change.value.as_ref().map(|value| (change.revision, value)))
    }

    fn push(&mut self, change: Change) {
        self.bytes += change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        self.last.insert(change.key.clone(), self.changes.len());
        self.changes.push(change);
    }

    fn fail(self, error: &Error) {
        // Callers that no longer wait do not need the result, here and below.
        for (reply, _) in self.writes {
            let _ = reply.send(Err(error.clone()));
        }
        for reply in self.done {
            let _ = reply.send(Err(error.clone()));
        }
    }

    fn succeed(self) {
        for (reply, written) in self.writes {
            let _ = reply.send(Ok(written));
        }
        for reply in self.done {
            let _ = reply.send(Ok(()));
        }
    }
}

impl Committer {
    pub(crate) fn new(shared: Arc<Shared>, clock: Clock, history_bytes_max: usize) -> Self {
        // The rest of an interrupted sweep is swept now.
        Committer { shared, clock, history_bytes_max, obsolete: Vec::new(), sweeping: true, broken: None }
    }

    /// Runs until the store is closed or dropped.
    pub(crate) fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        loop {
            self.sweep();
            let idle = self.obsolete.is_empty() || self.broken.is_some();
            let first =
                if idle { queue.blocking_recv().ok_or(TryRecvError::Disconnected) } else { queue.try_recv() };
            // Before any decision, because a repair can reveal committed changes.
            let usable = self.repair();
            let mut batch = Batch::default();
            match first {
                Ok(command) => self.add_command(&mut batch, command),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => break,
            }
            while batch.has_room()
                && let Ok(command) = queue.try_recv()
            {
                self.add_command(&mut batch, command);
            }
            let close = batch.close.take();
            match usable {
                Ok(()) => self.commit(batch),
                Err(refused) => batch.fail(&refused),
            }
            if let Some(done) = close {
                self.shared.disk.release();
                let _ = done.send(());
                return;
            }
        }
        self.shared.disk.release();
    }

    fn add_command(&self, batch: &mut Batch, command: Command) {
        batch.commands += 1;
        match command {
            Command::Write { write, reply } => {
                let written = self.decide(batch, write);
                batch.writes.push((reply, written));
            }
            Command::Expire => self.expire(batch),
            Command::Compact { revision, reply } => {
                let current = self.shared.mvcc().revision();
                if revision > current {
                    let error = Error::FutureRevision { requested: revision, current };
                    reply.map(|reply| reply.send(Err(error)));
                    return;
                }
                batch.compacted = batch.compacted.max(Some(revision));
                batch.done.extend(reply);
            }
            Command::Ping(reply) => batch.done.push(reply),
            Command::Close(done) => batch.close = Some(done),
        }
    }

    /// Decides a write against the state after the current batch.
    fn decide(&self, batch: &mut Batch, write: Write) -> PutResult {
        let mvcc = self.shared.mvcc();
        let last = mvcc.revision() + batch.changes.len() as Revision;
        let current = batch.current(&write.key).unwrap_or_else(|| mvcc.current(&write.key));
        match write.decide(current, last + 1) {
            Ok(change) => {
                batch.push(change);
                PutResult::Done(last + 1)
            }
            Err(current) => PutResult::Stale { current, revision: last },
        }
    }

    fn expire(&self, batch: &mut Batch) {
        let now = millis((self.clock)());
        let due: Vec<_> = {
            let mvcc = self.shared.mvcc();
            let due = mvcc.deadlines().due(now).take(EXPIRED_PER_BATCH_MAX);
            due.filter_map(|key| Some((key.clone(), mvcc.current(key)?.0))).collect()
        };
        for (key, expected) in due {
            // A key that the batch has changed is no longer at that revision, and remains.
            self.decide(batch, Write { key, value: None, expected, expires_at: None });
        }
    }

    /// Commits, applies and replies. Without changes there is no transaction: all replies then refer to the
    /// committed state.
    fn commit(&mut self, batch: Batch) {
        let compacted = batch.compacted.filter(|revision| *revision > self.shared.mvcc().compacted());
        let deleted = self.obsolete.len().min(OBSOLETE_PER_BATCH_MAX);
        let deleted = self.obsolete.split_off(self.obsolete.len() - deleted);
        if batch.changes.is_empty() && compacted.is_none() && deleted.is_empty() {
            return batch.succeed();
        }
        let commit = Commit { changes: &batch.changes, compacted, deleted: &deleted };
        match self.shared.disk.commit(&commit) {
            Ok(()) => self.apply(batch, compacted),
            Err(error) => {
                self.obsolete.extend(deleted);
                self.failed(batch, error);
            }
        }
    }

    fn apply(&mut self, mut batch: Batch, compacted: Option<Revision>) {
        let (revision, compacted) = {
            let mut mvcc = self.shared.mvcc_mut();
            batch.changes.drain(..).for_each(|change| mvcc.apply(change));
            if let Some(compacted) = compacted {
                // Checked when the command was received.
                self.sweeping |= mvcc.compact(compacted).is_ok();
            }
            mvcc.trim_log(self.history_bytes_max);
            (mvcc.revision(), mvcc.compacted())
        };
        self.shared.feed.advance(revision);
        self.shared.feed.compact(compacted);
        batch.succeed();
    }

    /// Finds more dead records after the known ones are deleted.
    fn sweep(&mut self) {
        while self.sweeping && self.obsolete.is_empty() {
            (self.obsolete, self.sweeping) = self.shared.mvcc_mut().sweep(SWEEP_STEP);
        }
    }

    /// Handles a failed transaction. The reopened file shows if it happened anyway.
    fn failed(&mut self, batch: Batch, cause: Error) {
        tracing::error!("database file failed: {cause}");
        let before = self.shared.mvcc().revision();
        let reopened = self.reopen(&cause);
        let unchanged = reopened && self.shared.mvcc().revision() == before;
        let text = cause.to_string();
        batch.fail(&if unchanged { Error::Rejected(text) } else { Error::Unavailable(text) });
    }

    /// Reopens the file after `cause` and starts the pause; returns true if reopening succeeded.
    fn reopen(&mut self, cause: &Error) -> bool {
        let start = millis((self.clock)());
        let result = catch_up(&self.shared);
        let since = millis((self.clock)());
        let reopened = result.is_ok();
        let cause = result.err().unwrap_or_else(|| cause.clone());
        let pause = since.saturating_sub(start).max(PAUSE_MIN_MILLIS);
        self.broken = Some(RepairState { cause, reopened, since, pause });
        reopened
    }

    /// Checks that writes are accepted, after trying to repair.
    fn repair(&mut self) -> Result<(), Error> {
        let Some(broken) = &self.broken else { return Ok(()) };
        // The pause also ends if the clock was set back.
        if (broken.since..broken.since + broken.pause).contains(&millis((self.clock)())) {
            return Err(Error::Rejected(broken.cause.to_string()));
        }
        let cause = broken.cause.clone();
        if !broken.reopened && !self.reopen(&cause) {
            return Err(Error::Rejected(cause.to_string()));
        }
        tracing::info!("database accepts writes again");
        self.broken = None;
        Ok(())
    }
}

/// Reopens the file and applies changes that are missing in memory: a transaction that was reported as failed
/// but is on disk.
fn catch_up(shared: &Shared) -> Result<(), Error> {
    shared.disk.reopen()?;
    let acknowledged = shared.mvcc().revision();
    let stored = shared.disk.revision()?;
    if stored < acknowledged {
        return Err(Error::Internal(format!(
            "the file ends at revision {stored}, but {acknowledged} was acknowledged"
        )));
    }
    for change in shared.disk.changes(acknowledged + 1)? {
        shared.mvcc_mut().apply(change);
    }
    shared.feed.advance(stored);
    Ok(())
}
