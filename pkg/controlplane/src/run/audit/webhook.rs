//! Audit webhook backend (upstream's `plugin/pkg/audit/webhook`). It runs on its own thread, so that blocked
//! callers do not delay sending.

use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::audit::{AuditMetrics, Event, Sink, write_list};
use bytes::Bytes;
use client::Dialer;
use client::kubeconfig::Kubeconfig;
use client::webhook::Webhook;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::error::RunError;
use crate::system::{self, run_blocking};

/// Maximum concurrent calls in batch mode. Further batches wait.
const CALLS_MAX: usize = 64;
/// Maximum total size of their events in bytes.
const BYTES_MAX: usize = 256 * 1024 * 1024;

pub(super) struct WebhookSink {
    /// Bounded by the number of blocked callers plus [`CALLS_MAX`].
    jobs: Mutex<Option<UnboundedSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Number of concurrent calls in batch mode; `None` in blocking modes.
    in_flight: Option<Arc<InFlightCalls>>,
}

#[derive(Default)]
struct InFlightCalls {
    calls: Mutex<Calls>,
    calls_finished: Condvar,
}

#[derive(Default)]
struct Calls {
    count: usize,
    bytes: usize,
}

impl Calls {
    fn is_full(&self) -> bool {
        self.count >= CALLS_MAX || self.bytes >= BYTES_MAX
    }
}

/// A call and the receiver of its result.
struct Job {
    events: Vec<Event>,
    done: Completion,
}

enum Completion {
    Waits(SyncSender<bool>),
    Counts(Arc<InFlightCalls>),
}

impl WebhookSink {
    /// Creates the sink from a kubeconfig and an optional egress proxy. `initial_wait` is the initial retry
    /// back-off; `detached` is true in batch mode.
    ///
    /// # Errors
    /// The kubeconfig is invalid.
    pub(super) fn new(
        kubeconfig: &Path,
        dialer: Option<Dialer>,
        initial_wait: Duration,
        detached: bool,
        metrics: &Arc<AuditMetrics>,
        calls: &client::webhook::ClientMetrics,
    ) -> Result<Self, RunError> {
        let mut kubeconfig = Kubeconfig::read(kubeconfig, &system::clock())?;
        kubeconfig.options.dialer = dialer;
        let chance = Arc::new(|| rand::random_range(0.0..1.0));
        let webhook = Webhook::new(kubeconfig, initial_wait, chance)?;
        let webhook = webhook.with_metrics(calls);
        let (jobs, waiting) = unbounded_channel();
        let thread =
            start(webhook.retrying_all_failures(), waiting, Arc::clone(metrics)).map_err(RunError::System)?;
        let in_flight = detached.then(Arc::default);
        Ok(WebhookSink { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)), in_flight })
    }

    fn send(&self, events: &[Event], done: Completion) -> bool {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref().is_some_and(|jobs| jobs.send(Job { events: events.to_vec(), done }).is_ok())
    }
}

/// Starts the thread. It ends when the sender is dropped.
fn start(
    webhook: Webhook,
    mut jobs: UnboundedReceiver<Job>,
    metrics: Arc<AuditMetrics>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let work = async move {
        let mut calls = JoinSet::new();
        while let Some(job) = jobs.recv().await {
            while calls.try_join_next().is_some() {}
            calls.spawn(call(webhook.clone(), job, Arc::clone(&metrics)));
        }
        while calls.join_next().await.is_some() {}
    };
    std::thread::Builder::new().name("audit-webhook".to_owned()).spawn(move || runtime.block_on(work))
}

async fn call(webhook: Webhook, job: Job, metrics: Arc<AuditMetrics>) {
    let mut body = Vec::new();
    write_list(&job.events, &mut body);
    let outcome = webhook.call(Bytes::from(body), |_| {}).await;
    if let Err(failure) = &outcome {
        metrics.lost("webhook", failure, job.events.iter().map(Event::legacy));
    }
    match job.done {
        Completion::Waits(waiting) => _ = waiting.send(outcome.is_ok()),
        Completion::Counts(in_flight) => {
            let mut calls = in_flight.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.count = calls.count.saturating_sub(1);
            calls.bytes = calls.bytes.saturating_sub(weight(&job.events));
            in_flight.calls_finished.notify_one();
        }
    }
}

fn weight(events: &[Event]) -> usize {
    events.iter().map(Event::memory_bytes).fold(0, usize::saturating_add)
}

impl Sink for WebhookSink {
    fn process(&self, events: &[Event]) -> bool {
        let Some(in_flight) = &self.in_flight else {
            let (waits, done) = sync_channel(1);
            return self.send(events, Completion::Waits(waits))
                && run_blocking(|| done.recv().unwrap_or(false));
        };
        let calls = in_flight.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = in_flight.calls_finished.wait_while(calls, |calls| calls.is_full());
        let mut calls = calls.unwrap_or_else(PoisonError::into_inner);
        calls.count = calls.count.saturating_add(1);
        calls.bytes = calls.bytes.saturating_add(weight(events));
        drop(calls);
        self.send(events, Completion::Counts(Arc::clone(in_flight)))
    }

    fn finish(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that sends audit events has panicked");
        }
    }
}
