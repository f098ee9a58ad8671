//! Metrics of periodic tasks under the names of upstream's work queues (component-base
//! `metrics/prometheus/workqueue`), so that dashboards and alerts for controllers work.
//!
//! A due round is an added item, a round after a failure is a retry, and the delay of a round's start is its
//! queue time. Rounds of a task never queue, so the depth is 0, or 1 for an unobservable instant while a
//! round is late. For tasks with items, such as leader election, the worker reports the number of waiting
//! items.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use component_base::metrics::{
    Counter, CounterVec, Family, Gauge, GaugeVec, Histogram, HistogramVec, MetricsRegistry, Stability,
    buckets,
};
use tokio::time::Instant;

const ADDS: Family<Counter, 1> = Family::counter(
    Stability::Beta,
    "workqueue_adds_total",
    "Total number of adds handled by workqueue",
    ["name"],
);
const DEPTH: Family<Gauge, 1> =
    Family::gauge(Stability::Beta, "workqueue_depth", "Current depth of workqueue", ["name"]);
const LONGEST: Family<Gauge, 1> = Family::gauge(
    Stability::Beta,
    "workqueue_longest_running_processor_seconds",
    "How many seconds has the longest running processor for workqueue been running.",
    ["name"],
);
const RETRIES: Family<Counter, 1> = Family::counter(
    Stability::Beta,
    "workqueue_retries_total",
    "Total number of retries handled by workqueue",
    ["name"],
);
const UNFINISHED: Family<Gauge, 1> = Family::gauge(
    Stability::Beta,
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    ["name"],
);
const QUEUE_SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Beta,
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested.",
    ["name"],
    &buckets::WORK_QUEUE_SECONDS,
);
const WORK_SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Beta,
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes.",
    ["name"],
    &buckets::WORK_QUEUE_SECONDS,
);

type ByName = Mutex<BTreeMap<String, Arc<QueueMetrics>>>;

/// Metrics of all tasks, by name.
pub(super) struct WorkQueueMetrics {
    queues: Arc<ByName>,
    adds: CounterVec<1>,
    depth: GaugeVec<1>,
    retries: CounterVec<1>,
    queue_seconds: HistogramVec<1>,
    work_seconds: HistogramVec<1>,
}

pub struct QueueMetrics {
    adds: Counter,
    depth: Gauge,
    retries: Counter,
    queue_seconds: Histogram,
    work_seconds: Histogram,
    /// Start of the current round.
    running: Mutex<Option<Instant>>,
}

impl WorkQueueMetrics {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        let queues = Arc::<ByName>::default();
        let read = Arc::clone(&queues);
        registry.collect(&[&LONGEST, &UNFINISHED], move |page| {
            for family in [&LONGEST, &UNFINISHED] {
                let mut samples = page.family(family);
                for (name, metrics) in &*locked(&read) {
                    let seconds = metrics.running().map_or(0.0, |start| start.elapsed().as_secs_f64());
                    samples.add([name], seconds);
                }
            }
        });
        WorkQueueMetrics {
            queues,
            adds: registry.register_vec(&ADDS),
            depth: registry.register_vec(&DEPTH),
            retries: registry.register_vec(&RETRIES),
            queue_seconds: registry.register_vec(&QUEUE_SECONDS),
            work_seconds: registry.register_vec(&WORK_SECONDS),
        }
    }

    /// Returns the metrics of a task. As upstream's, they are on the page from now on.
    pub(super) fn of(&self, task: &str) -> Arc<QueueMetrics> {
        // Queue names contain no spaces.
        let name = task.replace(' ', "_");
        let create = |name: &str| QueueMetrics {
            adds: self.adds.with_zero([name]),
            depth: self.depth.with([name]),
            retries: self.retries.with_zero([name]),
            queue_seconds: self.queue_seconds.with_zero([name]),
            work_seconds: self.work_seconds.with_zero([name]),
            running: Mutex::default(),
        };
        let mut queues = locked(&self.queues);
        let existing = queues.get(&name).cloned();
        existing.unwrap_or_else(|| {
            let metrics = Arc::new(create(&name));
            queues.insert(name, Arc::clone(&metrics));
            metrics
        })
    }
}

impl QueueMetrics {
    /// Runs a round and records its delay and duration. `due` is the scheduled time; `retry` is true after a
    /// failure.
    pub async fn observed<T>(&self, due: Instant, retry: bool, round: impl Future<Output = T>) -> T {
        let start = Instant::now();
        self.adds.increment();
        self.retries.add(retry.into());
        self.queue_seconds.observe_duration(start.saturating_duration_since(due));
        *self.running() = Some(start);
        let done = round.await;
        *self.running() = None;
        self.work_seconds.observe_duration(start.elapsed());
        done
    }

    /// Sets the number of waiting items.
    pub fn waiting(&self, items: usize) {
        self.depth.set_count(items);
    }

    fn running(&self) -> MutexGuard<'_, Option<Instant>> {
        locked(&self.running)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
