//! The world outside: the machine's clock and its random numbers.

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

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is where the clock that everyone is given comes from")]
    fn now(&self) -> UnixTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }
}

/// The machine's clock, for whoever keeps one.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// The thread's generator, seeded by the system.
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

/// A new random identity (UUID version 4).
pub(crate) fn uid() -> String {
    SystemEntropy.uid()
}

/// The name of this machine; empty if it has none.
pub(crate) fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    text.trim().to_owned()
}

/// How much nicer the threads of heavy requests are than others (`nice(2)`): while both have work they get about
/// a tenth of a processor.
const HEAVY_NICENESS: i32 = 10;

/// Threads for heavy requests: half as many as there are processors, and at least one.
///
/// # Errors
/// The system's, when it gives no more threads.
pub(crate) fn heavy_pool() -> io::Result<CpuPool> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = NonZeroUsize::new(processors / 2).unwrap_or(NonZeroUsize::MIN);
    CpuPool::start(threads, &Handle::current(), || {
        // Linux knows priorities of threads, and of none more than of the calling one. A system that
        // refuses leaves them equal, which is fair too.
        let _ = setpriority_process(None, HEAVY_NICENESS);
    })
}

/// Does something that takes long or waits, and lets others have the thread meanwhile: it must not keep requests waiting
/// that have nothing to do with it.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// Randomness and waiting, for admission.
pub(crate) struct SystemOutside;

#[async_trait]
impl Environment for SystemOutside {
    fn number(&self) -> u32 {
        SystemEntropy.number()
    }

    async fn pause(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
