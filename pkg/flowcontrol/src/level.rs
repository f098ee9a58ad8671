//! A running priority level: its seats and its waiting requests.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock::Monotonic;
use crate::discipline::Discipline;
use crate::queue_set::{DeferredWork, Key, QueueSet, SeatResult};
use crate::request::{Rejection, Request};
use crate::request_counts::RequestCounter;
use crate::schema::Schema;

/// Result of a request for seats.
#[derive(Debug)]
pub enum Admission {
    /// The request can execute now.
    Seated(SeatGuard),
    /// The request is queued.
    Queued(QueuedRequest),
    /// The request is rejected.
    Rejected(Rejection),
}

/// The seats of an executing request. Dropping it ends the execution. The seats are released then, or after
/// the additional latency of its work.
#[must_use = "dropping the guard releases the seats"]
pub struct SeatGuard {
    entry: LevelEntry,
    queue_time: Duration,
}

impl SeatGuard {
    /// Returns the time that the request spent in the queue.
    pub fn queue_time(&self) -> Duration {
        self.queue_time
    }
}

/// A queued request: a future that resolves to a seat guard. Dropping it leaves the queue. Drop it when the wait
/// times out or the client disconnects. It must not be polled after completion; it is pending forever then.
#[must_use = "dropping the future leaves the queue"]
pub struct QueuedRequest {
    /// `None` after it became a seat guard.
    entry: Option<LevelEntry>,
}

impl Future for QueuedRequest {
    type Output = SeatGuard;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SeatGuard> {
        let Some(entry) = &self.entry else { return Poll::Pending };
        // The replaced waker is dropped after the lock is released.
        let polled = entry.level.lock().poll(entry.key, context.waker());
        let Ok(queue_time) = polled else { return Poll::Pending };
        self.entry.take().map_or(Poll::Pending, |entry| Poll::Ready(SeatGuard { entry, queue_time }))
    }
}

/// A request at a level. Dropping it removes the request.
struct LevelEntry {
    level: Arc<Level>,
    key: Key,
}

impl Drop for LevelEntry {
    fn drop(&mut self) {
        self.level.with_queues(|set, now, after| set.remove(self.key, now, after));
    }
}

impl fmt::Debug for SeatGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeatGuard")
            .field("level", &self.entry.level)
            .field("queue_time", &self.queue_time)
            .finish()
    }
}

impl fmt::Debug for QueuedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedRequest")
            .field("level", &self.entry.as_ref().map(|entry| &entry.level))
            .finish()
    }
}

/// Alarm for the next release of final seats, and the task that handles it.
#[derive(Default)]
pub(crate) struct Lingering(Mutex<AlarmState>);

#[derive(Default)]
struct AlarmState {
    waker: Option<Waker>,
    /// `None` if the waker must be woken for any time.
    alarm_at: Option<Duration>,
}

impl Lingering {
    fn lock(&self) -> MutexGuard<'_, AlarmState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers `waker`, which is woken when a release is due earlier than planned.
    pub(crate) fn register_waker(&self, waker: &Waker) {
        *self.lock() = AlarmState { waker: Some(waker.clone()), alarm_at: None };
    }

    /// Records that the task wakes up at `due` by itself. Only a release before `due` must wake it.
    pub(crate) fn set_alarm(&self, due: Duration) {
        let mut alarm = self.lock();
        alarm.alarm_at = Some(alarm.alarm_at.map_or(due, |before| before.min(due)));
    }

    /// Wakes the task if a release is due at `due` and the task would be late.
    fn notify_release(&self, due: Duration) {
        let mut alarm = self.lock();
        if alarm.alarm_at.is_none_or(|alarm_at| due < alarm_at) {
            alarm.alarm_at = Some(due);
            let waker = alarm.waker.clone();
            drop(alarm);
            waker.inspect(Waker::wake_by_ref);
        }
    }
}

/// A priority level. Its lock is held for one change at a time.
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

    /// Locks the requests for reading.
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueSet> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a change at the current time, then wakes the affected tasks.
    pub(crate) fn with_queues<T>(
        &self,
        change: impl FnOnce(&mut QueueSet, Duration, &mut DeferredWork) -> T,
    ) -> T {
        let mut after = DeferredWork::default();
        let mut set = self.lock();
        let before = set.next_due();
        // The clock is read under the lock, so that time never goes back.
        let result = change(&mut set, self.clock.now(), &mut after);
        let due = set.next_due().filter(|due| before.is_none_or(|before| *due < before));
        drop(set);
        after.run_deferred();
        due.inspect(|due| self.lingering.notify_release(*due));
        result
    }

    /// Requests seats for a request of `schema`. `hash` determines the flow's queues.
    pub(crate) fn request_seats(
        self: &Arc<Self>,
        schema: &Arc<Schema>,
        hash: u64,
        request: Request,
    ) -> Admission {
        let width = u64::from(request.work.width());
        schema.metrics.seats.observe(width);
        let entry = |key| LevelEntry { level: Arc::clone(self), key };
        match self.with_queues(|set, now, after| set.request_seats(schema, hash, request, now, after)) {
            SeatResult::Seated(key) => {
                Admission::Seated(SeatGuard { entry: entry(key), queue_time: Duration::ZERO })
            }
            SeatResult::Queued(key) => Admission::Queued(QueuedRequest { entry: Some(entry(key)) }),
            SeatResult::Rejected(rejection) => Admission::Rejected(rejection),
        }
    }
}
