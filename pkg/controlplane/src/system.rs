//! Access to the system: clock and random numbers.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, thread};

use admission::Environment;
use apimachinery::time::UnixTime;
use async_trait::async_trait;
use component_base::clock::Clock;
use endpoints::cpu_pool::CpuPool;
use registry::Entropy;
use rustix::process::setpriority_process;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is where the clock that everyone is given comes from")]
    fn now(&self) -> UnixTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }
}

/// Returns the system clock as a trait object.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// The thread-local random number generator, seeded by the system.
pub(crate) struct SystemEntropy;

#[allow(
    clippy::disallowed_methods,
    reason = "this is where the randomness that everyone is given comes from"
)]
impl Entropy for SystemEntropy {
    fn uid(&self) -> String {
        uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string()
    }

    fn number(&self) -> u32 {
        rand::random()
    }
}

/// Returns a random UUID (version 4).
pub(crate) fn uid() -> String {
    SystemEntropy.uid()
}

/// Returns the host name; empty if there is none.
pub(crate) fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    text.trim().to_owned()
}

/// Niceness of the CPU pool's threads relative to others (`nice(2)`). Under contention they get about a tenth
/// of a CPU.
const CPU_POOL_NICENESS: i32 = 10;

/// Starts the CPU pool with half as many threads as CPUs, and at least one.
///
/// # Errors
/// The system cannot create more threads.
pub(crate) fn start_cpu_pool() -> io::Result<CpuPool> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = NonZeroUsize::new(processors / 2).unwrap_or(NonZeroUsize::MIN);
    CpuPool::start(threads, &Handle::current(), || {
        // On Linux this sets the priority of the calling thread only. If the system refuses, priorities stay
        // equal, which is acceptable.
        let _ = setpriority_process(None, CPU_POOL_NICENESS);
    })
}

/// Runs long or blocking work and releases the async worker meanwhile, so that unrelated requests do not
/// wait.
pub(crate) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// System randomness and delays for admission.
pub(crate) struct SystemTimers;

#[async_trait]
impl Environment for SystemTimers {
    fn random_number(&self) -> u32 {
        SystemEntropy.number()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
