//! CPU pool: threads for requests that would block a runtime thread for too long.
//!
//! All requests share the runtime's threads, so a task must yield every few milliseconds. Decoding,
//! defaulting, validating and encoding an object do not yield. The number of bytes determines their duration. It is known in
//! advance. Above [`POOL_WRITE_BYTES_MIN`] or [`POOL_READ_BYTES_MIN`] the work runs here.
//!
//! The threads have a runtime of their own: while one task waits for the store or a webhook, others run. The
//! server's runtime drives that I/O and the tasks that the work spawns. So no other request ever depends on a
//! thread of the pool. The number of started tasks is bounded, because each holds its object in memory. The
//! `queue` selects the next task. A task waits until a thread is free, for half of the remaining time of its
//! request. It is rejected only if the queue is full or this wait is over.

use std::future::{Future, poll_fn};
use std::io;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use apimachinery::status::Status;
use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Page, Stability, Summary};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, timeout_at};

mod queue;

use queue::Queue;

/// A write runs in the CPU pool above this size in bytes of body and stored object. Below it, all steps of a
/// write take less than about a millisecond.
pub const POOL_WRITE_BYTES_MIN: usize = 32 << 10;

/// A read of one object runs in the CPU pool above this number of stored bytes. Most responses are made from
/// stored bytes without a tree, at a tenth of the cost of a write. YAML and compression take longer.
pub(crate) const POOL_READ_BYTES_MIN: usize = 256 << 10;

/// Maximum number of started tasks per thread: one computes, the others wait for the store.
const STARTED_PER_THREAD: usize = 4;

/// Stack size of a thread in bytes, the same as for runtime threads. Decoders recurse, to a bound.
const STACK_BYTES: usize = 8 << 20;

const REQUESTS: Family<Gauge, 1> = Family::gauge(
    Stability::Internal,
    "mainstay_heavy_requests",
    "Requests of the CPU pool, by state: running or waiting.",
    ["state"],
);
const REJECTED: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "mainstay_heavy_requests_refused_total",
    "Heavy requests refused because too many waited, or because they waited too long.",
    [],
);
const WAITED: Family<Summary, 0> = Family::summary(
    Stability::Internal,
    "mainstay_heavy_wait_seconds",
    "How long heavy requests waited for their turn.",
    [],
);

/// Maximum wait for the start of work, if the request has no earlier deadline.
const START_WAIT_MAX: Duration = Duration::from_secs(30);

/// Rejection of work: no thread or memory is free, or the wait for it has ended (timeout, full queue, or disconnected client).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overloaded;

/// Request for a start in the pool.
#[derive(Debug, Clone, Copy)]
pub struct StartRequest<'u> {
    /// Name of the user, for fair turns.
    pub user: &'u str,
    /// Bytes that the request retains while it waits.
    pub retained_bytes: u64,
    /// End of the wait.
    pub start_by: Instant,
}

/// Latest start of the work of a request: half of the time to its deadline, so that the other half remains
/// for the work. The wait is at most [`START_WAIT_MAX`].
pub fn latest_start(deadline: Option<std::time::Instant>) -> Instant {
    let now = Instant::now();
    let remaining = deadline.map(|deadline| Instant::from_std(deadline).saturating_duration_since(now));
    now + remaining.map_or(START_WAIT_MAX, |remaining| (remaining / 2).min(START_WAIT_MAX))
}

impl From<Overloaded> for Box<Status> {
    fn from(_: Overloaded) -> Self {
        Status::too_many_requests("Too many requests, please try again later.", 1).into()
    }
}

/// The threads and their queue. Cheap to clone; the threads stop when the last clone is dropped.
#[derive(Clone)]
pub struct CpuPool(Arc<Shared>);

struct Shared {
    /// `Some` until this is dropped.
    threads: Option<Runtime>,
    /// Runtime that drives the I/O of the tasks.
    runtime: Handle,
    queue: Arc<Queue>,
    rejected: AtomicU64,
    waits: AtomicU64,
    waited_nanoseconds: AtomicU64,
}

