//! Work that goes on beside requests: rounds of something, now and then, until the server is told to stop.

mod figures;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use figures::{Figures, RoundFigures};

/// The longest that one round may take. The store's own deadlines are shorter; this one guards against a
/// sum of them.
const ROUND_MAX: Duration = Duration::from_secs(60);
/// The pause after a first failed round. It doubles with every further one, up to the period.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// How long after a start what nobody has asked for is put off.
const LATER: Duration = Duration::from_millis(250);

/// What runs in the background. Cloning shares it.
#[derive(Clone)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    ready: CancellationToken,
    figures: Arc<RoundFigures>,
}

impl Tasks {
    /// Nothing yet. Rounds end with `stop`, but not in the middle of one.
    pub fn new(stop: CancellationToken) -> Self {
        Tasks { tracker: TaskTracker::new(), stop, ready: CancellationToken::new(), figures: Arc::default() }
    }

    /// Every start hook has finished.
    pub fn server_is_ready(&self) {
        self.ready.cancel();
    }

    /// Done some time after every start hook has finished: when to begin with what nobody has asked for, so that it does not
    /// keep the processor from those who ask first.
    pub fn later(&self) -> impl Future<Output = ()> + Send + use<> {
        let ready = self.ready.clone();
        async move {
            ready.cancelled().await;
            sleep(LATER).await;
        }
    }

    /// How rounds go.
    pub fn figures(&self) -> Arc<RoundFigures> {
        Arc::clone(&self.figures)
    }

    /// Whether the server was told to stop.
    pub fn stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Repeats `round` in the background.
    pub fn spawn<R>(&self, rounds: Rounds, round: impl FnMut() -> R + Send + 'static)
    where
        R: Future<Output = Result<(), String>> + Send,
    {
        let tasks = self.clone();
        self.tracker.spawn(async move { rounds.run(&tasks, round).await });
    }

    /// Waits until nothing runs any more, but no longer than `max`. Rounds under way are finished.
    pub async fn finish(&self, max: Duration) {
        self.stop.cancel();
        self.tracker.close();
        if timeout(max, self.tracker.wait()).await.is_err() {
            tracing::warn!("background work did not end in time");
        }
    }

    /// Waits, and says whether the server still runs.
    async fn pause(&self, pause: Duration) -> bool {
        self.stop.run_until_cancelled(sleep(pause)).await.is_some()
    }
}

/// When the first of several rounds is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// At once.
    Now,
    /// After a pause.
    Later,
    /// As soon as the server is ready.
    WhenReady,
}

/// Something that is done again and again.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// What the log calls it.
    pub what: &'static str,
    /// The pause between two rounds.
    pub period: Duration,
    /// By how much a pause may be longer, in multiples of the period.
    pub jitter: f64,
    /// When it begins.
    pub first: First,
}

