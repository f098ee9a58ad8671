//! A watch of a cache: a position in the shared log, a selection, and one timer. It holds no buffer while
//! idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use storage::Revision;
use tokio::time::{Instant, Sleep, sleep_until};

use super::lag::SharedMark;
use super::{Event, EventType, Progress};
use crate::Error;
use crate::cache::Cache;
use crate::core::{ChangeBatch, Position, ReadOutcome, Selection, Snapshot, Walk};

const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// A last bookmark is sent this long before the deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// A poll yields after this many scanned objects or changes without a match.
const SCANS_PER_POLL: usize = 2048;
/// Cost of a log read in scanned objects, because it may have scanned many changes without a match.
const SCANS_PER_READ: usize = 128;
/// While the initial state is sent, the deadline is checked once per this number of objects.
const SENT_PER_CHECK: usize = 256;

/// Start of a cached watch.
pub(crate) enum Start {
    /// The state, complete up to at least this revision, then later changes.
    Snapshot(Arc<Snapshot>, Revision),
    /// Changes after this revision.
    After(Revision),
}

pub(crate) struct CachedWatch {
    cache: Arc<Cache>,
    selection: Selection,
    position: Position,
    /// Shared progress, if there is an observer.
    shared_mark: Option<Arc<SharedMark>>,
    /// Changes up to this revision are skipped: the client has them already or did not request them.
    after: Revision,
    initial: Option<Box<Initial>>,
    /// Changes taken from the log that are not yet examined.
    pending: <ChangeBatch as IntoIterator>::IntoIter,
    /// True if the next changes are later than the start of the watch. The delay of a replay is not the server's.
    live: bool,
    /// Expires at the next bookmark or at the deadline, whichever is first.
    timer: Pin<Box<Sleep>>,
    deadline: Instant,
    bookmarks: bool,
    /// True if a bookmark is sent as soon as all changes are read.
    bookmark_due: bool,
    ended: bool,
}

/// The rest of the initial state. Holds the snapshot.
struct Initial {
    walk: Walk,
    sent: usize,
}

impl CachedWatch {
    /// A watch at a position in the log; [`starting`](Self::starting) completes it.
    pub(crate) fn new(
        cache: Arc<Cache>,
        selection: Selection,
        position: Position,
        bookmarks: bool,
        deadline: Instant,
    ) -> Self {
        CachedWatch {
            cache,
            selection,
            position,
            shared_mark: None,
            after: 0,
            initial: None,
            pending: ChangeBatch::new().into_iter(),
            live: true,
            timer: Box::pin(sleep_until(next_timer(bookmarks, deadline, Instant::now()))),
            deadline,
            bookmarks,
            bookmark_due: false,
            ended: false,
        }
    }

    /// Sets the start of the watch.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if an object of the initial state is unreadable and may not be left out.
    pub(crate) fn starting(mut self, start: Start) -> Result<Self, Error> {
        match start {
            Start::After(revision) => {
                self.after = revision;
                self.live = revision == 0;
            }
            Start::Snapshot(snapshot, revision) => {
                let Selection { scope, predicate, lenient } = &self.selection;
                if !lenient {
                    snapshot.left_out(scope, None, None)?;
                }
                let walk = snapshot.walk(scope, None, predicate);
                self.initial = Some(Box::new(Initial { walk, sent: 0 }));
                self.after = snapshot.revision().max(revision);
            }
        }
        Ok(self)
    }

    /// See [`super::Watch::progress`].
    pub(crate) fn progress(&mut self) -> Progress {
        let progress = Progress::new(Arc::clone(&self.cache), self.position.mark());
        self.shared_mark = Some(progress.mark());
        progress
    }

    /// True if the initial state has been delivered.
    pub(crate) fn is_current(&self) -> bool {
        self.initial.is_none()
    }

