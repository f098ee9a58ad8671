//! Latencies of the steps of one request, for the log and the audit of slow requests (apiserver
//! `endpoints/request/webhook_duration.go`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Minimum duration of a call that [`Latencies`] names. Most requests have no such call, so they build no name.
const NAMED_CALL_MIN: Duration = Duration::from_millis(50);
/// Maximum length of a call's name in bytes. Clients control parts of some names.
const NAME_BYTES_MAX: usize = 256;

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

    /// Name of the step, as in upstream's audit annotations.
    pub fn name(self) -> &'static str {
        match self {
            Step::Authentication => "authentication",
            Step::Impersonation => "impersonation",
            Step::Queue => "apf-queue-wait",
            Step::Authorization => "authorization",
            Step::MutatingWebhook => "mutating-webhook",
            Step::ValidatingWebhook => "validating-webhook",
            Step::Storage => "etcd",
        }
    }

    /// True if the durations of a step overlap: the longest one counts. Otherwise the sum counts.
    fn is_at_once(self) -> bool {
        matches!(self, Step::Queue | Step::Authorization | Step::ValidatingWebhook)
    }
}

/// Call of a webhook or of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    /// Webhook, or operation and key.
    pub name: String,
    /// Duration.
    pub time: Duration,
}

/// Latency of each step, and the longest call.
#[derive(Debug, Default)]
pub struct Latencies {
    nanos: [AtomicU64; Step::ALL.len()],
    longest: Mutex<Option<NamedCall>>,
}

impl Latencies {
    fn longest_slot(&self) -> MutexGuard<'_, Option<NamedCall>> {
        self.longest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the duration of a call. Only a call that is long enough to explain a slow request is named.
    pub fn record_call(&self, time: Duration, name: impl FnOnce() -> String) {
        if time < NAMED_CALL_MIN {
            return;
        }
        let mut longest = self.longest_slot();
        if longest.as_ref().is_none_or(|call| call.time < time) {
            let mut name = name();
            name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
            *longest = Some(NamedCall { name, time });
        }
    }

    /// Returns the longest call; `None` if all were short.
    pub fn longest_call(&self) -> Option<NamedCall> {
        self.longest_slot().clone()
    }

    /// Records the duration of a step, which may occur several times.
    pub fn record(&self, step: Step, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Some((_, so_far)) = Step::ALL.iter().zip(&self.nanos).find(|(entry, _)| **entry == step) else {
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
        let times = self.nanos.iter().map(|nanos| Duration::from_nanos(nanos.load(Relaxed)));
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

    #[test]
    fn longest_call_is_named() {
        let latencies = Latencies::default();
        let record = |ms, name: &str| latencies.record_call(Duration::from_millis(ms), || name.to_owned());
        record(49, "short");
        assert_eq!(latencies.longest_call(), None);
        record(60, "a");
        record(900, "b");
        record(100, "c");
        let expected = NamedCall { name: "b".to_owned(), time: Duration::from_millis(900) };
        assert_eq!(latencies.longest_call(), Some(expected));
        record(1000, &"ä".repeat(200));
        assert_eq!(latencies.longest_call().map(|call| call.name.len()), Some(NAME_BYTES_MAX));
    }
}