impl CpuPool {
    /// Starts the threads. Each calls `begin` first, which may lower its priority. `runtime` drives the I/O
    /// of the tasks.
    ///
    /// # Errors
    /// The system cannot start more threads.
    pub fn start(
        threads: NonZeroUsize,
        runtime: &Handle,
        begin: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let begun_max = threads.get().saturating_mul(STARTED_PER_THREAD);
        let threads = Builder::new_multi_thread()
            .worker_threads(threads.get())
            .thread_name("heavy")
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(begin)
            .build()?;
        Ok(CpuPool(Arc::new(Shared {
            threads: Some(threads),
            runtime: runtime.clone(),
            queue: Arc::new(Queue::new(begun_max)),
            rejected: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited_nanoseconds: AtomicU64::new(0),
        })))
    }

    /// Checks if a task of this user can start or wait, so that a request is rejected before its body is read.
    ///
    /// # Errors
    /// [`Overloaded`]: the queue of this user or the whole queue is full.
    pub fn check_room(&self, user: &str, retained_bytes: u64) -> Result<(), Overloaded> {
        if self.0.queue.has_room(user, retained_bytes) {
            return Ok(());
        }
        self.0.rejected.fetch_add(1, Relaxed);
        Err(Overloaded)
    }

    /// Runs a task for a user on a thread of the pool. Dropping the future removes a waiting task from the
    /// queue; a started task is completed. A task must not wait for another task of the pool. A panic of the
    /// task is propagated.
    ///
    /// # Errors
    /// [`Overloaded`]: the queue of this user or the whole queue is full, or the wait is over.
    pub async fn run<T: Send + 'static>(
        &self,
        start: StartRequest<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Overloaded> {
        let shared = &*self.0;
        let Ok(mut place) = shared.queue.enqueue(start.user, start.retained_bytes) else {
            shared.rejected.fetch_add(1, Relaxed);
            return Err(Overloaded);
        };
        let since = Instant::now();
        let started = timeout_at(start.start_by, place.wait_for_start()).await;
        shared.waited(since);
        if started.is_err() {
            shared.rejected.fetch_add(1, Relaxed);
            return Err(Overloaded);
        }
        let runtime = shared.runtime.clone();
        let task = async move {
            let outcome = run_in_runtime(runtime, work).await;
            drop(place);
            outcome
        };
        let task = shared.threads.as_ref().map(|threads| threads.spawn(task)).ok_or(Overloaded)?;
        match task.await {
            Ok(outcome) => Ok(outcome),
            Err(error) => error.try_into_panic().map_or(Err(Overloaded), |panic| resume_unwind(panic)),
        }
    }

    /// Returns the number of running and waiting requests.
    fn current(&self) -> (usize, usize) {
        self.0.queue.current()
    }

    /// Registers the pool's metrics.
    pub fn register_metrics(&self, registry: &MetricsRegistry) {
        let pool = self.clone();
        registry.collect(&[&REQUESTS, &REJECTED, &WAITED], move |page| pool.write_metrics(page));
    }

    fn write_metrics(&self, page: &mut Page<'_>) {
        let (running, waiting) = self.current();
        let Shared { rejected, waits, waited_nanoseconds, .. } = &*self.0;
        let mut samples = page.family(&REQUESTS);
        samples.add(["running"], running);
        samples.add(["waiting"], waiting);
        drop(samples);
        page.family(&REJECTED).add([], rejected.load(Relaxed));
        let sum = std::time::Duration::from_nanos(waited_nanoseconds.load(Relaxed)).as_secs_f64();
        page.family(&WAITED).add([], Summary { sum, count: waits.load(Relaxed) });
    }
}

impl Shared {
    fn waited(&self, since: Instant) {
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waits.fetch_add(1, Relaxed);
        self.waited_nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Dropping a runtime blocks until its tasks end, which is not allowed in a task.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// Polls `work` in the context of the server's runtime.
async fn run_in_runtime<T>(runtime: Handle, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let _entered = runtime.enter();
        work.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests;
