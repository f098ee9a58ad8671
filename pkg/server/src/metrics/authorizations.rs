//! Authorization metrics under upstream's names (apiserver `endpoints/filters/authorization.go`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use authorization::{Authorized, Unauthorized};

use component_base::metrics::{Family, Histogram, Stability};

use super::authentications::BOUNDS;

const ATTEMPTS: Family = Family::counter(
    Stability::Alpha,
    "authorization_attempts_total",
    "Requests, by whether they were allowed, denied, nobody had an opinion, or it could not be found out.",
);
const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "authorization_duration_seconds",
    "How long it took to decide about requests, by what was decided, in seconds.",
);
const RESULTS: [&str; 4] = ["allowed", "denied", "error", "no-opinion"];

#[derive(Default)]
pub(crate) struct Authorizations {
    /// By result.
    attempts: [AtomicU64; 4],
    durations: [Histogram<15>; 4],
}

impl Authorizations {
    pub(crate) fn count(&self, outcome: &Result<Authorized, Unauthorized>, took: Duration) {
        let result = match outcome {
            Ok(_) => 0,
            Err(Unauthorized::Forbidden { denied: true, .. }) => 1,
            Err(Unauthorized::Failed(_)) => 2,
            Err(Unauthorized::Forbidden { denied: false, .. }) => 3,
        };
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let (Some(count), Some(times)) = (self.attempts.get(result), self.durations.get(result)) {
            count.fetch_add(1, Relaxed);
            times.observe(&BOUNDS, micros, micros);
        }
    }

    /// Appends the metric families.
    pub(super) fn write(&self, out: &mut String) {
        let mut samples = ATTEMPTS.write(out);
        for (result, count) in RESULTS.iter().zip(&self.attempts) {
            samples.counted(&[("result", result)], count);
        }
        let mut samples = SECONDS.write(out);
        for (result, times) in RESULTS.iter().zip(&self.durations) {
            samples.observed(&[("result", result)], times, &BOUNDS, 1e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::status::Status;

    use super::*;

    #[test]
    fn explicit_deny_differs_from_no_opinion() {
        let counted = Authorizations::default();
        let refused = |denied| {
            let status = Box::new(Status::bad_request(""));
            Err(Unauthorized::Forbidden { status, reason: String::new(), denied })
        };
        for outcome in
            [refused(true), refused(false), refused(false), Err(Unauthorized::Failed(String::new()))]
        {
            counted.count(&outcome, Duration::from_millis(1));
        }
        let mut page = String::new();
        counted.write(&mut page);
        for line in [
            "authorization_attempts_total{result=\"denied\"} 1\n",
            "authorization_attempts_total{result=\"error\"} 1\n",
            "authorization_attempts_total{result=\"no-opinion\"} 2\n",
            "authorization_duration_seconds_sum{result=\"no-opinion\"} 0.002\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
        assert!(!page.contains("allowed\""), "{page}");
    }
}
