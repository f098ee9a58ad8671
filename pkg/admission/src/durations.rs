//! Admission latency histograms with upstream's names, labels and buckets (`pkg/admission/metrics`): per
//! plugin, and for each phase as a whole.
//!
//! All series exist from the start, so an observation is a few relaxed additions. A plugin is counted in both
//! phases of every operation that it handles, even if it does nothing in one of them. Upstream leaves out
//! such a phase.

use std::sync::Arc;
use std::time::Instant;

use component_base::metrics::{Family, Histogram, Metric, MetricsRegistry, Page, Stability, buckets};

use crate::{Now, Operation};

const PLUGINS: Family<Histogram, 4> = Family::histogram(
    Stability::Stable,
    "apiserver_admission_controller_admission_duration_seconds",
    "Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).",
    ["name", "operation", "rejected", "type"],
    &buckets::ADMISSION_SECONDS,
);
const STEPS: Family<Histogram, 3> = Family::histogram(
    Stability::Stable,
    "apiserver_admission_step_admission_duration_seconds",
    "Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).",
    ["operation", "rejected", "type"],
    &buckets::ADMISSION_SECONDS,
);
const OPERATIONS: [Operation; 4] =
    [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
/// Values of upstream's `type` label.
const PHASES: [&str; 2] = ["admit", "validate"];
const REJECTED: [&str; 2] = ["false", "true"];

/// Phase of the chain: mutating or validating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Admit,
    Validate,
}

/// Histograms by phase, operation and rejection.
type Series = [[[Histogram; 2]; 4]; 2];

fn series() -> Series {
    let create = |_| Histogram::new(&buckets::ADMISSION_SECONDS);
    std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(create)))
}

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
        let plugins = names.map(|name| (name, series())).collect();
        Durations { now, plugins, steps: series() }
    }

    /// Starts the timer for one phase of a request.
    pub(crate) fn begin(&self, phase: Phase, operation: Operation) -> StepTimer<'_> {
        let now = (self.now)();
        StepTimer { durations: self, phase, operation, started: now, last: now }
    }

    /// Registers the histograms.
    pub fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let durations = Arc::clone(self);
        registry.collect(&[&PLUGINS, &STEPS], move |page| durations.write(page));
        let durations = Arc::clone(self);
        registry.on_reset(move || durations.reset());
    }

    fn reset(&self) {
        let plugins = self.plugins.iter().map(|(_, series)| series);
        plugins.chain([&self.steps]).for_each(|series| for_each(series, |_, times| times.reset()));
    }

    fn write(&self, page: &mut Page<'_>) {
        let mut samples = page.family(&PLUGINS);
        for (name, series) in &self.plugins {
            for_each(series, |[operation, rejected, phase], times| {
                samples.write_used([name, operation, rejected, phase], times);
            });
        }
        drop(samples);
        let mut samples = page.family(&STEPS);
        for_each(&self.steps, |labels, times| samples.write_used(labels, times));
    }
}

/// Visits all series with the values of `operation`, `rejected` and `type`.
fn for_each(series: &Series, mut visit: impl FnMut([&'static str; 3], &Histogram)) {
    for (phase, series) in PHASES.iter().zip(series) {
        for (operation, series) in OPERATIONS.iter().zip(series) {
            for (rejected, times) in REJECTED.iter().zip(series) {
                visit([operation.name(), rejected, phase], times);
            }
        }
    }
}

/// Timer for one phase of a request.
pub(crate) struct StepTimer<'d> {
    durations: &'d Durations,
    phase: Phase,
    operation: Operation,
    started: Instant,
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
        self.count(&self.durations.steps, self.started, self.last, refused);
    }

    fn count(&self, series: &Series, from: Instant, to: Instant, refused: bool) {
        let duration = to.saturating_duration_since(from);
        let place = OPERATIONS.iter().position(|&operation| operation == self.operation);
        let of_phase = series.get(self.phase as usize);
        let times = of_phase.zip(place).and_then(|(series, at)| series.get(at)?.get(usize::from(refused)));
        times.inspect(|times| times.observe_duration(duration));
    }
}
