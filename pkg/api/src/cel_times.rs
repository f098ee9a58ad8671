//! How long the expressions of custom resources take, with upstream's names and buckets (`apiserver/pkg/cel/metrics`).
//!
//! Upstream observes each node of a schema that has rules; here all rules of a version are compiled at once, and all
//! of them judge an object in one walk, so there is one observation of each.

use std::fmt::{self, Debug, Write};
use std::time::Duration;

use component_base::metrics::Histogram;

/// Upper bounds in microseconds.
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

/// Tells the time since some moment. Pure code is given it.
type Elapsed = Box<dyn Fn() -> Duration + Send + Sync>;

/// How long rules took to compile and to judge.
pub struct CelMetrics {
    elapsed: Elapsed,
    compilations: Histogram<11>,
    evaluations: Histogram<11>,
}

impl CelMetrics {
    /// Nothing yet. `elapsed` tells the time since any moment, and never less than before.
    pub fn new(elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        CelMetrics {
            elapsed: Box::new(elapsed),
            compilations: Histogram::default(),
            evaluations: Histogram::default(),
        }
    }

    /// Measures a compilation.
    pub(crate) fn compiling<T>(&self, compile: impl FnOnce() -> T) -> T {
        self.measured(&self.compilations, compile)
    }

    /// Measures an evaluation.
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

    /// Appends them to a page of metrics.
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
    fn what_takes_time_is_observed() {
        let ticks = AtomicU64::new(0);
        // Each look at the clock is 20 ms later.
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
