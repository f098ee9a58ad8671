//! Admission latency histograms with upstream's names, labels and buckets (`pkg/admission/metrics`): per
//! plugin, and for each phase as a whole.
//!
//! All series exist from the start, so an observation is a few relaxed additions. A plugin is counted in both
//! phases of every operation that it handles, even if it does nothing in one of them. Upstream leaves out
//! such a phase.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use component_base::metrics::Histogram;

use crate::{Now, Operation};

const PLUGINS: &str = "apiserver_admission_controller_admission_duration_seconds";
const STEPS: &str = "apiserver_admission_step_admission_duration_seconds";

/// Upper bounds in microseconds.
const BOUNDS: [(&str, u64); 6] = [
    ("0.005", 5_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
];
const OPERATIONS: [Operation; 4] =
    [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
/// Values of upstream's `type` label.
const PHASES: [&str; 2] = ["admit", "validate"];
const REJECTED: [&str; 2] = ["false", "true"];

/// Phase of the chain: mutating or validating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Edit,
    Judge,
}

/// Histograms by phase, operation and rejection.
type Series = [[[Histogram<6>; 2]; 4]; 2];

/// Latency histograms of a chain.
pub struct Durations {
    now: Arc<Now>,
    /// In the order of the chain.
    plugins: Vec<(&'static str, Series)>,
    steps: Series,
}

impl Durations {
    /// Creates empty histograms for plugins with these names.
    pub(crate) fn new(names: impl Iterator<Item = &'static str>, now: Arc<Now>) -> Self {
        let plugins = names.map(|name| (name, Series::default())).collect();
        Durations { now, plugins, steps: Series::default() }
    }

    /// Starts the timer for one phase of a request.
    pub(crate) fn begin(&self, phase: Phase, operation: Operation) -> StepTimer<'_> {
        let now = (self.now)();
        StepTimer { durations: self, phase, operation, began: now, last: now }
    }

    /// Appends the histograms in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let help = "Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).";
        _ = writeln!(out, "# HELP {PLUGINS} [STABLE] {help}\n# TYPE {PLUGINS} histogram");
        for (name, series) in &self.plugins {
            write(series, out, PLUGINS, &format!("name=\"{name}\","));
        }
        let help = "Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).";
        _ = writeln!(out, "# HELP {STEPS} [STABLE] {help}\n# TYPE {STEPS} histogram");
        write(&self.steps, out, STEPS, "");
    }
}

/// Writes all non-empty series.
fn write(series: &Series, out: &mut String, name: &str, labels: &str) {
    for (phase, series) in PHASES.iter().zip(series) {
        for (operation, series) in OPERATIONS.iter().zip(series) {
            for (rejected, times) in REJECTED.iter().zip(series).filter(|(_, times)| !times.is_empty()) {
                let operation = operation.name();
                let labels =
                    format!("{labels}operation=\"{operation}\",rejected=\"{rejected}\",type=\"{phase}\"");
                times.write(out, name, &labels, 0, &BOUNDS, 1e6);
            }
        }
    }
}

/// Timer for one phase of a request.
pub(crate) struct StepTimer<'d> {
    durations: &'d Durations,
    phase: Phase,
    operation: Operation,
    began: Instant,
    /// Time at which the previous plugin finished.
    last: Instant,
}

impl StepTimer<'_> {
    /// Records that the plugin at position `at` has finished.
    pub(crate) fn plugin(&mut self, at: usize, refused: bool) {
        let now = (self.durations.now)();
        if let Some((_, series)) = self.durations.plugins.get(at) {
            self.count(series, self.last, now, refused);
        }
        self.last = now;
    }

    /// Records the end of the phase.
    pub(crate) fn end(self, refused: bool) {
        self.count(&self.durations.steps, self.began, self.last, refused);
    }

    fn count(&self, series: &Series, from: Instant, to: Instant, refused: bool) {
        let took = u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX);
        let place = OPERATIONS.iter().position(|&operation| operation == self.operation);
        let of_phase = series.get(self.phase as usize);
        let times = of_phase.zip(place).and_then(|(series, at)| series.get(at)?.get(usize::from(refused)));
        times.inspect(|times| times.observe(&BOUNDS, took, took));
    }
}
