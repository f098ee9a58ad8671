//! Ends all watches of a stopping server one after the other, so that their clients do not reconnect to the
//! other servers at the same time (upstream's `--shutdown-watch-termination-grace-period`).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Maximum pause between the ends of two watches, which means at least 200 per second (upstream's minimum).
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// Ends the watches of a server. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct WatchDrain(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    started: CancellationToken,
    watches: AtomicU32,
    /// Number of watches that have got the signal to end.
    signalled: AtomicU32,
    /// Pause between two ends.
    pause: OnceLock<Duration>,
}

impl WatchDrain {
    /// Starts to end the watches, all of them within `grace`.
    pub fn begin(&self, grace: Duration) {
        self.0.pause.get_or_init(|| pause(grace, self.watches()));
        self.0.started.cancel();
    }

    pub fn watches(&self) -> u32 {
        self.0.watches.load(Ordering::Relaxed)
    }

    /// Registers a watch. The future is ready when the watch must end.
    pub(crate) fn register_watch(&self) -> TerminationSignal {
        self.0.watches.fetch_add(1, Ordering::Relaxed);
        let termination = Box::pin(self.0.started.clone().cancelled_owned());
        TerminationSignal { termination, waiting: None, wait: None, shared: self.0.clone() }
    }
}

fn pause(grace: Duration, watches: u32) -> Duration {
    grace.checked_div(watches).unwrap_or_default().min(PAUSE_MAX)
}

/// Ready when the watch must end.
pub(crate) struct TerminationSignal {
    termination: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Waker registered with `begun`. The registration uses locks that all watches share, so the same waker
    /// is not registered twice.
    waiting: Option<Waker>,
    /// Created when the drain starts, to keep an idle watch small.
    wait: Option<Pin<Box<Sleep>>>,
    shared: Arc<Shared>,
}

impl Future for TerminationSignal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let wait = match &mut this.wait {
            Some(wait) => wait,
            None => {
                let waits = this.waiting.as_ref().is_some_and(|waiting| waiting.will_wake(cx.waker()));
                if waits && this.shared.pause.get().is_none() {
                    return Poll::Pending;
                }
                this.waiting = Some(cx.waker().clone());
                ready!(this.termination.as_mut().poll(cx));
                let position = this.shared.signalled.fetch_add(1, Ordering::Relaxed);
                let pause = this.shared.pause.get().copied().unwrap_or_default();
                let wait = pause.saturating_mul(position);
                if wait.is_zero() {
                    return Poll::Ready(());
                }
                this.wait.insert(Box::pin(sleep(wait)))
            }
        };
        wait.as_mut().poll(cx)
    }
}

impl Drop for TerminationSignal {
    fn drop(&mut self) {
        self.shared.watches.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::task::Wake;

    use futures::future::join_all;
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn at_least_200_watches_end_per_second() {
        let seconds = Duration::from_secs;
        assert_eq!(pause(seconds(60), 10), PAUSE_MAX);
        assert_eq!(pause(seconds(10), 2_000), PAUSE_MAX);
        assert_eq!(pause(seconds(10), 10_000), Duration::from_millis(1));
        assert_eq!(pause(Duration::ZERO, 10_000), Duration::ZERO);
        assert_eq!(pause(seconds(1), 0), Duration::ZERO);
    }

    #[test]
    fn last_waker_is_woken() {
        let drain = WatchDrain::default();
        let mut turn = drain.register_watch();
        let polled = [(); 2].map(|()| Arc::new(Flag::default()));
        for flag in [0, 0, 1, 1] {
            let waker = Waker::from(Arc::clone(&polled[flag]));
            assert!(Pin::new(&mut turn).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drain.begin(Duration::from_secs(1));
        assert!(polled[1].0.load(Ordering::Relaxed), "the last one is woken");
        assert!(Pin::new(&mut turn).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    #[derive(Default)]
    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn watches_end_in_sequence() {
        let drain = WatchDrain::default();
        let turns: Vec<TerminationSignal> = (0..100).map(|_| drain.register_watch()).collect();
        assert_eq!(drain.watches(), 100);
        drain.begin(Duration::from_secs(60));
        let start = Instant::now();
        let mut delays = join_all(turns.into_iter().map(async |turn| {
            turn.await;
            start.elapsed().as_millis()
        }))
        .await;
        delays.dedup();
        assert_eq!(delays, (0..100).map(|n| n * 5).collect::<Vec<u128>>());
        assert_eq!(drain.watches(), 0);
    }
}
