//! Periodic background tasks. They run until shutdown.

mod metrics;

use crate::error::Error;
use std::sync::Arc;
use std::time::Duration;

use component_base::metrics::MetricsRegistry;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use metrics::QueueMetrics;
use metrics::WorkQueueMetrics;

/// Timeout of one round. The store's own timeouts are shorter; this one limits their sum.
const ROUND_MAX: Duration = Duration::from_secs(60);
/// Delay after the first failure. It doubles with each further failure, up to the period.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// Delay after the start for work that no request needs yet.
const DEFERRED_DELAY: Duration = Duration::from_millis(250);

/// Background tasks. Cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    ready: CancellationToken,
    metrics: Arc<WorkQueueMetrics>,
}

impl Tasks {
    /// Creates an empty set. Tasks end after `stop`, but never within a round.
    pub fn new(stop: CancellationToken, metrics: &MetricsRegistry) -> Self {
        let metrics = Arc::new(WorkQueueMetrics::new(metrics));
        Tasks { tracker: TaskTracker::new(), stop, ready: CancellationToken::new(), metrics }
    }

    /// Signals that every start hook has finished.
    pub fn server_is_ready(&self) {
        self.ready.cancel();
    }

    /// Completes some time after every start hook has finished. Deferred work starts then, so that it does
    /// not slow down the first requests.
    pub fn deferred(&self) -> impl Future<Output = ()> + Send + use<> {
        let ready = self.ready.clone();
        async move {
            ready.cancelled().await;
            sleep(DEFERRED_DELAY).await;
        }
    }

    /// Returns the metrics of a task by its name.
    pub fn metrics(&self, task: &str) -> Arc<QueueMetrics> {
        self.metrics.of(task)
    }

    /// True after the start of the shutdown.
    pub fn stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Repeats `round` in the background.
    pub fn spawn<R>(&self, rounds: Schedule, round: impl FnMut() -> R + Send + 'static)
    where
        R: Future<Output = Result<(), Error>> + Send,
    {
        let tasks = self.clone();
        self.tracker.spawn(async move { rounds.run(&tasks, round).await });
    }

    /// Waits up to `max` until all tasks have ended. Rounds in progress are finished.
    pub async fn finish(&self, max: Duration) {
        self.stop.cancel();
        self.tracker.close();
        if timeout(max, self.tracker.wait()).await.is_err() {
            tracing::warn!("background work did not end in time");
        }
    }

    /// Sleeps. Returns false if the server is shutting down.
    async fn pause(&self, pause: Duration) -> bool {
        self.stop.run_until_cancelled(sleep(pause)).await.is_some()
    }
}

/// Time of the first round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRound {
    /// Immediately.
    Now,
    /// After one period.
    AfterPeriod,
    /// As soon as the server is ready.
    WhenReady,
}

/// Schedule of a periodic task.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Name for the log.
    pub name: &'static str,
    /// Interval between rounds.
    pub period: Duration,
    /// Maximum additional delay as a multiple of the period.
    pub jitter: f64,
    /// Time of the first round.
    pub first: FirstRound,
}

impl Schedule {
    /// Repeats `round` until shutdown. Failures are retried earlier. Only the first failure in a row and the
    /// recovery are logged.
    async fn run<R>(&self, tasks: &Tasks, mut round: impl FnMut() -> R)
    where
        R: Future<Output = Result<(), Error>>,
    {
        let goes_on = match self.first {
            FirstRound::Now => !tasks.stopping(),
            FirstRound::AfterPeriod => tasks.pause(self.pause(0)).await,
            FirstRound::WhenReady => tasks.stop.run_until_cancelled(tasks.ready.cancelled()).await.is_some(),
        };
        if !goes_on {
            return;
        }
        let metrics = tasks.metrics.of(self.name);
        let mut failures = 0_u32;
        let mut due = Instant::now();
        loop {
            let outcome = metrics.observed(due, failures > 0, timeout(ROUND_MAX, round())).await;
            match outcome.unwrap_or(Err(Error::Timeout(ROUND_MAX))) {
                Ok(()) if failures > 0 => {
                    tracing::info!(what = self.name, failures, "works again");
                    failures = 0;
                }
                Ok(()) => {}
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(what = self.name, reason = %error, "failed, will be tried again");
                    }
                    failures = failures.saturating_add(1);
                }
            }
            let pause = self.pause(failures);
            due = Instant::now() + pause;
            if !tasks.pause(pause).await {
                return;
            }
        }
    }

    fn pause(&self, failures: u32) -> Duration {
        let jittered = self.period.mul_f64(1.0 + self.jitter * rand::random_range(0.0..1.0));
        match failures.checked_sub(1) {
            None => jittered,
            Some(doublings) => RETRY_FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(jittered),
        }
    }
}

