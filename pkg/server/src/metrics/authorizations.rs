//! Authorization metrics under upstream's names (apiserver `endpoints/filters/authorization.go`).

use std::time::Duration;

use authorization::{Authorized, Unauthorized};

use component_base::metrics::{Counter, Family, Histogram, MetricsRegistry, Stability, buckets};

const ATTEMPTS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "authorization_attempts_total",
    "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.",
    ["result"],
);
const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "authorization_duration_seconds",
    "Authorization duration in seconds broken out by result.",
    ["result"],
    &buckets::MILLISECOND_DOUBLED_15,
);

const RESULTS: [&str; 4] = ["allowed", "denied", "error", "no-opinion"];

pub(crate) struct Authorizations {
    /// In the order of [`RESULTS`].
    attempts: [Counter; 4],
    durations: [Histogram; 4],
}

impl Authorizations {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        let attempts = registry.register_vec(&ATTEMPTS);
        let durations = registry.register_vec(&SECONDS);
        Authorizations {
            attempts: RESULTS.map(|result| attempts.with([result])),
            durations: RESULTS.map(|result| durations.with([result])),
        }
    }

    pub(crate) fn count(&self, outcome: &Result<Authorized, Unauthorized>, duration: Duration) {
        let result = match outcome {
            Ok(_) => 0,
            Err(Unauthorized::Forbidden { denied: true, .. }) => 1,
            Err(Unauthorized::Failed(_)) => 2,
            Err(Unauthorized::Forbidden { denied: false, .. }) => 3,
        };
        if let (Some(count), Some(times)) = (self.attempts.get(result), self.durations.get(result)) {
            count.increment();
            times.observe_duration(duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::status::Status;

    use super::*;

    #[test]
    fn explicit_deny_differs_from_no_opinion() {
        let registry = MetricsRegistry::default();
        let counted = Authorizations::new(&registry);
        let refused = |denied| {
            let status = Box::new(Status::bad_request(""));
            Err(Unauthorized::Forbidden { status, reason: String::new(), denied })
        };
        for outcome in
            [refused(true), refused(false), refused(false), Err(Unauthorized::Failed(String::new()))]
        {
            counted.count(&outcome, Duration::from_millis(1));
        }
        let page = registry.to_string();
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
