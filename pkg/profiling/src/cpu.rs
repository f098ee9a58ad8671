//! CPU profiles.

use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use pprof::{ProfilerGuard, ProfilerGuardBuilder};

use crate::profile::{Kind, Samples};
use crate::{Error, blocking, failed};

/// Sampling frequency, per second of CPU time; the same as Go's profiles.
const FREQUENCY_HZ: i32 = 100;

/// Maximum duration of a profile. It bounds the memory for samples: about 1.2 KB per stack, held until the
/// end. Signals come at most at the kernel's tick rate, 1,000 per second.
pub const DURATION_MAX: Duration = Duration::from_secs(120);

/// Samples the process for `duration`, at most [`DURATION_MAX`]. Stops early if the caller drops the future.
///
/// # Errors
/// [`Error::Busy`] while another profile runs, because a process has only one profiling timer.
pub async fn processor(duration: Duration) -> Result<Vec<u8>, Error> {
    sampled(duration, move |samples| samples.encoded(duration)).await
}

/// As [`processor`], but returns a flame graph: an SVG image without scripts.
///
/// # Errors
/// As [`processor`].
pub async fn flame_graph(duration: Duration) -> Result<String, Error> {
    sampled(duration, |samples| samples.flame_graph()).await
}

/// Samples the process and makes a profile of the samples.
async fn sampled<T: Send + 'static>(
    duration: Duration,
    profile: impl FnOnce(&Samples) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    warm_up()?;
    let sampling = sampling(FREQUENCY_HZ)?;
    tokio::time::sleep(duration.min(DURATION_MAX)).await;
    blocking(move || {
        let report = sampling.report().build_unresolved().map_err(failed)?;
        drop(sampling);
        let mut samples = Samples::of(Kind::Processor { frequency_hz: FREQUENCY_HZ });
        for (stack, count) in report.data {
            let addresses = stack.frames.iter().map(|frame| frame.ip as u64);
            samples.add(addresses, i64::try_from(count).unwrap_or(i64::MAX));
        }
        profile(&samples)
    })
    .await
}

/// Triggers the unwinder's initialization, which happens on the first signal. If the interrupted thread held
/// the allocator's lock then, it would deadlock. So this function raises the first signal itself, at a
/// frequency of 1 Hz.
fn warm_up() -> Result<(), Error> {
    let _sampling = sampling(1)?;
    raise(Signal::SIGPROF).map_err(failed)
}

fn sampling(frequency_hz: i32) -> Result<ProfilerGuard<'static>, Error> {
    ProfilerGuardBuilder::default().frequency(frequency_hz).build().map_err(|error| match error {
        pprof::Error::Running => Error::Busy,
        error => failed(error),
    })
}
