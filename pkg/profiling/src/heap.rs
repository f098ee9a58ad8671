//! Heap profiles from jemalloc.

use std::time::Duration;

use jemalloc_pprof::{PROF_CTL, StackProfile};

use crate::profile::{Kind, Samples};
use crate::{Error, blocking, failed};

/// A sampled profile of live memory. The allocator's configuration at start sets the sampling period in
/// bytes.
pub struct Heap(Samples);

impl Heap {
    /// The profile for `go tool pprof`.
    ///
    /// # Errors
    /// The process cannot read its own executable.
    pub fn encoded(&self) -> Result<Vec<u8>, Error> {
        self.0.encoded(Duration::ZERO)
    }

    /// The profile as readable text: stacks with their bytes, largest first.
    ///
    /// # Errors
    /// The process cannot read its own executable.
    pub fn text(&self) -> Result<String, Error> {
        self.0.text()
    }
}

/// Starts the sampling of allocations. Has no effect if the allocator was built without profiling.
///
/// # Errors
/// The allocator's error.
pub fn watch_heap() -> Result<(), Error> {
    let Some(control) = PROF_CTL.as_ref() else { return Ok(()) };
    // The lock is free: this is called before the process serves requests.
    let mut control = control.try_lock().map_err(|_| Error::Busy)?;
    control.activate().map_err(failed)
}

/// Returns the memory that is live now and was allocated after [`watch_heap`].
///
/// # Errors
/// The allocator was built without profiling, or cannot write its file.
pub async fn heap() -> Result<Heap, Error> {
    let control = PROF_CTL.as_ref().ok_or_else(|| failed("the allocator was built without profiles"))?;
    let mut control = control.lock().await;
    blocking(move || {
        let profile: StackProfile = control.dump_profile().map_err(failed)?;
        let mut samples = Samples::of(Kind::Heap { period_bytes: 1 << control.lg_sample().min(62) });
        for (stack, _) in profile.iter() {
            // jemalloc lists the outermost frame first and stores return addresses, one after the call.
            let addresses = stack.addrs.iter().rev().map(|address| (*address as u64).saturating_sub(1));
            samples.add(addresses, stack.weight as i64);
        }
        Ok(Heap(samples))
    })
    .await
}
