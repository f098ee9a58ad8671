//! A client that watches like client-go's reflectors: from a list or with the initial state of the watch. It
//! resumes from its last event, or restarts if that revision is too old.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use cacher::{Error, Event, EventType, Freshness, ListQuery, Resource, WatchQuery, WatchStart};
use futures::StreamExt;
use storage::Revision;
use tokio::time::{Instant, sleep, timeout_at};

use super::kinds::View;
use super::random::Random;
use super::sabotage::Tampered;
use super::session::{Begin, Session, show};
use super::world::{RequestState, Violation, World, violation};

/// Interval at which a watch checks if it is complete.
const LOOKS_EVERY: Duration = Duration::from_secs(5);
/// Maximum delivery time of an event in the calm phase.
const AT_ONCE: Duration = Duration::from_millis(50);
/// Time between the last bookmark and the deadline, and its tolerance.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Reading speed of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// All available events at once.
    Eager,
    /// With pauses.
    Slow,
    /// With pauses so long that the watch is overrun.
    Stalling,
}

pub struct Watcher {
    pub world: Arc<World>,
    pub random: Random,
    pub name: String,
    pub pace: Pace,
    pub view: View,
    pub bookmarks: bool,
}

struct Running {
    resource: Arc<Resource>,
    watch: Tampered,
    session: Session,
    request_state: RequestState,
    /// Time at which it started: a watch that waits for a revision starts with later changes.
    granted: Instant,
    /// The start, if the cache had not reached it.
    ahead: Option<Revision>,
    deadline: Instant,
    last_bookmark: Option<Instant>,
}

enum End {
    /// Everything was delivered.
    Done,
    /// Resume from the last event.
    Resume,
    Restart,
    /// The resource does not exist: retry later.
    Absent,
}

impl Watcher {
    /// Watches until everything has been delivered.
    pub async fn run(mut self) -> Result<(), Violation> {
        let mut last_revision = None;
        loop {
            match self
                .one(&mut last_revision)
                .await
                .map_err(|why| Violation(format!("{}: {why}", self.name)))?
            {
                End::Done => return Ok(()),
                End::Resume => self.world.journal.count("watch resumed"),
                End::Restart => last_revision = None,
                End::Absent => {}
            }
            let time = self.random.millis(1..1500);
            sleep(time).await;
        }
    }

    /// Runs one watch, from `seen` if set.
    async fn one(&mut self, last_revision: &mut Option<Revision>) -> Result<End, Violation> {
        let start = match *last_revision {
            Some(revision) => WatchStart::After(revision),
            None => match self.start().await? {
                Some(start) => start,
                None => return Ok(End::Restart),
            },
        };
        let time = self.random.millis(3000..150_000);
        let deadline = if self.world.is_stormy() { Instant::now() + time } else { far() };
        let query = WatchQuery {
            scope: self.view.scope.clone(),
            start,
            predicate: self.view.predicate(),
            bookmarks: self.bookmarks,
            deadline,
        };
        let request_state = self.world.request_state();
        let world = Arc::clone(&self.world);
        let label = format!("watch {} {start:?}", self.view.scope.prefix);
        let Some(resource) = world.resource(self.view.kind) else { return Ok(End::Absent) };
        let request = world.delegator.watch(&resource, query);
        match world.within_deadline(&label, request).await? {
            Ok(watch) => {
                world.journal.count(kind_of_start(start));
                world.journal.count(self.view.label());
                world.journal.note(&self.name, &format!("{label} begins"));
                let session = self.session(start, &request_state).await;
                let watch = Tampered::new(watch, world.bug, &mut self.random);
                let granted = Instant::now();
                let ahead = self.ahead(start).await;
                let last_bookmark = None;
                let running = Running {
                    resource,
                    watch,
                    session,
                    request_state,
                    granted,
                    ahead,
                    deadline,
                    last_bookmark,
                };
                let (end, last) = self.follow(running).await?;
                *last_revision = last;
                Ok(end)
            }
            Err(error) => {
                world.journal.note(&self.name, &format!("{label} fails: {error:?}"));
                self.refused(&request_state, start, &error)
                    .map_err(|why| Violation(format!("{label}: {why}")))
            }
        }
    }

    /// The start of the watch, if the cache has not reached it.
    async fn ahead(&self, start: WatchStart) -> Option<Revision> {
        let WatchStart::After(revision) = start else { return None };
        (revision > self.world.cached_to(self.view.kind).await).then_some(revision)
    }