/// Limits of the retries at start.
#[derive(Debug, Clone, Copy)]
pub struct RetryLimits {
    /// Delay between attempts.
    pub pause: Duration,
    /// Maximum duration of all attempts.
    pub max: Duration,
}

/// Retries `round` until it succeeds, with a delay of `pause`, for at most `max`. Only the first failure is
/// logged.
///
/// # Errors
/// The last error after `max`.
pub async fn until_done<R>(
    task: &'static str,
    limits: RetryLimits,
    mut round: impl FnMut() -> R,
) -> Result<(), Error>
where
    R: Future<Output = Result<(), Error>>,
{
    let RetryLimits { pause, max } = limits;
    let mut last = None;
    let attempts = async {
        while let Err(error) = round().await {
            if last.is_none() {
                tracing::warn!(what = task, reason = %error, "failed, will be tried again");
            }
            last = Some(error);
            sleep(pause).await;
        }
    };
    let done = timeout(max, attempts).await;
    done.map_err(|_| last.unwrap_or(Error::Timeout(max)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    const PERIOD: Duration = Duration::from_secs(10);

    /// Returns the times of rounds in seconds, with failures in rounds `failing`. The shutdown is after one
    /// minute.
    async fn seconds_of_rounds(first: FirstRound, failing: std::ops::Range<u32>) -> Vec<u64> {
        let registry = MetricsRegistry::default();
        let tasks = Tasks::new(CancellationToken::new(), &registry);
        let failures = failing.len();
        let rounds = Arc::new(std::sync::Mutex::new(Vec::new()));
        let begin = Instant::now();
        let times = Arc::clone(&rounds);
        let count = AtomicU32::new(0);
        tasks.spawn(Schedule { name: "a test", period: PERIOD, jitter: 0.0, first }, move || {
            times.lock().unwrap().push(begin.elapsed().as_secs());
            let fails = failing.contains(&count.fetch_add(1, Relaxed));
            async move { if fails { Err(Error::Missing("no")) } else { Ok(()) } }
        });
        sleep(Duration::from_secs(15)).await;
        tasks.server_is_ready();
        sleep(Duration::from_secs(19)).await;
        tasks.finish(PERIOD).await;
        assert_eq!(begin.elapsed().as_secs(), 34, "nothing had to be waited for");
        let rounds = std::mem::take(&mut *rounds.lock().unwrap());
        let retries = failures.min(rounds.len() - 1);
        let page = registry.to_string();
        for line in [
            format!("workqueue_adds_total{{name=\"a_test\"}} {}\n", rounds.len()),
            format!("workqueue_retries_total{{name=\"a_test\"}} {retries}\n"),
            format!("workqueue_work_duration_seconds_count{{name=\"a_test\"}} {}\n", rounds.len()),
            "workqueue_unfinished_work_seconds{name=\"a_test\"} 0\n".to_owned(),
        ] {
            assert!(page.contains(&line), "{line} in {page}");
        }
        rounds
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_repeat_until_shutdown() {
        assert_eq!(seconds_of_rounds(FirstRound::Now, 0..0).await, [0, 10, 20, 30]);
        assert_eq!(seconds_of_rounds(FirstRound::AfterPeriod, 0..0).await, [10, 20, 30]);
        assert_eq!(seconds_of_rounds(FirstRound::WhenReady, 0..0).await, [15, 25]);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_rounds_are_retried_with_backoff() {
        assert_eq!(seconds_of_rounds(FirstRound::Now, 0..1).await, [0, 1, 11, 21, 31]);
        assert_eq!(seconds_of_rounds(FirstRound::Now, 0..9).await, [0, 1, 3, 7, 15, 25]);
    }

    #[tokio::test(start_paused = true)]
    async fn start_retries_until_deadline() {
        let check = async |failing: u32, expected: Result<(), &str>| {
            let count = AtomicU32::new(0);
            let limits = RetryLimits { pause: Duration::from_secs(1), max: Duration::from_secs(30) };
            let done = until_done("test", limits, || {
                let fails = count.fetch_add(1, Relaxed) < failing;
                async move { if fails { Err(Error::Missing("no")) } else { Ok(()) } }
            });
            assert_eq!(done.await.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        };
        check(0, Ok(())).await;
        check(29, Ok(())).await;
        check(99, Err("no")).await;
    }
}
