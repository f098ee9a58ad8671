//! How long admission takes, with upstream's names, labels and buckets (`pkg/admission/metrics`): each plugin by
//! itself, and all of them for one phase.
//!
//! All series exist from the start, so that counting is a few relaxed additions. A plugin is counted in both phases
//! of whatever it has a say in, also where it does nothing in one of them; upstream leaves the phase out.

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
/// As upstream's label says them.
const PHASES: [&str; 2] = ["admit", "validate"];
const REJECTED: [&str; 2] = ["false", "true"];

/// What plugins do: edit, or judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Edit,
    Judge,
}

/// By phase, operation and whether it was refused.
type Series = [[[Histogram<6>; 2]; 4]; 2];

/// How long the plugins of a chain have taken.
pub struct Durations {
    now: Arc<Now>,
    /// In the chain's order.
    plugins: Vec<(&'static str, Series)>,
    steps: Series,
}

impl Durations {
    /// Of plugins with these names; nothing is counted yet.
    pub(crate) fn new(names: impl Iterator<Item = &'static str>, now: Arc<Now>) -> Self {
        let plugins = names.map(|name| (name, Series::default())).collect();
        Durations { now, plugins, steps: Series::default() }
    }

    /// Begins a phase of a request.
    pub(crate) fn begin(&self, phase: Phase, operation: Operation) -> StepTimer<'_> {
        let now = (self.now)();
        StepTimer { durations: self, phase, operation, began: now, last: now }
    }

    /// Appends them to a page of metrics.
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

/// The series that were counted.
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

/// A phase of a request, on its way through the plugins.
pub(crate) struct StepTimer<'d> {
    durations: &'d Durations,
    phase: Phase,
    operation: Operation,
    began: Instant,
    /// When the plugin before was through.
    last: Instant,
}

impl StepTimer<'_> {
    /// The plugin at this place of the chain is through.
    pub(crate) fn plugin(&mut self, at: usize, refused: bool) {
        let now = (self.durations.now)();
        if let Some((_, series)) = self.durations.plugins.get(at) {
            self.count(series, self.last, now, refused);
        }
        self.last = now;
    }

    /// The phase is over.
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