    /// Polls the next event: see [`super::Watch`].
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, Error>>> {
        let mut looks = SCANS_PER_POLL;
        while !self.ended {
            if let Some(event) = self.next_initial(&mut looks) {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(event) = self.next_change(&mut looks) {
                self.ended = event.is_err();
                return Poll::Ready(Some(event));
            }
            if looks == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            looks = looks.saturating_sub(SCANS_PER_READ);
            self.poll_timer(cx);
            if self.ended {
                break;
            }
            // Loaded before the read: if nothing is left to read afterwards, the watch has read everything up
            // to this revision.
            let fresh = self.cache.fresh_revision();
            match self.read(cx) {
                ReadOutcome::More => {}
                ReadOutcome::Idle(revision) => {
                    self.live = true;
                    return match self.bookmark(fresh.max(revision)) {
                        Some(bookmark) => Poll::Ready(Some(Ok(bookmark))),
                        None => Poll::Pending,
                    };
                }
                ReadOutcome::Overrun => {
                    self.cache.metrics.terminated.increment();
                    self.ended = true;
                }
                ReadOutcome::Closed => self.ended = true,
            }
        }
        Poll::Ready(None)
    }

    /// The next object of the initial state, then the bookmark that ends it.
    fn next_initial(&mut self, looks: &mut usize) -> Option<Event> {
        let initial = self.initial.as_mut()?;
        while *looks > 0 {
            *looks -= 1;
            let Some(element) = initial.walk.next() else {
                self.end_initial();
                return self.bookmarks.then(|| Event::bookmark(self.after, true));
            };
            if self.selection.lenient || self.selection.predicate.matches(element) {
                initial.sent += 1;
                self.ended = initial.sent.is_multiple_of(SENT_PER_CHECK) && Instant::now() >= self.deadline;
                return Some(Event::object(EventType::Added, Arc::clone(element), element.revision()));
            }
        }
        None
    }

    fn end_initial(&mut self) {
        if let Some(initial) = self.initial.take() {
            self.cache.metrics.initial_events.add(initial.sent as u64);
        }
    }

    /// The next event among the changes that were taken.
    fn next_change(&mut self, looks: &mut usize) -> Option<Result<Event, Error>> {
        while *looks > 0 {
            let change = self.pending.next()?;
            *looks -= 1;
            if change.revision <= self.after {
                continue;
            }
            match change.event_for(&self.selection) {
                Ok(None) => {}
                Ok(Some((kind, element))) => {
                    let element = Arc::clone(element);
                    if self.live {
                        self.cache.metrics.dispatch.record(change.arrival, Instant::now());
                    }
                    return Some(Ok(Event::of_change(kind, element, change)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// Takes the next changes from the log.
    fn read(&mut self, cx: &Context<'_>) -> ReadOutcome {
        let mut batch = ChangeBatch::new();
        let read = self.cache.read(&self.selection, &mut self.position, cx.waker(), &mut batch);
        self.pending = batch.into_iter();
        self.shared_mark.as_ref().inspect(|reached| reached.set(self.position.mark()));
        read
    }

    /// Handles an expired timer and resets it.
    fn poll_timer(&mut self, cx: &mut Context<'_>) {
        while !self.ended && self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            self.ended = now >= self.deadline;
            self.bookmark_due = !self.ended;
            self.timer.as_mut().reset(next_timer(self.bookmarks, self.deadline, now));
        }
    }

    /// The due bookmark, unless the client requested changes after a later revision.
    fn bookmark(&mut self, revision: Revision) -> Option<Event> {
        if !self.bookmark_due || revision < self.after {
            return None;
        }
        self.bookmark_due = false;
        Some(Event::bookmark(revision, false))
    }
}

impl Drop for CachedWatch {
    fn drop(&mut self) {
        self.end_initial();
        self.cache.end_watch(&mut self.position);
    }
}

/// Time of the next bookmark or of the deadline.
fn next_timer(bookmarks: bool, deadline: Instant, now: Instant) -> Instant {
    let last_bookmark = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|last| bookmarks && *last > now);
    last_bookmark.map_or(deadline, |last| last.min(now + BOOKMARK_INTERVAL))
}

#[cfg(test)]
mod tests;
