//! Seats of a level, and waiting for one.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use apimachinery::request_context::RequestContext;

use crate::control::Monotonic;
use crate::digest::Class;
use crate::figures::SEAT_BOUNDS;
use crate::queue_set::{DeferredWork, Discipline, Key, QueueSet, SeatResult};
use crate::request_counts::RequestCounter;

/// How much work a request is expected to be (upstream's `WorkEstimate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats that it takes while it is served, at least one.
    pub initial_seats: u32,
    /// Seats that it takes after that, for what it left to do: events for watches.
    pub final_seats: u32,
    /// For how long it takes those.
    pub additional_latency: Duration,
}

impl WorkEstimate {
    /// One seat while it is served: what a request is that nothing else is known of.
    pub const ONE: WorkEstimate =
        WorkEstimate { initial_seats: 1, final_seats: 0, additional_latency: Duration::ZERO };

    /// The most seats that it takes at any time. It has them all the time.
    pub fn width(&self) -> u32 {
        self.initial_seats.max(self.final_seats)
    }
}

/// A request as far as it matters here besides its class.
#[derive(Clone)]
pub struct Request {
    /// What it is expected to cost.
    pub work: WorkEstimate,
    /// Whether it counts among the changes or the reads, in metrics.
    pub mutating: bool,
    /// Whether it is a watch, whose seat is for its initial events, in metrics.
    pub watch: bool,
    /// What it asks for, and of whom it is, for dumps.
    pub context: Arc<RequestContext>,
    /// The user's name, after impersonation.
    pub user: Box<str>,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The queue is full, and no seat is free.
    QueueFull,
    /// No seat is free, and the level has no queues.
    ConcurrencyLimit,
}

/// What came of asking for a seat.
#[derive(Debug)]
pub enum Admission {
    /// The request is served now.
    Seated(Seat),
    /// It waits for its turn.
    Waits(Waiting),
    /// It is turned away.
    Rejected(Rejection),
}

/// A seat: its request is being served. Dropping it says that the request has been served; the seats are free then, or
/// after the additional latency of its work.
#[must_use = "a seat that is dropped is given back"]
pub struct Seat {
    place: LevelEntry,
    waited: Duration,
}

impl Seat {
    /// How long the request waited for it.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// A place in a queue: a future that is ready with a seat when it is this request's turn. Dropping it leaves the queue,
/// as those have to who have waited for as long as they may, or whose client is gone. It must not be polled after it was
/// ready; it waits for ever then.
#[must_use = "whoever drops its place leaves the queue"]
pub struct Waiting {
    /// `None` if it has become a seat.
    place: Option<LevelEntry>,
}

impl Future for Waiting {
    type Output = Seat;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Seat> {
        let Some(place) = &self.place else { return Poll::Pending };
        // The waker of before goes when the lock has been given back.
        let polled = place.level.lock().poll(place.key, context.waker());
        let Ok(waited) = polled else { return Poll::Pending };
        self.place.take().map_or(Poll::Pending, |place| Poll::Ready(Seat { place, waited }))
    }
}

/// A request at a level. Dropping it ends that.
struct LevelEntry {
    level: Arc<Level>,
    key: Key,
}

impl Drop for LevelEntry {
    fn drop(&mut self) {
        self.level.change(|set, now, after| set.leave(self.key, now, after));
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("level", &self.place.level).field("waited", &self.waited).finish()
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("level", &self.place.as_ref().map(|place| &place.level)).finish()
    }
}

/// When somebody has to see to requests that linger, and who that is.
#[derive(Default)]
pub(crate) struct Lingering(Mutex<AlarmState>);

#[derive(Default)]
struct AlarmState {
    waker: Option<Waker>,
    /// `None` if the waker has to be woken for any time.
    set_for: Option<Duration>,
}

impl Lingering {
    fn lock(&self) -> MutexGuard<'_, AlarmState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on `waker` is woken when somebody begins to linger.
    pub(crate) fn listen(&self, waker: &Waker) {
        *self.lock() = AlarmState { waker: Some(waker.clone()), set_for: None };
    }

    /// Somebody has seen to it that nothing has to be done before `due`.
    pub(crate) fn set_for(&self, due: Duration) {
        let mut alarm = self.lock();
        alarm.set_for = Some(alarm.set_for.map_or(due, |before| before.min(due)));
    }

    /// Something has to be done at `due`.
    fn note(&self, due: Duration) {
        let mut alarm = self.lock();
        if alarm.set_for.is_none_or(|set_for| due < set_for) {
            alarm.set_for = Some(due);
            let waker = alarm.waker.clone();
            drop(alarm);
            waker.inspect(Waker::wake_by_ref);
        }
    }
}

/// A priority level: its requests behind a lock that is held for the time of one change.
pub(crate) struct Level {
    name: Box<str>,
    clock: Arc<dyn Monotonic>,
    lingering: Arc<Lingering>,
    set: Mutex<QueueSet>,
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Level").field(&self.name).finish()
    }
}

impl Level {
    pub(crate) fn new(
        name: &str,
        discipline: Discipline,
        clock: Arc<dyn Monotonic>,
        lingering: Arc<Lingering>,
        kinds: Arc<RequestCounter>,
    ) -> Self {
        let set = Mutex::new(QueueSet::new(discipline, kinds, clock.now()));
        Level { name: name.into(), clock, lingering, set }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The requests, to be looked at.
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueSet> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something now, and wakes whom that concerns.
    pub(crate) fn change<T>(&self, what: impl FnOnce(&mut QueueSet, Duration, &mut DeferredWork) -> T) -> T {
        let mut after = DeferredWork::default();
        let mut set = self.lock();
        let before = set.next_due();
        // Read under the lock: so time never goes back.
        let result = what(&mut set, self.clock.now(), &mut after);
        let due = set.next_due().filter(|due| before.is_none_or(|before| *due < before));
        drop(set);
        after.run_deferred();
        due.inspect(|due| self.lingering.note(*due));
        result
    }

    pub(crate) fn ask(self: &Arc<Self>, class: &Class, request: Request) -> Admission {
        let schema = &class.route.schema;
        let width = u64::from(request.work.width());
        schema.figures.seats.observe(&SEAT_BOUNDS, width, width);
        let place = |key| LevelEntry { level: Arc::clone(self), key };
        match self.change(|set, now, after| set.ask(schema, class.hash, request, now, after)) {
            SeatResult::Seated(key) => Admission::Seated(Seat { place: place(key), waited: Duration::ZERO }),
            SeatResult::Waits(key) => Admission::Waits(Waiting { place: Some(place(key)) }),
            SeatResult::Rejected(rejection) => Admission::Rejected(rejection),
        }
    }
}
