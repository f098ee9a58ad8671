//! Latencies of the steps of one request, for the audit of slow requests (apiserver
//! `endpoints/request/webhook_duration.go`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Measured step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Authentication of the user.
    Authentication,
    /// Check of impersonation, only for requests with another effective user.
    Impersonation,
    /// Waiting for a seat.
    Queue,
    /// Authorization. The longest of several checks counts.
    Authorization,
    /// Mutating webhooks, which run one after the other.
    MutatingWebhook,
    /// Validating webhooks, which run in parallel. The longest call counts.
    ValidatingWebhook,
    /// Calls of the store.
    Storage,
}

impl Step {
    /// All steps, in order of declaration.
    const ALL: [Step; 7] = [
        Step::Authentication,
        Step::Impersonation,
        Step::Queue,
        Step::Authorization,
        Step::MutatingWebhook,
        Step::ValidatingWebhook,
        Step::Storage,
    ];

    /// True if the durations of a step overlap: the longest one counts. Otherwise the sum counts.
    fn is_at_once(self) -> bool {
        matches!(self, Step::Queue | Step::Authorization | Step::ValidatingWebhook)
    }
}

/// Latency of each step.
#[derive(Debug, Default)]
pub struct Latencies([AtomicU64; Step::ALL.len()]);

impl Latencies {
    /// Records the duration of a step, which may occur several times.
    pub fn record(&self, step: Step, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Some((_, so_far)) = Step::ALL.iter().zip(&self.0).find(|(entry, _)| **entry == step) else {
            return;
        };
        if step.is_at_once() {
            so_far.fetch_max(nanos, Relaxed);
        } else {
            so_far.fetch_add(nanos, Relaxed);
        }
    }

    /// Returns the steps with a nonzero latency.
    pub fn all(&self) -> impl Iterator<Item = (Step, Duration)> {
        let times = self.0.iter().map(|nanos| Duration::from_nanos(nanos.load(Relaxed)));
        Step::ALL.into_iter().zip(times).filter(|(_, time)| !time.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_steps_count_once() {
        let latencies = Latencies::default();
        for nanos in [3, 5, 4] {
            latencies.record(Step::MutatingWebhook, Duration::from_nanos(nanos));
            latencies.record(Step::ValidatingWebhook, Duration::from_nanos(nanos));
        }
        let expected = [
            (Step::MutatingWebhook, Duration::from_nanos(12)),
            (Step::ValidatingWebhook, Duration::from_nanos(5)),
        ];
        assert_eq!(latencies.all().collect::<Vec<_>>(), expected);
    }
}
