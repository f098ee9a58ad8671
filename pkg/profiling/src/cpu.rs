//! Where the processor's time goes.

use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use pprof::{ProfilerGuard, ProfilerGuardBuilder};

use crate::profile::{Kind, Samples};
use crate::{Error, blocking, failed};

/// How often who runs is interrupted, in times per second of processor time: as often as Go's profiles do.
const FREQUENCY_HZ: i32 = 100;

/// How long a profile may take at most: what has been seen is kept until its end, some 1.2 KB for each stack. Signals come no
/// more often than the kernel's clock ticks, 1,000 times a second at most.
pub const DURATION_MAX: Duration = Duration::from_secs(120);

/// What the process does for some time, at most [`DURATION_MAX`]. Ends early with the caller.
///
/// # Errors
/// [`Error::Busy`] while another one is taken, for a process has one timer.
pub async fn processor(duration: Duration) -> Result<Vec<u8>, Error> {
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
        samples.encoded(duration)
    })
    .await
}

/// The unwinder reads its tables when the first signal comes. That must not be while the thread that is interrupted holds
/// the allocator's lock: so the first one is sent from here, with the timer as good as still.
fn warm_up() -> Result<(), Error> {
    let _sampling = sampling(1)?;
    raise(Signal::SIGPROF).map_err(failed)
}

fn sampling(frequency_hz: i32) -> Result<ProfilerGuard<'static>, Error> {
    ProfilerGuardBuilder::default().frequency(frequency_hz).build().map_err(|error| match error {
        pprof::Error::Running => Error::Busy,
        other => failed(other),
    })
}
