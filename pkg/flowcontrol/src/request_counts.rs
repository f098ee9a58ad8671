//! Waiting and executing requests over all levels, split into reads and writes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::metrics::{Family, Histogram, Page, Stability, buckets};

use crate::ratio::Ratio;

/// Numbers of reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadWriteCounts {
    /// `get`, `list`, `watch`.
    pub reading: u64,
    /// All other verbs.
    pub mutating: u64,
}

/// Peak request counts within about the last second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Queued requests (`apiserver_current_inqueue_requests`). As upstream counts, a request that gets a seat
    /// at once was queued for no time.
    pub waiting: ReadWriteCounts,
    /// Executing requests (`apiserver_current_inflight_requests`).
    pub executing: ReadWriteCounts,
}

pub(crate) const READ_VS_WRITE: Family<Histogram, 2> = Family::histogram(
    Stability::Experimental,
    "apiserver_flowcontrol_read_vs_write_current_requests",
    "Observations, at the end of every nanosecond, of the number of requests (as a fraction of the relevant limit) waiting or in regular stage of execution",
    ["phase", "request_kind"],
    &buckets::READ_WRITE_RATIOS,
);

/// Length of a watermark window.
const WINDOW: Duration = Duration::from_secs(1);

/// Phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Executing,
}

/// Counts of one phase and kind.
struct RequestCounts {
    now: u64,
    /// Peaks of the current and the previous window.
    peaks: [u64; 2],
    ratio: Ratio,
}

struct Inner {
    /// Start of the current window.
    window: Duration,
    /// Waiting reads, waiting writes, executing reads, executing writes.
    counts: [RequestCounts; 4],
}

/// Counts of requests. The lock is held for a few additions.
pub(crate) struct RequestCounter(Mutex<Inner>);

fn index(phase: Phase, mutating: bool) -> usize {
    match phase {
        Phase::Waiting => usize::from(mutating),
        Phase::Executing => 2 + usize::from(mutating),
    }
}

impl RequestCounter {
    pub(crate) fn new(now: Duration) -> Self {
        let crowd =
            || RequestCounts { now: 0, peaks: [0; 2], ratio: Ratio::new(&buckets::READ_WRITE_RATIOS, now) };
        RequestCounter(Mutex::new(Inner { window: now, counts: std::array::from_fn(|_| crowd()) }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a request from one phase to another; `None` is outside.
    pub(crate) fn move_request(&self, mutating: bool, from: Option<Phase>, to: Option<Phase>, now: Duration) {
        let mut inner = self.lock();
        inner.rotate_window(now);
        for (phase, comes) in
            from.map(|phase| (phase, false)).into_iter().chain(to.map(|phase| (phase, true)))
        {
            let crowd = &mut inner.counts[index(phase, mutating)];
            crowd.now = if comes { crowd.now + 1 } else { crowd.now.saturating_sub(1) };
            crowd.peaks[0] = crowd.peaks[0].max(crowd.now);
            crowd.ratio.set(crowd.now as f64, now);
        }
    }

    /// Sets the maximum numbers of waiting and executing requests.
    pub(crate) fn set_limits(&self, waiting: u64, executing: u64, now: Duration) {
        for (at, crowd) in self.lock().counts.iter_mut().enumerate() {
            let limit = if at < index(Phase::Executing, false) { waiting } else { executing };
            crowd.ratio.set_denominator(limit as f64, now);
        }
    }

    pub(crate) fn watermarks(&self, now: Duration) -> Watermarks {
        let mut inner = self.lock();
        inner.rotate_window(now);
        let most = |phase, mutating| {
            inner.counts[index(phase, mutating)].peaks.into_iter().max().unwrap_or_default()
        };
        let of = |phase| ReadWriteCounts { reading: most(phase, false), mutating: most(phase, true) };
        Watermarks { waiting: of(Phase::Waiting), executing: of(Phase::Executing) }
    }

    pub(crate) fn write(&self, page: &mut Page<'_>, now: Duration) {
        let mut samples = page.family(&READ_VS_WRITE);
        let mut inner = self.lock();
        for (phase, label) in [(Phase::Executing, "executing"), (Phase::Waiting, "waiting")] {
            for (mutating, kind) in [(true, "mutating"), (false, "readOnly")] {
                let ratio = &mut inner.counts[index(phase, mutating)].ratio;
                ratio.advance(now);
                ratio.write([label, kind], &mut samples);
            }
        }
    }
}

impl Inner {
    /// Starts a new window if the current one has expired.
    fn rotate_window(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.window);
        if passed < WINDOW {
            return;
        }
        self.window = now;
        for crowd in &mut self.counts {
            // Nothing changed since. A window that ended long ago therefore had the current count.
            let last = if passed < 2 * WINDOW { crowd.peaks[0] } else { crowd.now };
            crowd.peaks = [crowd.now, last];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermark_lasts_one_to_two_seconds() {
        let at = Duration::from_millis;
        let kinds = RequestCounter::new(at(0));
        let executing = |now| kinds.watermarks(at(now)).executing;
        kinds.move_request(false, None, Some(Phase::Waiting), at(10));
        kinds.move_request(false, Some(Phase::Waiting), Some(Phase::Executing), at(20));
        kinds.move_request(false, None, Some(Phase::Executing), at(30));
        kinds.move_request(false, Some(Phase::Executing), None, at(40));
        assert_eq!(executing(500), ReadWriteCounts { reading: 2, mutating: 0 });
        assert_eq!(executing(1_500), ReadWriteCounts { reading: 2, mutating: 0 });
        assert_eq!(executing(2_600), ReadWriteCounts { reading: 1, mutating: 0 });
        assert_eq!(kinds.watermarks(at(2_700)).waiting, ReadWriteCounts::default());
    }
}
