//! Who keeps the memory.

use std::time::Duration;

use jemalloc_pprof::{PROF_CTL, StackProfile};

use crate::profile::{Kind, Samples};
use crate::{Error, blocking, failed};

/// A profile of the memory that is kept, sampled once in so many bytes as the allocator was told at its start.
pub struct Heap(Samples);

impl Heap {
    /// For `go tool pprof`.
    ///
    /// # Errors
    /// When the process cannot read its own program.
    pub fn encoded(&self) -> Result<Vec<u8>, Error> {
        self.0.encoded(Duration::ZERO)
    }

    /// For people: the stacks that keep most first, each with its bytes.
    ///
    /// # Errors
    /// When the process cannot read its own program.
    pub fn text(&self) -> Result<String, Error> {
        self.0.text()
    }
}

/// Has the allocator note who wants memory, from now on. Without effect in a program whose allocator cannot.
///
/// # Errors
/// What the allocator says.
pub fn watch_heap() -> Result<(), Error> {
    let Some(control) = PROF_CTL.as_ref() else { return Ok(()) };
    // Nobody else holds it yet: this is called before the process serves anyone.
    let mut control = control.try_lock().map_err(|_| Error::Busy)?;
    control.activate().map_err(failed)
}

/// The memory that is kept at this moment, as far as it was wanted since [`watch_heap`].
///
/// # Errors
/// When the allocator was not built for it, or cannot write its file.
pub async fn heap() -> Result<Heap, Error> {
    let control = PROF_CTL.as_ref().ok_or_else(|| failed("the allocator was built without profiles"))?;
    let mut control = control.lock().await;
    blocking(move || {
        let profile: StackProfile = control.dump_profile().map_err(failed)?;
        let mut samples = Samples::of(Kind::Heap { period_bytes: 1 << control.lg_sample().min(62) });
        for (stack, _) in profile.iter() {
            // Outermost first there; and what is noted is where a call returns to, one behind the call.
            let addresses = stack.addrs.iter().rev().map(|address| (*address as u64).saturating_sub(1));
            samples.add(addresses, stack.weight as i64);
        }
        Ok(Heap(samples))
    })
    .await
}
