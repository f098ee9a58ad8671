//! Latency of the chain's steps under upstream's names (apiserver `endpoints/metrics`,
//! `endpoints/filterlatency`). Each step is measured until the next one starts.

use std::time::Duration;

use component_base::metrics::{Family, Histogram, MetricsRegistry, Stability, buckets};
use tokio::time::Instant;

const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "apiserver_request_filter_duration_seconds",
    "Request filter latency distribution in seconds, for each filter type",
    ["filter"],
    &buckets::FILTER_SECONDS,
);

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
pub(crate) struct Filters([Histogram; 7]);

impl Filters {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        let durations = registry.register_vec(&SECONDS);
        Filters(Filter::ALL.map(|(_, name)| durations.with([name])))
    }

    /// Records a step that started at `since`. Returns the current time.
    pub(crate) fn observe_since(&self, filter: Filter, since: Instant) -> Instant {
        let now = Instant::now();
        self.observe(filter, now.saturating_duration_since(since));
        now
    }

    /// Records the duration of a step.
    pub(crate) fn observe(&self, filter: Filter, duration: Duration) {
        if let Some(times) = self.0.get(filter as usize) {
            times.observe_duration(duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_by_name() {
        assert!(Filter::ALL.iter().enumerate().all(|(at, (filter, _))| *filter as usize == at));
        let registry = MetricsRegistry::default();
        let filters = Filters::new(&registry);
        filters.observe(Filter::MaxInFlight, Duration::from_millis(2));
        let page = registry.to_string();
        let name = "apiserver_request_filter_duration_seconds";
        assert!(
            page.contains(&format!("{name}_bucket{{filter=\"maxinflight\",le=\"0.001\"}} 0\n")),
            "{page}"
        );
        assert!(page.contains(&format!("{name}_sum{{filter=\"maxinflight\"}} 0.002\n")), "{page}");
        assert_eq!(page.matches("_count").count(), 1, "{page}");
    }
}
