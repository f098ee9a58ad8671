//! How long the steps of one request take, for whoever records requests that took long (apiserver
//! `endpoints/request/webhook_duration.go`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A step that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To find out who sends the request.
    Authentication,
    /// Whether they may do it in somebody else's name.
    Impersonation,
    /// To wait for a seat.
    Queue,
    /// Whether they may.
    Authorization,
    /// Webhooks that change objects, one after the other.
    MutatingWebhook,
    /// Webhooks that judge, all at once.
    ValidatingWebhook,
    /// Calls of the store.
    Storage,
}

impl Step {
    /// All, in the order of their declaration.
    const ALL: [Step; 7] = [
        Step::Authentication,
        Step::Impersonation,
        Step::Queue,
        Step::Authorization,
        Step::MutatingWebhook,
        Step::ValidatingWebhook,
        Step::Storage,
    ];

    /// Whether of several times the longest counts; of others the sum does.
    fn is_at_once(self) -> bool {
        matches!(self, Step::Queue | Step::Authorization | Step::ValidatingWebhook)
    }
}

/// How long each step has taken.
#[derive(Debug, Default)]
pub struct Latencies([AtomicU64; Step::ALL.len()]);

impl Latencies {
    /// A step took so long, perhaps once more.
    pub fn took(&self, step: Step, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Some((_, so_far)) = Step::ALL.iter().zip(&self.0).find(|(known, _)| **known == step) else {
            return;
        };
        if step.is_at_once() {
            so_far.fetch_max(nanos, Relaxed);
        } else {
            so_far.fetch_add(nanos, Relaxed);
        }
    }

    /// What has taken any time.
    pub fn all(&self) -> impl Iterator<Item = (Step, Duration)> {
        let times = self.0.iter().map(|nanos| Duration::from_nanos(nanos.load(Relaxed)));
        Step::ALL.into_iter().zip(times).filter(|(_, time)| !time.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_at_once_counts_once() {
        let latencies = Latencies::default();
        for nanos in [3, 5, 4] {
            latencies.took(Step::MutatingWebhook, Duration::from_nanos(nanos));
            latencies.took(Step::ValidatingWebhook, Duration::from_nanos(nanos));
        }
        let expected = [
            (Step::MutatingWebhook, Duration::from_nanos(12)),
            (Step::ValidatingWebhook, Duration::from_nanos(5)),
        ];
        assert_eq!(latencies.all().collect::<Vec<_>>(), expected);
    }
}
