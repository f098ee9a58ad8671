//! Tests of the pure core: the log's contents, wake-ups, and the events that readers get.
#![allow(clippy::unwrap_used, clippy::panic)]

mod limits;
mod model;
mod topics;

use std::sync::Arc;
use std::time::Duration;

use storage::Revision;
use tokio::time::Instant;

use super::testing::*;
use super::*;
use crate::memo::Budget;

/// A log with its readers, and the snapshot at its end.
struct Fixture {
    state: State,
    snapshot: Snapshot,
    frames: Arc<Budget>,
    now: Instant,
}

impl Fixture {
    /// An empty resource at `revision`, indexed by field 0 if `index` is true.
    fn new(prefix: &str, index: bool, limits: Limits, revision: Revision) -> Self {
        let now = Instant::now();
        let index = index.then_some(0);
        let mut state = State::new(prefix.to_owned(), index, limits, now);
        state.open(revision).run();
        let snapshot = Snapshot::from_elements(Vec::new(), revision, index);
        Fixture { state, snapshot, frames: Budget::new(0), now }
    }

    fn apply(&mut self, batch: Vec<KeyChange>) {
        let (snapshot, changes) = advance(&self.snapshot, batch, &self.frames, Arrival::at(Instant::now()));
        self.snapshot = snapshot;
        self.state.append(changes, self.now).run();
    }

    fn puts(&mut self, key: &str, revisions: impl IntoIterator<Item = Revision>) {
        self.apply(revisions.into_iter().map(|revision| put(key, revision, "n")).collect());
    }

    fn follow(&mut self, selection: Selection) -> Reader {
        let position = self.state.start_from_now(&selection);
        Reader::new(selection, position)
    }

    fn resume(&mut self, selection: Selection, revision: Revision) -> Result<Reader, Error> {
        let position = self.state.resume(&selection, revision)?;
        Ok(Reader::new(selection, position))
    }
}

struct Reader {
    selection: Selection,
    position: Position,
    wakes: Arc<Wakes>,
    got: Vec<Seen>,
}

impl Reader {
    fn new(selection: Selection, position: Position) -> Self {
        Reader { selection, position, wakes: Arc::default(), got: Vec::new() }
    }

    fn read(&mut self, state: &mut State) -> ReadOutcome {
        let mut batch = ChangeBatch::new();
        let read = state.read(&self.selection, &mut self.position, &self.wakes.waker(), &mut batch);
        assert!(batch.is_empty() || read == ReadOutcome::More);
        self.got.extend(batch.iter().filter_map(|change| event_for(change, &self.selection)));
        read
    }

    /// Reads until no changes are left, and returns the last result.
    fn drain(&mut self, state: &mut State) -> ReadOutcome {
        loop {
            match self.read(state) {
                ReadOutcome::More => {}
                end => return end,
            }
        }
    }

    /// The revisions read since the last call.
    fn revisions(&mut self) -> Vec<Revision> {
        std::mem::take(&mut self.got).into_iter().map(|(_, _, _, revision)| revision).collect()
    }
}

/// Limits that keep `events` changes regardless of age and size.
fn keeping(events: usize) -> Limits {
    Limits { events_min: events, events_max: events, ..Limits::default() }
}
