//! A watch of a cache: a position in the shared log, what it selects, and one timer. It holds no
//! buffer while nothing happens.

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
use crate::core::{Position, Read, Selection, Snapshot, Taken, Walk};

/// Time between bookmarks on a watch that wants them.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// A last bookmark is sent so long before a watch reaches its deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// A poll that finds nothing wanted gives way to others after so many objects or changes.
const LOOKS_PER_POLL: usize = 2048;
/// What a read of the log counts for, as looks: it may have gone through many changes in vain.
const LOOKS_PER_READ: usize = 128;
/// While the initial state is sent the deadline is looked at once in so many objects.
const SENT_PER_CHECK: usize = 256;

/// Where a watch of a cache begins.
pub(crate) enum Start {
    /// With this state, known to be complete up to this revision at least; then what follows it.
    With(Arc<Snapshot>, Revision),
    /// With changes after this revision.
    After(Revision),
}

/// A watch of a cache.
pub(crate) struct CachedWatch {
    cache: Arc<Cache>,
    selection: Selection,
    position: Position,
    /// Where others see how far it has come, if any look.
    reached: Option<Arc<SharedMark>>,
    /// Changes up to this revision are not shown: the client has them, or does not want them.
    after: Revision,
    initial: Option<Box<Initial>>,
    /// Changes that were taken from the log and not looked at yet.
    taken: <Taken as IntoIterator>::IntoIter,
    /// Goes off when the next bookmark is due or the watch is over, whichever is first.
    timer: Pin<Box<Sleep>>,
    deadline: Instant,
    bookmarks: bool,
    /// A bookmark is to be sent as soon as nothing is left to read.
    due: bool,
    over: bool,
}

/// The part of the initial state that is still to be sent. It holds the snapshot.
struct Initial {
    walk: Walk,
    sent: usize,
}

impl CachedWatch {
    /// A watch at a position in the log. With [`starting`](Self::starting) it is complete.
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
            reached: None,
            after: 0,
            initial: None,
            taken: Taken::new().into_iter(),
            timer: Box::pin(sleep_until(next_timer(bookmarks, deadline, Instant::now()))),
            deadline,
            bookmarks,
            due: false,
            over: false,
        }
    }

    /// Says with what the watch begins.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when something that it should begin with cannot be read.
    pub(crate) fn starting(mut self, start: Start) -> Result<Self, Error> {
        match start {
            Start::After(revision) => self.after = revision,
            Start::With(snapshot, revision) => {
                let Selection { scope, predicate, lenient } = &self.selection;
                if !lenient {
                    snapshot.all_readable(scope, None, None)?;
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
        self.reached = Some(progress.reached());
        progress
    }

    /// Whether the initial state has been delivered.
    pub(crate) fn is_current(&self) -> bool {
        self.initial.is_none()
    }

    /// The next event: see [`super::Watch`].
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, Error>>> {
        let mut looks = LOOKS_PER_POLL;
        while !self.over {
            if let Some(event) = self.next_initial(&mut looks) {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(event) = self.next_change(&mut looks) {
                self.over = event.is_err();
                return Poll::Ready(Some(event));
            }
            if looks == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            looks = looks.saturating_sub(LOOKS_PER_READ);
            self.poll_timer(cx);
            if self.over {
                break;
            }
            // Loaded first: when nothing is left to read afterwards, everything up to here was read.
            let fresh = self.cache.fresh();
            match self.read(cx) {
                Read::More => {}
                Read::Idle(revision) => {
                    return match self.bookmark(fresh.max(revision)) {
                        Some(bookmark) => Poll::Ready(Some(Ok(bookmark))),
                        None => Poll::Pending,
                    };
                }
                Read::Overrun => {
                    self.cache.counters.terminated.increment();
                    self.over = true;
                }
                Read::Closed => self.over = true,
            }
        }
        Poll::Ready(None)
    }

    /// The next object of the initial state, and at its end the bookmark that says so.
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
                self.over = initial.sent.is_multiple_of(SENT_PER_CHECK) && Instant::now() >= self.deadline;
                return Some(Event::object(EventType::Added, Arc::clone(element), element.revision()));
            }
        }
        None
    }

    /// Gives up the snapshot.
    fn end_initial(&mut self) {
        if let Some(initial) = self.initial.take() {
            self.cache.counters.initial_events.add(initial.sent);
        }
    }

    /// The next event among the changes that were taken.
    fn next_change(&mut self, looks: &mut usize) -> Option<Result<Event, Error>> {
        while *looks > 0 {
            let change = self.taken.next()?;
            *looks -= 1;
            if change.revision <= self.after {
                continue;
            }
            match change.seen_by(&self.selection) {
                Ok(None) => {}
                Ok(Some((kind, element))) => {
                    let element = Arc::clone(element);
                    return Some(Ok(Event::of_change(kind, element, change)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// Takes the next changes from the log.
    fn read(&mut self, cx: &Context<'_>) -> Read {
        let mut taken = Taken::new();
        let read = self.cache.read(&self.selection, &mut self.position, cx.waker(), &mut taken);
        self.taken = taken.into_iter();
        self.reached.as_ref().inspect(|reached| reached.set(self.position.mark()));
        read
    }

    /// Notices what the timer says, and sets it again.
    fn poll_timer(&mut self, cx: &mut Context<'_>) {
        while !self.over && self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            self.over = now >= self.deadline;
            self.due = !self.over;
            self.timer.as_mut().reset(next_timer(self.bookmarks, self.deadline, now));
        }
    }

    /// The bookmark that is due, unless the client asked for what is later than `revision`.
    fn bookmark(&mut self, revision: Revision) -> Option<Event> {
        if !self.due || revision < self.after {
            return None;
        }
        self.due = false;
        Some(Event::bookmark(revision, false))
    }
}

impl Drop for CachedWatch {
    fn drop(&mut self) {
        self.end_initial();
        self.cache.leave(&mut self.position);
    }
}

/// When a watch has to do something of its own accord next.
fn next_timer(bookmarks: bool, deadline: Instant, now: Instant) -> Instant {
    let last_bookmark = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|last| bookmarks && *last > now);
    last_bookmark.map_or(deadline, |last| last.min(now + BOOKMARK_INTERVAL))
}

#[cfg(test)]
mod tests;