    /// The check of a watch that starts now.
    async fn session(&self, start: WatchStart, request_state: &RequestState) -> Session {
        let read = match start {
            WatchStart::State(_) => Revision::MAX,
            WatchStart::After(_) => self.world.cached_to(self.view.kind).await,
        };
        let filled = if self.view.kind.cached { self.world.link.filled_at(self.view.kind.prefix) } else { 0 };
        self.world.history(|history| {
            let now = history.revision();
            let (begin, at) = match start {
                WatchStart::State(Freshness::Consistent) => (Begin::State, request_state.observed..=now),
                WatchStart::State(Freshness::NotOlderThan(minimum) | Freshness::Exact(minimum)) => {
                    (Begin::State, minimum.max(filled)..=now)
                }
                WatchStart::After(0) => (Begin::Changes, filled..=now),
                WatchStart::After(revision) => (Begin::Changes, revision..=revision),
            };
            Session::new(&self.view, begin, self.bookmarks, at, read, history)
        })
    }

    /// Chooses a random start; `None` if that failed.
    async fn start(&mut self) -> Result<Option<WatchStart>, Violation> {
        let observed = self.world.request_state().observed.max(1);
        Ok(Some(match self.random.below(8) {
            0..3 => WatchStart::State(Freshness::Consistent),
            3 => WatchStart::State(Freshness::NotOlderThan(0)),
            4 => {
                let minimum = observed + self.random.pick(&[-9, 0, 2]);
                WatchStart::State(Freshness::NotOlderThan(minimum.max(1)))
            }
            5 => WatchStart::After(0),
            6 => WatchStart::After(observed + self.random.pick(&[0, 1, 5])),
            _ => return self.list().await,
        }))
    }

    /// Lists, to watch from the list's revision.
    async fn list(&mut self) -> Result<Option<WatchStart>, Violation> {
        let freshness = self.random.pick(&[Freshness::Consistent, Freshness::NotOlderThan(0)]);
        let scope = self.view.scope.clone();
        let predicate = self.view.predicate();
        let query = ListQuery { scope, start: None, limit: 0, freshness, predicate };
        let world = &self.world;
        let request_state = world.request_state();
        let Some(resource) = world.resource(self.view.kind) else { return Ok(None) };
        let request = world.delegator.list(&resource, query);
        match world.within_deadline("list", request).await? {
            Ok(page) => {
                world.check_revision(&request_state, freshness, page.revision)?;
                Ok(Some(WatchStart::After(page.revision)))
            }
            Err(error) => {
                world.excuse(&request_state, self.view.kind, request_state.revision, &error).map(|()| None)
            }
        }
    }

    fn refused(
        &self,
        request_state: &RequestState,
        start: WatchStart,
        error: &Error,
    ) -> Result<End, Violation> {
        let needed =
            if let WatchStart::After(revision @ 1..) = start { revision } else { request_state.revision };
        self.world.excuse(request_state, self.view.kind, needed, error)?;
        Ok(match (start, error) {
            (_, Error::TooOld { .. } | Error::Storage(storage::Error::Compacted { .. })) => End::Restart,
            (WatchStart::After(_), _) => End::Resume,
            _ => End::Restart,
        })
    }

    /// Reads a watch to its end; returns the next step and the revision to resume from.
    async fn follow(&mut self, mut running: Running) -> Result<(End, Option<Revision>), Violation> {
        let world = Arc::clone(&self.world);
        let resumable_at_start = running.session.resumable();
        loop {
            let finish = world.finish.load(Relaxed);
            if finish > 0 && world.history(|history| running.session.is_complete(finish, history)) {
                return Ok((End::Done, None));
            }
            if world.is_stormy() && self.random.chance(8) {
                world.journal.count("watch dropped");
                return Ok(self.left(&running));
            }
            self.pause(finish).await;
            let look = Instant::now() + LOOKS_EVERY;
            let next = timeout_at(look.min(running.deadline), running.watch.next()).await;
            match next {
                Ok(Some(Ok(event))) => self.take(&mut running, &event)?,
                Ok(Some(Err(error))) => {
                    world.journal.note(&self.name, &format!("watch fails: {error:?}"));
                    // The store below the ledger starts a watch from a future revision at its present
                    // revision.
                    let needed = match running.session.resumable() {
                        Some(revision) if resumable_at_start != Some(revision) => revision,
                        _ => resumable_at_start
                            .map_or(running.request_state.revision, |resumable_at_start| {
                                resumable_at_start.min(running.request_state.revision)
                            }),
                    };
                    world.excuse(&running.request_state, self.view.kind, needed, &error)?;
                    let compacted = matches!(error, Error::Storage(storage::Error::Compacted { .. }));
                    return Ok(if compacted { (End::Restart, None) } else { self.left(&running) });
                }
                Ok(None) | Err(_) if Instant::now() >= running.deadline => {
                    self.check_last_bookmark(&running)?;
                    world.journal.count("watch at its deadline");
                    return Ok(self.left(&running));
                }
                Ok(None) => {
                    self.ended(&running)?;
                    return Ok(self.left(&running));
                }
                Err(_) if !self.is_current(&running.resource) => {
                    return violation(format!("{:?} goes on although its resource was retired", self.view));
                }
                Err(_) if finish > 0 => {
                    let unread = world.history(|history| running.session.unread(&self.view, history).count());
                    return violation(format!("{:?} is silent, {unread} changes are unread", self.view));
                }
                Err(_) => {}
            }
        }
    }

