//! The position of a watch: converts etcd's watch responses to the contract's items, and determines the
//! revision to resume from after a disconnect. Pure.
//!
//! etcd sends all events of a revision in one response, unless fragments are requested, which may split
//! anywhere. The header of a response with events has the member's revision at the time of sending. The
//! watch's position is the revision of the last event.
//!
//! Correctness depends on one number, `next`: everything below it has been delivered, nothing at or above it
//! has. It only moves to the end of a complete revision, so a new connection from `next` neither loses nor
//! repeats events.

use std::collections::VecDeque;
use std::sync::Arc;

use component_base::line_limit::LineLimit;
use etcd_client::proto::{PbEvent, PbKeyValue, PbWatchResponse};
use storage::{Error, EventKind, KeyValue, Revision, WatchEvent, WatchItem};
use tokio::time::Instant;

use crate::call_error::{CallError, classify};

const PUT: i32 = 0;
const DELETE: i32 = 1;

/// Type of a response, besides its items.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Created,
    /// Events, or a part of them.
    Events,
    /// A progress notification.
    Progress,
}

/// Scope of a failure.
#[derive(Debug)]
pub(crate) enum FailureScope {
    /// The connection is unusable: reconnect from [`Cursor::next`].
    Connection(CallError),
    /// The watch has ended.
    Watch(Error),
}

/// The failure of an attempt to establish the watch: only temporary failures are retried.
impl From<CallError> for FailureScope {
    fn from(failure: CallError) -> Self {
        match failure {
            CallError::Rejected(_)
            | CallError::Unimplemented(_)
            | CallError::Malformed(_)
            | CallError::Internal(_) => FailureScope::Watch(failure.into_error()),
            _ => FailureScope::Connection(failure),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Cursor {
    next: Revision,
    /// True to report progress after each batch of events.
    progress: bool,
    /// Events of a fragment's last revision: the next fragment may contain more of that revision.
    incomplete_revision: Vec<WatchEvent>,
    foreign_keys: ForeignKeys,
}

impl Cursor {
    /// A watch from `start` (at least 1), with or without progress.
    pub(crate) fn new(start: Revision, progress: bool, foreign_keys: ForeignKeys) -> Self {
        Self { next: start, progress, incomplete_revision: Vec::new(), foreign_keys }
    }

    /// The revision to start a connection from.
    pub(crate) fn next(&self) -> Revision {
        self.next
    }

    /// Must be called before a new connection's first response: an incomplete revision is delivered again
    /// from its beginning.
    pub(crate) fn reconnected(&mut self) {
        self.incomplete_revision.clear();
    }

    /// Processes a response; appends complete items to `out`.
    pub(crate) fn on_response(
        &mut self,
        response: PbWatchResponse,
        out: &mut VecDeque<WatchItem>,
    ) -> Result<Step, FailureScope> {
        if response.compact_revision != 0 {
            return Err(FailureScope::Watch(Error::Compacted { oldest: response.compact_revision }));
        }
        if response.canceled {
            return Err(canceled(&response.cancel_reason));
        }
        if response.created {
            return Ok(Step::Created);
        }
        if response.events.is_empty() {
            self.on_progress(response.header.map_or(0, |header| header.revision), out);
            return Ok(Step::Progress);
        }
        let before = self.next;
        let mut skipped = 0;
        for event in response.events {
            if let Some(foreign) = event.kv.as_ref().filter(|kv| self.foreign_keys.contain(kv)) {
                skipped = foreign.mod_revision;
                continue;
            }
            let event = decode(event).map_err(FailureScope::Watch)?;
            if event.kv.mod_revision >= self.next {
                self.on_event(event, out);
            }
        }
        if !response.fragment {
            self.release(out);
            self.next = self.next.max(skipped + 1);
        }
        if self.progress && self.next > before {
            out.push_back(WatchItem::Progress(self.next - 1));
        }
        Ok(Step::Events)
    }

    fn on_event(&mut self, event: WatchEvent, out: &mut VecDeque<WatchItem>) {
        let revision = event.kv.mod_revision;
        if self.incomplete_revision.last().is_some_and(|held| held.kv.mod_revision < revision) {
            self.release(out);
        }
        self.incomplete_revision.push(event);
    }

    /// Delivers the held events, whose revision is complete.
    fn release(&mut self, out: &mut VecDeque<WatchItem>) {
        if let Some(last) = self.incomplete_revision.last() {
            self.next = last.kv.mod_revision + 1;
        }
        out.extend(self.incomplete_revision.drain(..).map(WatchItem::Event));
    }

    /// A progress notification: nothing up to `revision` is outstanding. A member that is behind, or a watch
    /// from a future revision, may report an old revision, which is ignored.
    fn on_progress(&mut self, revision: Revision, out: &mut VecDeque<WatchItem>) {
        if self.incomplete_revision.is_empty() && revision >= self.next - 1 && revision > 0 {
            self.next = revision + 1;
            out.push_back(WatchItem::Progress(revision));
        }
    }
}

/// etcd cancels a watch when it loses its leader or stops (reconnect elsewhere), or when the watch is not
/// permitted (final).
fn canceled(reason: &str) -> FailureScope {
    let passing = ["no leader", "server stopped", "server is likely overloaded"];
    if reason.is_empty() || passing.iter().any(|text| reason.contains(text)) {
        return FailureScope::Connection(CallError::unavailable(format!("watch canceled: {reason}")));
    }
    FailureScope::Watch(classify(tonic::Code::PermissionDenied, reason).into_error())
}

/// Converts an etcd event to the contract's.
fn decode(event: PbEvent) -> Result<WatchEvent, Error> {
    let kv = event.kv.ok_or_else(|| Error::Internal("etcd sent an event without a key".to_owned()))?;
    let kind = match event.r#type {
        PUT if kv.create_revision == kv.mod_revision => EventKind::Create,
        PUT => EventKind::Update,
        DELETE => EventKind::Delete,
        other => return Err(Error::Internal(format!("etcd sent an event of unknown type {other}"))),
    };
    Ok(WatchEvent { kind, kv: key_value(kv)?, prev: event.prev_kv.map(key_value).transpose()? })
}

/// Detector of keys that are not UTF-8. No API object has such a key, so reads and watches leave it out. One such
/// key must not end the watch of the whole store. Clones share the limit of their log lines: any list can read
/// all of these keys again.
#[derive(Debug, Clone)]
pub(crate) struct ForeignKeys {
    lines: Arc<LineLimit>,
    since: Instant,
}

impl ForeignKeys {
    pub(crate) fn new() -> Self {
        ForeignKeys { lines: Arc::default(), since: Instant::now() }
    }

    /// True if the key is not UTF-8.
    pub(crate) fn contain(&self, kv: &PbKeyValue) -> bool {
        let foreign = std::str::from_utf8(&kv.key).is_err();
        let line = foreign.then(|| self.lines.admit(self.since.elapsed().as_secs().cast_signed())).flatten();
        if let Some(unlogged) = line {
            tracing::warn!(key = %kv.key.escape_ascii(), unlogged, "a key in etcd is not UTF-8 and is ignored");
        }
        foreign
    }
}

/// Converts an etcd pair to the contract's, without copying.
pub(crate) fn key_value(kv: PbKeyValue) -> Result<KeyValue, Error> {
    let key =
        String::from_utf8(kv.key).map_err(|e| Error::Internal(format!("a key in etcd is not UTF-8: {e}")))?;
    Ok(KeyValue::new(key, kv.value, kv.mod_revision))
}

#[cfg(test)]
mod tests;
