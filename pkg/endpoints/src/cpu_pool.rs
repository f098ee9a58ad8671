//! Threads for heavy requests: those that keep a processor busy for longer than others should have to wait.
//!
//! The runtime's own threads serve everybody, so nothing on them may take more than some milliseconds
//! without giving way. Decoding, defaulting, validating and encoding an object do not give way. How long
//! they take follows from how many bytes there are to look at, and that is known before they begin: above
//! [`HEAVY_WRITE_BYTES`] or [`HEAVY_READ_BYTES`] the work is done here, first come, first served.
//!
//! The threads are a runtime of their own: while one piece of work waits for the store or a webhook, others go on. What
//! it waits for is driven by the server's runtime all the same, and tasks that it spawns run there too, so that
//! nobody else ever depends on a thread of the pool. How much may have begun at once is bounded, for each piece
//! has its object in memory; who begins next is the `queue`'s to say.

use std::future::{Future, poll_fn};
use std::io;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use apimachinery::status::Status;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::Instant;

mod queue;

use queue::Queue;

/// Above so many bytes, of its body and of the object that it changes, a write is heavy. Below, all steps of
/// one together take less than about a millisecond.
pub const HEAVY_WRITE_BYTES: usize = 32 << 10;

/// Above so many stored bytes a read of one object is heavy. Most answers are made from stored bytes without a
/// tree in between, which is a tenth of the work of a write; YAML and compression take longer.
pub(crate) const HEAVY_READ_BYTES: usize = 256 << 10;

/// So many pieces of work, for each thread, may have begun: one computes, the others wait for the store.
const BEGUN_PER_THREAD: usize = 4;

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

/// The threads and their queue. Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct CpuPool(Arc<Shared>);

struct Shared {
    /// There until this is dropped.
    threads: Option<Runtime>,
    /// Drives what the work waits for.
    runtime: Handle,
    queue: Arc<Queue>,
    refused: AtomicU64,
    waits: AtomicU64,
    waited_nanoseconds: AtomicU64,
}

impl CpuPool {
    /// Starts the threads. Each calls `begin` first, which may lower its priority. `runtime` drives what the
    /// work waits for.
    ///
    /// # Errors
    /// The system's, when it gives no more threads.
    pub fn start(
        threads: NonZeroUsize,
        runtime: &Handle,
        begin: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let begun_max = threads.get().saturating_mul(BEGUN_PER_THREAD);
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
            refused: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited_nanoseconds: AtomicU64::new(0),
        })))
    }

    /// Does some work for a user on a thread of the pool. Whoever gives up while they wait leave the queue; work that
    /// has begun is finished all the same. Work must not wait for other work of the pool. If it panics, so does
    /// this.
    ///
    /// # Errors
    /// [`Full`]: as much waits as may, of this user or of all.
    pub async fn run<T: Send + 'static>(
        &self,
        user: &str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Full> {
        let shared = &*self.0;
        let Ok(mut place) = shared.queue.enter(user) else {
            shared.refused.fetch_add(1, Relaxed);
            return Err(Full);
        };
        let since = Instant::now();
        place.turn().await;
        shared.waited(since);
        let runtime = shared.runtime.clone();
        let task = async move {
            let outcome = within(runtime, work).await;
            drop(place);
            outcome
        };
        let task = shared.threads.as_ref().map(|threads| threads.spawn(task)).ok_or(Full)?;
        match task.await {
            Ok(outcome) => Ok(outcome),
            Err(error) => error.try_into_panic().map_or(Err(Full), |panic| resume_unwind(panic)),
        }
    }

    /// How many requests have begun and how many wait, now.
    fn current(&self) -> (usize, usize) {
        self.0.queue.current()
    }

    /// Appends the pool's metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let (running, waiting) = self.current();
        let Shared { refused, waits, waited_nanoseconds, .. } = &*self.0;
        let seconds = std::time::Duration::from_nanos(waited_nanoseconds.load(Relaxed)).as_secs_f64();
        let (refused, waits) = (refused.load(Relaxed), waits.load(Relaxed));
        for line in [
            "# HELP mainstay_heavy_requests Heavy requests, by whether they have begun or wait for their turn."
                .to_owned(),
            "# TYPE mainstay_heavy_requests gauge".to_owned(),
            format!("mainstay_heavy_requests{{state=\"running\"}} {running}"),
            format!("mainstay_heavy_requests{{state=\"waiting\"}} {waiting}"),
            "# HELP mainstay_heavy_requests_refused_total Heavy requests refused because too many waited."
                .to_owned(),
            "# TYPE mainstay_heavy_requests_refused_total counter".to_owned(),
            format!("mainstay_heavy_requests_refused_total {refused}"),
            "# HELP mainstay_heavy_wait_seconds How long heavy requests waited for their turn.".to_owned(),
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

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever drops a runtime otherwise waits for it, which no task may.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// Work that finds the server's runtime around it wherever it is polled.
async fn within<T>(runtime: Handle, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let _entered = runtime.enter();
        work.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests;
