//! Duration metrics of CEL expressions in custom resources, with upstream's names and buckets
//! (`apiserver/pkg/cel/metrics`).
//!
//! Upstream observes each schema node that has rules. Here all rules of a version are compiled together, and
//! one walk evaluates all of them for an object. So there is one observation per compilation and per
//! evaluation.

use std::fmt::{self, Debug};
use std::time::Duration;

use component_base::metrics::{Family, Histogram, MetricsRegistry, Stability, buckets};

const COMPILATION: Family<Histogram, 0> = Family::histogram(
    Stability::Beta,
    "apiserver_cel_compilation_duration_seconds",
    "CEL compilation time in seconds.",
    [],
    &buckets::DEFAULT_SECONDS,
);
const EVALUATION: Family<Histogram, 0> = Family::histogram(
    Stability::Beta,
    "apiserver_cel_evaluation_duration_seconds",
    "CEL evaluation time in seconds.",
    [],
    &buckets::DEFAULT_SECONDS,
);

/// Returns the time since some fixed moment. Injected, so that this code stays pure.
type Elapsed = Box<dyn Fn() -> Duration + Send + Sync>;

/// Durations of rule compilations and evaluations.
pub struct CelMetrics {
    elapsed: Elapsed,
    compilations: Histogram,
    evaluations: Histogram,
}

impl CelMetrics {
    /// Creates empty metrics. `elapsed` returns the time since a fixed moment and must be monotonic.
    pub fn new(registry: &MetricsRegistry, elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        CelMetrics {
            elapsed: Box::new(elapsed),
            compilations: registry.register(&COMPILATION),
            evaluations: registry.register(&EVALUATION),
        }
    }

    pub(crate) fn compiling<T>(&self, compile: impl FnOnce() -> T) -> T {
        self.measured(&self.compilations, compile)
    }

    pub(crate) fn evaluating<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.measured(&self.evaluations, evaluate)
    }

    fn measured<T>(&self, times: &Histogram, work: impl FnOnce() -> T) -> T {
        let start = (self.elapsed)();
        let done = work();
        times.observe_duration((self.elapsed)().saturating_sub(start));
        done
    }
}

impl Debug for CelMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CelMetrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn durations_are_observed() {
        let ticks = AtomicU64::new(0);
        // Each clock reading advances the clock by 20 ms.
        let registry = MetricsRegistry::default();
        let times =
            CelMetrics::new(&registry, move || Duration::from_millis(20 * ticks.fetch_add(1, Relaxed)));
        assert_eq!(times.compiling(|| 7), 7);
        assert_eq!(times.evaluating(|| 8), 8);
        times.evaluating(|| ());
        let page = registry.to_string();
        for line in [
            "apiserver_cel_compilation_duration_seconds_bucket{le=\"0.01\"} 0\n",
            "apiserver_cel_compilation_duration_seconds_bucket{le=\"0.025\"} 1\n",
            "apiserver_cel_evaluation_duration_seconds_sum 0.04\n",
            "apiserver_cel_evaluation_duration_seconds_count 2\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
