//! Duration metrics of CEL expressions in custom resources, with upstream's names and buckets
//! (`apiserver/pkg/cel/metrics`).
//!
//! Upstream observes each schema node that has rules. Here all rules of a version are compiled together, and
//! one walk evaluates all of them for an object. So there is one observation per compilation and per
//! evaluation.

use std::fmt::{self, Debug, Write};
use std::time::Duration;

use component_base::metrics::Histogram;

/// Upper bucket bounds in microseconds.
const BOUNDS: [(&str, u64); 11] = [
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
];

/// Returns the time since some fixed moment. Injected, so that this code stays pure.
type Elapsed = Box<dyn Fn() -> Duration + Send + Sync>;

/// Durations of rule compilations and evaluations.
pub struct CelMetrics {
    elapsed: Elapsed,
    compilations: Histogram<11>,
    evaluations: Histogram<11>,
}

impl CelMetrics {
    /// Creates empty metrics. `elapsed` returns the time since a fixed moment and must be monotonic.
    pub fn new(elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        CelMetrics {
            elapsed: Box::new(elapsed),
            compilations: Histogram::default(),
            evaluations: Histogram::default(),
        }
    }

    pub(crate) fn compiling<T>(&self, compile: impl FnOnce() -> T) -> T {
        self.measured(&self.compilations, compile)
    }

    pub(crate) fn evaluating<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.measured(&self.evaluations, evaluate)
    }

    fn measured<T>(&self, times: &Histogram<11>, work: impl FnOnce() -> T) -> T {
        let began = (self.elapsed)();
        let done = work();
        let took = (self.elapsed)().saturating_sub(began).as_micros();
        let took = u64::try_from(took).unwrap_or(u64::MAX);
        times.observe(&BOUNDS, took, took);
        done
    }

    /// Appends the metrics to a page.
    pub fn write(&self, out: &mut String) {
        for (name, help, times) in [
            (
                "apiserver_cel_compilation_duration_seconds",
                "CEL compilation time in seconds.",
                &self.compilations,
            ),
            (
                "apiserver_cel_evaluation_duration_seconds",
                "CEL evaluation time in seconds.",
                &self.evaluations,
            ),
        ] {
            let _ = writeln!(out, "# HELP {name} [BETA] {help}\n# TYPE {name} histogram");
            times.write(out, name, "", 0, &BOUNDS, 1e6);
        }
    }
}

impl Debug for CelMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CelTimes").finish_non_exhaustive()
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
        let times = CelMetrics::new(move || Duration::from_millis(20 * ticks.fetch_add(1, Relaxed)));
        assert_eq!(times.compiling(|| 7), 7);
        assert_eq!(times.evaluating(|| 8), 8);
        times.evaluating(|| ());
        let mut page = String::new();
        times.write(&mut page);
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