impl Rounds {
    /// Repeats `round` until the server is told to stop. What fails is tried again sooner; the log hears of
    /// the first failure in a row and of the end of them.
    async fn run<R>(&self, tasks: &Tasks, mut round: impl FnMut() -> R)
    where
        R: Future<Output = Result<(), String>>,
    {
        let goes_on = match self.first {
            First::Now => !tasks.stopping(),
            First::Later => tasks.pause(self.pause(0)).await,
            First::WhenReady => tasks.stop.run_until_cancelled(tasks.ready.cancelled()).await.is_some(),
        };
        if !goes_on {
            return;
        }
        let figures = tasks.figures.of(self.what);
        let (mut failures, mut due) = (0_u32, Instant::now());
        loop {
            let outcome = figures.observed(due, failures > 0, timeout(ROUND_MAX, round())).await;
            match outcome.unwrap_or_else(|_| Err(format!("not done after {ROUND_MAX:?}"))) {
                Ok(()) if failures > 0 => {
                    tracing::info!(what = self.what, failures, "works again");
                    failures = 0;
                }
                Ok(()) => {}
                Err(reason) => {
                    if failures == 0 {
                        tracing::warn!(what = self.what, reason, "failed, will be tried again");
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

/// Tries `round` until it succeeds, with a pause of `pause` in between, for `max` at most. The log hears of
/// the first failure.
///
/// # Errors
/// The last failure, when the time is up.
pub async fn until_done<R>(
    what: &'static str,
    (pause, max): (Duration, Duration),
    mut round: impl FnMut() -> R,
) -> Result<(), String>
where
    R: Future<Output = Result<(), String>>,
{
    let mut last = None;
    let attempts = async {
        while let Err(reason) = round().await {
            if last.is_none() {
                tracing::warn!(what, reason, "failed, will be tried again");
            }
            last = Some(reason);
            sleep(pause).await;
        }
    };
    let done = timeout(max, attempts).await;
    done.map_err(|_| last.unwrap_or_else(|| format!("not done after {max:?}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use server::metrics::Collector;

    use super::*;

    const PERIOD: Duration = Duration::from_secs(10);

    /// When rounds happen, in seconds, of which `failing` fail; the server is told to stop after a minute.
    async fn seconds_of_rounds(first: First, failing: std::ops::Range<u32>) -> Vec<u64> {
        let tasks = Tasks::new(CancellationToken::new());
        let failures = failing.len();
        let (seen, begin) = (Arc::new(std::sync::Mutex::new(Vec::new())), Instant::now());
        let (times, count) = (Arc::clone(&seen), AtomicU32::new(0));
        tasks.spawn(Rounds { what: "a test", period: PERIOD, jitter: 0.0, first }, move || {
            times.lock().unwrap().push(begin.elapsed().as_secs());
            let fails = failing.contains(&count.fetch_add(1, Relaxed));
            async move { if fails { Err("no".to_owned()) } else { Ok(()) } }
        });
        sleep(Duration::from_secs(15)).await;
        tasks.server_is_ready();
        sleep(Duration::from_secs(19)).await;
        tasks.finish(PERIOD).await;
        assert_eq!(begin.elapsed().as_secs(), 34, "nothing had to be waited for");
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let (mut page, retries) = (String::new(), failures.min(seen.len() - 1));
        tasks.figures().collect(&mut page);
        for line in [
            format!("workqueue_adds_total{{name=\"a_test\"}} {}\n", seen.len()),
            format!("workqueue_retries_total{{name=\"a_test\"}} {retries}\n"),
            format!("workqueue_work_duration_seconds_count{{name=\"a_test\"}} {}\n", seen.len()),
            "workqueue_unfinished_work_seconds{name=\"a_test\"} 0\n".to_owned(),
        ] {
            assert!(page.contains(&line), "{line} in {page}");
        }
        seen
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_come_with_the_period_and_end_with_the_server() {
        assert_eq!(seconds_of_rounds(First::Now, 0..0).await, [0, 10, 20, 30]);
        assert_eq!(seconds_of_rounds(First::Later, 0..0).await, [10, 20, 30]);
        assert_eq!(seconds_of_rounds(First::WhenReady, 0..0).await, [15, 25]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_sooner_and_then_less_and_less_often() {
        assert_eq!(seconds_of_rounds(First::Now, 0..1).await, [0, 1, 11, 21, 31]);
        assert_eq!(seconds_of_rounds(First::Now, 0..9).await, [0, 1, 3, 7, 15, 25]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_waits_for_success_but_not_for_ever() {
        let check = async |failing: u32, expected: Result<(), &str>| {
            let count = AtomicU32::new(0);
            let limits = (Duration::from_secs(1), Duration::from_secs(30));
            let done = until_done("test", limits, || {
                let fails = count.fetch_add(1, Relaxed) < failing;
                async move { if fails { Err("no".to_owned()) } else { Ok(()) } }
            });
            assert_eq!(done.await, expected.map_err(str::to_owned));
        };
        check(0, Ok(())).await;
        check(29, Ok(())).await;
        check(99, Err("no")).await;
    }
}
