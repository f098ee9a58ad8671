//! Threads for heavy requests: those that keep a processor busy for longer than others should have to wait.
//!
//! The runtime's own threads serve everybody, so nothing on them may take more than some milliseconds
//! without giving way. Decoding, defaulting, validating and encoding an object do not give way. How long
//! they take follows from how many bytes there are to look at, and that is known before they begin: above
//! [`HEAVY_WRITE_BYTES`] or [`HEAVY_READ_BYTES`] the work is done here, first come, first served.
//!
//! A thread of the pool runs one piece of work at a time. What that work waits for (the store, a timer) is still
//! driven by the server's runtime, and tasks that it spawns run there too, so that nobody else ever depends on a
//! thread of the pool.

use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use apimachinery::status::Status;
use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

/// Above so many bytes, of its body and of the object that it changes, a write is heavy. Below, all steps of
/// one together take less than about a millisecond.
pub const HEAVY_WRITE_BYTES: usize = 32 << 10;

/// Above so many stored bytes a read of one object is heavy. Most answers are made from stored bytes without a
/// tree in between, which is a tenth of the work of a write; YAML and compression take longer.
pub(crate) const HEAVY_READ_BYTES: usize = 256 << 10;

/// So many requests may wait for a thread. Each holds its body, so this bounds memory, to under 200 MiB.
const WAITING_MAX: usize = 64;

/// Room for a thread's stack, in bytes: that of the runtime's threads. Decoders recurse, to a bound.
const STACK_BYTES: usize = 8 << 20;

/// Work was not begun: as much waits already as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl From<Full> for Box<Status> {
    fn from(_: Full) -> Self {
        Status::too_many_requests("Too many requests, please try again later.", 1).into()
    }
}

/// A piece of work, for a thread that is given the runtime.
type Job = Box<dyn FnOnce(&Handle) + Send>;

/// The threads and their queue. Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct HeavyPool(Arc<Shared>);

struct Shared {
    jobs: mpsc::Sender<Job>,
    threads: usize,
    /// Held by whoever waits or runs.
    places: Arc<Semaphore>,
    /// Held by whoever runs. Waiters get it in the order of their arrival.
    turns: Arc<Semaphore>,
    refused: AtomicU64,
    waits: AtomicU64,
    waited_nanoseconds: AtomicU64,
}

impl HeavyPool {
    /// Starts the threads. Each calls `begin` first, which may lower its priority. `runtime` drives what the
    /// work waits for.
    ///
    /// # Errors
    /// The system's, when it gives no more threads.
    pub fn start(
        threads: NonZeroUsize,
        runtime: &Handle,
        begin: impl Fn() + Send + Clone + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads.get() {
            let (queue, runtime, begin) = (Arc::clone(&queue), runtime.clone(), begin.clone());
            thread::Builder::new().name("heavy".to_owned()).stack_size(STACK_BYTES).spawn(move || {
                begin();
                while let Some(job) = next(&queue) {
                    job(&runtime);
                }
            })?;
        }
        Ok(HeavyPool(Arc::new(Shared {
            jobs,
            threads: threads.get(),
            places: Arc::new(Semaphore::new(threads.get() + WAITING_MAX)),
            turns: Arc::new(Semaphore::new(threads.get())),
            refused: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited_nanoseconds: AtomicU64::new(0),
        })))
    }

    /// Does some work on a thread of the pool. Whoever gives up while they wait leave the queue; work that has
    /// begun is finished all the same. Work must not wait for other work of the pool. If it panics, so does
    /// this.
    ///
    /// # Errors
    /// [`Full`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Full> {
        let shared = &*self.0;
        let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
            shared.refused.fetch_add(1, Relaxed);
            return Err(Full);
        };
        let since = Instant::now();
        // Neither the semaphore nor the queue is ever closed, and no thread ends before its queue.
        let turn = Arc::clone(&shared.turns).acquire_owned().await.map_err(|_| Full)?;
        shared.waited(since);
        let (answer, answered) = oneshot::channel();
        let job = move |runtime: &Handle| {
            let outcome = runtime.block_on(AssertUnwindSafe(work).catch_unwind());
            drop((turn, place));
            // Nobody may be listening any more.
            let _ = answer.send(outcome);
        };
        shared.jobs.send(Box::new(job)).map_err(|_| Full)?;
        answered.await.map_err(|_| Full)?.or_else(|panic| resume_unwind(panic))
    }

    /// How many requests run and how many wait, now.
    fn current(&self) -> (usize, usize) {
        let Shared { threads, places, turns, .. } = &*self.0;
        let running = threads.saturating_sub(turns.available_permits());
        let held = (threads + WAITING_MAX).saturating_sub(places.available_permits());
        (running, held.saturating_sub(running))
    }

    /// Appends the pool's metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let (running, waiting) = self.current();
        let Shared { refused, waits, waited_nanoseconds, .. } = &*self.0;
        let seconds = std::time::Duration::from_nanos(waited_nanoseconds.load(Relaxed)).as_secs_f64();
        let (refused, waits) = (refused.load(Relaxed), waits.load(Relaxed));
        for line in [
            "# HELP mainstay_heavy_requests Heavy requests, by whether they run or wait for a thread."
                .to_owned(),
            "# TYPE mainstay_heavy_requests gauge".to_owned(),
            format!("mainstay_heavy_requests{{state=\"running\"}} {running}"),
            format!("mainstay_heavy_requests{{state=\"waiting\"}} {waiting}"),
            "# HELP mainstay_heavy_requests_refused_total Heavy requests refused because too many waited."
                .to_owned(),
            "# TYPE mainstay_heavy_requests_refused_total counter".to_owned(),
            format!("mainstay_heavy_requests_refused_total {refused}"),
            "# HELP mainstay_heavy_wait_seconds How long heavy requests waited for a thread.".to_owned(),
            "# TYPE mainstay_heavy_wait_seconds summary".to_owned(),
            format!("mainstay_heavy_wait_seconds_sum {seconds}"),
            format!("mainstay_heavy_wait_seconds_count {waits}"),
        ] {
            out.push_str(&line);
            out.push('\n');
        }
    }
}

impl Shared {
    fn waited(&self, since: Instant) {
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waits.fetch_add(1, Relaxed);
        self.waited_nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

/// The next piece of work; `None` when nobody can send any more.
fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests;
