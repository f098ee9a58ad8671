//! Profiles of this process as `go tool pprof` reads them (pprof's `profile.proto`, compressed).
//!
//! [`processor`] interrupts whoever runs, a hundred times in each second of processor time, and notes where it is.
//! [`heap`] asks the allocator, which notes every so many bytes who wants them. Both are names of functions and
//! addresses, nothing of what the process works on.

mod cpu;
mod heap;
mod profile;
mod symbols;

pub use cpu::{DURATION_MAX, processor};
pub use heap::{Heap, heap, watch_heap};

/// Why there is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Somebody else takes one of the same kind.
    Busy,
    /// What the machine or the allocator says.
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

/// Does what blocks on a thread where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}