    /// True if the resource is the currently installed one.
    fn is_current(&self, resource: &Arc<Resource>) -> bool {
        self.world.resource(self.view.kind).is_some_and(|current| Arc::ptr_eq(&current, resource))
    }

    /// The next step after an incomplete watch.
    fn left(&self, running: &Running) -> (End, Option<Revision>) {
        match running.session.resumable().filter(|revision| *revision > 0) {
            Some(revision) => (End::Resume, Some(revision)),
            None => (End::Restart, None),
        }
    }

    async fn pause(&mut self, finish: Revision) {
        let time = match self.pace {
            _ if finish > 0 => return,
            Pace::Eager => return,
            Pace::Slow if self.random.chance(700) => self.random.millis(0..1000),
            Pace::Slow => return,
            Pace::Stalling if self.random.chance(150) => self.random.millis(5000..40_000),
            Pace::Stalling => self.random.millis(0..100),
        };
        sleep(time).await;
    }

    fn take(&self, running: &mut Running, event: &Event) -> Result<(), Violation> {
        let world = &self.world;
        world.journal.note(&self.name, &show(event));
        if event.kind == EventType::Bookmark {
            running.last_bookmark = Some(Instant::now());
            world.journal.count(if event.initial_events_end { "end of state" } else { "bookmark" });
        }
        world.observe(event.revision);
        let checked = world.history(|history| running.session.accept(event, history));
        checked.map_err(|problem| Violation(format!("{:?}: {problem}", self.view)))?;
        self.check_delay(running, event)
    }

    /// Checks that in the calm phase a change wakes its watches, not a later event.
    fn check_delay(&self, running: &Running, event: &Event) -> Result<(), Violation> {
        let Some(calm_since) = self.world.calm_since.get() else { return Ok(()) };
        if event.kind == EventType::Bookmark || self.pace != Pace::Eager {
            return Ok(());
        }
        let happened = self.world.history(|history| {
            history.changes().get(history.after(event.revision - 1)).map(|change| change.at)
        });
        let Some(happened) = happened.filter(|at| at > calm_since.max(&running.granted)) else {
            return Ok(());
        };
        self.world.journal.count("event in calm weather");
        if happened.elapsed() < AT_ONCE {
            return Ok(());
        }
        violation(format!("{:?}: {} came after {:?}", self.view, show(event), happened.elapsed()))
    }

    /// Checks that a watch that ended without an error had a reason.
    fn ended(&self, running: &Running) -> Result<(), Violation> {
        let world = &self.world;
        if world.link.gaps() > running.request_state.gaps {
            world.journal.count("watch ended by a gap");
            return Ok(());
        }
        if !self.is_current(&running.resource) {
            world.journal.count("watch ended by a retirement");
            return Ok(());
        }
        // A watch that is far behind reads all changes until it is near the end.
        let searches = world.limits.scan_max < world.limits.events_max;
        let overrun = world.history(|history| {
            let unfiltered = View::everything(self.view.kind);
            let view = if searches { &unfiltered } else { &self.view };
            let oldest = running.session.unread(view, history).next();
            oldest.is_some_and(|(at, change)| world.may_be_forgotten(self.view.kind, history, at, change))
        });
        world.journal.note(&self.name, "watch ended");
        if !overrun || !self.view.kind.cached {
            return violation(format!("{:?} ended without a reason", self.view));
        }
        world.journal.count("watch overrun");
        Ok(())
    }

    /// Checks that an eager client has received the last bookmark before the deadline. Not required if the
    /// cache never reached the start of the watch: a bookmark must not go back.
    fn check_last_bookmark(&self, running: &Running) -> Result<(), Violation> {
        let world = &self.world;
        let due = running.deadline - LAST_BOOKMARK;
        let expected = self.bookmarks
            && self.pace == Pace::Eager
            && self.view.kind.cached
            && running.granted + LAST_BOOKMARK < due
            && (running.ahead.is_none() || running.session.resumable() != running.ahead);
        if !expected {
            return Ok(());
        }
        world.journal.count("bookmark before the deadline");
        match running.last_bookmark {
            Some(at) if at >= due => Ok(()),
            at => violation(format!("no bookmark before the deadline, the last one was at {at:?}")),
        }
    }
}

/// Later than the end of any run.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(24 * 3600)
}

fn kind_of_start(start: WatchStart) -> &'static str {
    match start {
        WatchStart::State(Freshness::Consistent) => "watch from the latest state",
        WatchStart::State(Freshness::NotOlderThan(0)) => "watch from any state",
        WatchStart::State(_) => "watch from a state not older",
        WatchStart::After(0) => "watch from now",
        WatchStart::After(_) => "watch from a revision",
    }
}
