//! Profiles of this process for `go tool pprof` (pprof's `profile.proto`, compressed).
//!
//! [`processor`] samples stacks at 100 Hz of CPU time. [`heap`] reads the allocator's samples, one per period
//! of allocated bytes. Both contain names of functions and addresses, and no data that the process works on.

mod cpu;
mod flame;
mod heap;
mod profile;
mod symbols;

pub use cpu::{DURATION_MAX, flame_graph, processor};
pub use heap::{Heap, heap, watch_heap};

/// Error of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Another profile of the same kind is running.
    Busy,
    /// Error of the operating system or of the allocator.
    Failed(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Busy => f.write_str("cpu profiling already in use"),
            Error::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Runs blocking work on the blocking thread pool.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}
