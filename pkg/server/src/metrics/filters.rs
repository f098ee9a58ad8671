//! Latency of the chain's steps under upstream's names (apiserver `endpoints/metrics`,
//! `endpoints/filterlatency`). Each step is measured until the next one starts.

use std::time::Duration;

use component_base::metrics::{Family, Histogram, Stability};
use tokio::time::Instant;

const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "apiserver_request_filter_duration_seconds",
    "How long a step of the chain took requests that passed it, waiting included, in seconds.",
);

/// Bucket bounds in microseconds.
const BOUNDS: [(&str, u64); 13] = [
    ("0.0001", 100),
    ("0.0003", 300),
    ("0.001", 1_000),
    ("0.003", 3_000),
    ("0.01", 10_000),
    ("0.03", 30_000),
    ("0.1", 100_000),
    ("0.3", 300_000),
    ("1", 1_000_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
    ("15", 15_000_000),
    ("30", 30_000_000),
];

/// Measured step of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    Audit,
    Authentication,
    Authorization,
    ConstrainedImpersonation,
    Impersonation,
    MaxInFlight,
    PriorityAndFairness,
}

impl Filter {
    /// All steps in order of declaration, with their labels.
    const ALL: [(Filter, &'static str); 7] = [
        (Filter::Audit, "audit"),
        (Filter::Authentication, "authentication"),
        (Filter::Authorization, "authorization"),
        (Filter::ConstrainedImpersonation, "constrainedimpersonation"),
        (Filter::Impersonation, "impersonation"),
        (Filter::MaxInFlight, "maxinflight"),
        (Filter::PriorityAndFairness, "priorityandfairness"),
    ];
}

/// Latency by step.
#[derive(Default)]
pub(crate) struct Filters([Histogram<13>; 7]);

impl Filters {
    /// Records a step that started at `since`. Returns the current time.
    pub(crate) fn passed(&self, filter: Filter, since: Instant) -> Instant {
        let now = Instant::now();
        self.took(filter, now.saturating_duration_since(since));
        now
    }

    /// Records the duration of a step.
    pub(crate) fn took(&self, filter: Filter, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(times) = self.0.get(filter as usize) {
            times.observe(&BOUNDS, micros, micros);
        }
    }

    /// Appends the metric family.
    pub(super) fn write(&self, out: &mut String) {
        let mut samples = SECONDS.write(out);
        for ((_, name), times) in Filter::ALL.iter().zip(&self.0) {
            samples.observed(&[("filter", name)], times, &BOUNDS, 1e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_by_name() {
        assert!(Filter::ALL.iter().enumerate().all(|(at, (filter, _))| *filter as usize == at));
        let filters = Filters::default();
        filters.took(Filter::MaxInFlight, Duration::from_millis(2));
        let mut page = String::new();
        filters.write(&mut page);
        let name = "apiserver_request_filter_duration_seconds";
        assert!(
            page.contains(&format!("{name}_bucket{{filter=\"maxinflight\",le=\"0.001\"}} 0\n")),
            "{page}"
        );
        assert!(page.contains(&format!("{name}_sum{{filter=\"maxinflight\"}} 0.002\n")), "{page}");
        assert_eq!(page.matches("_count").count(), 1, "{page}");
    }
}
