//! Metrics of periodic tasks under the names of upstream's work queues (component-base
//! `metrics/prometheus/workqueue`), so that dashboards and alerts for controllers work.
//!
//! A due round is an added item, a round after a failure is a retry, and the delay of a round's start is its
//! queue time. Rounds of a task never queue, so the depth is 0, or 1 for an unobservable instant while a
//! round is late. For tasks with items, such as leader election, the worker reports the number of waiting
//! items.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;
use server::metrics::Collector;
use tokio::time::Instant;

/// Upper bounds in nanoseconds.
const BOUNDS: [(&str, u64); 10] = [
    ("1e-08", 10),
    ("1e-07", 100),
    ("1e-06", 1_000),
    ("9.999999999999999e-06", 10_000),
    ("9.999999999999999e-05", 100_000),
    ("0.001", 1_000_000),
    ("0.01", 10_000_000),
    ("0.1", 100_000_000),
    ("1", 1_000_000_000),
    ("10", 10_000_000_000),
];

/// Metrics of all tasks, by name.
#[derive(Default)]
pub struct RoundFigures(Mutex<BTreeMap<&'static str, Arc<Figures>>>);

#[derive(Default)]
pub struct Figures {
    begun: AtomicU64,
    waiting: AtomicU64,
    retries: AtomicU64,
    late: Histogram<10>,
    work: Histogram<10>,
    /// Start of the current round.
    running: Mutex<Option<Instant>>,
}

impl RoundFigures {
    pub fn of(&self, what: &'static str) -> Arc<Figures> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(what).or_default())
    }
}

impl Figures {
    /// Runs a round and records its delay and duration. `due` is the scheduled time; `retry` is true after a
    /// failure.
    pub async fn observed<T>(&self, due: Instant, retry: bool, round: impl Future<Output = T>) -> T {
        let began = Instant::now();
        self.begun.fetch_add(1, Relaxed);
        self.retries.fetch_add(u64::from(retry), Relaxed);
        observe(&self.late, began.saturating_duration_since(due));
        *self.running() = Some(began);
        let done = round.await;
        *self.running() = None;
        observe(&self.work, began.elapsed());
        done
    }

    /// Sets the number of waiting items.
    pub fn waiting(&self, items: usize) {
        self.waiting.store(items as u64, Relaxed);
    }

    fn running(&self) -> MutexGuard<'_, Option<Instant>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn observe(times: &Histogram<10>, took: Duration) {
    let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    times.observe(&BOUNDS, nanos, nanos);
}

impl Collector for RoundFigures {
    fn collect(&self, out: &mut String) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = |figures: &Figures| {
            figures.running().map_or(0.0, |began| began.elapsed().as_secs_f64()).to_string()
        };
        let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Figures) -> String| {
            let _ = writeln!(out, "# HELP {name} [BETA] {help}\n# TYPE {name} {kind}");
            for (what, figures) in &all {
                let _ = writeln!(out, "{name}{{{}}} {}", label(what), value(figures));
            }
        };
        family("workqueue_adds_total", "counter", "Total number of adds handled by workqueue", &|of| {
            of.begun.load(Relaxed).to_string()
        });
        family("workqueue_depth", "gauge", "Current depth of workqueue", &|of| {
            of.waiting.load(Relaxed).to_string()
        });
        family(
            "workqueue_longest_running_processor_seconds",
            "gauge",
            "How many seconds has the longest running processor for workqueue been running.",
            &running,
        );
        family("workqueue_retries_total", "counter", "Total number of retries handled by workqueue", &|of| {
            of.retries.load(Relaxed).to_string()
        });
        family(
            "workqueue_unfinished_work_seconds",
            "gauge",
            "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
            &running,
        );
        let mut histogram = |name: &str, help: &str, times: &dyn Fn(&Figures) -> &Histogram<10>| {
            let _ = writeln!(out, "# HELP {name} [BETA] {help}\n# TYPE {name} histogram");
            for (what, figures) in &all {
                times(figures).write(out, name, &label(what), 0, &BOUNDS, 1e9);
            }
        };
        histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested.",
            &|of| &of.late,
        );
        histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            &|of| &of.work,
        );
    }
}

/// Builds the label. Queue names contain no spaces.
fn label(what: &str) -> String {
    format!("name=\"{}\"", what.replace(' ', "_"))
}
