//! When a connection has been idle, or slow to say what it wants, for too long.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A connection without requests is closed after this time, as upstream's.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// A client has this time to get a request's head across, and the same for the TLS handshake.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(32);

/// How long a client of a server that goes down may leave its answers unread without taking a byte.
/// Upstream waits for it as long as for a request.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// What has been happening on one connection. Updated by requests and reads without locks or timers;
/// one timer per connection looks at it now and then.
pub(crate) struct Activity {
    origin: Instant,
    /// Whether the first bytes of a request start the clock for its head (HTTP/1.1). On HTTP/2 any
    /// frame may come at any time, and a slow one only counts as idle.
    heads: bool,
    in_flight: AtomicUsize,
    /// Requests whose answers have not begun.
    pondered: AtomicUsize,
    /// Milliseconds since `origin`.
    written_at: AtomicU64,
    /// Milliseconds since `origin`.
    idle_since: AtomicU64,
    /// Milliseconds since `origin`, plus one; 0 when no head is under way.
    head_since: AtomicU64,
}

impl Activity {
    /// A connection that was just opened. Its first request's head is already due.
    pub(crate) fn new(heads: bool) -> Self {
        Activity {
            origin: Instant::now(),
            heads,
            in_flight: AtomicUsize::new(0),
            pondered: AtomicUsize::new(0),
            written_at: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
            head_since: AtomicU64::new(u64::from(heads)),
        }
    }

    /// Bytes arrived.
    pub(crate) fn read(&self) {
        if self.heads && self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) == 0 {
            self.head_since.store(self.elapsed() + 1, Relaxed);
        }
    }

    /// Bytes were taken off us.
    pub(crate) fn written(&self) {
        self.written_at.store(self.elapsed(), Relaxed);
    }

    /// Waits for the head of an answer, which is ours to make.
    pub(crate) async fn prepare_response<A>(&self, answer: impl Future<Output = A>) -> A {
        self.pondered.fetch_add(1, Relaxed);
        let _done = PreparingResponse(&self.pondered);
        answer.await
    }

    /// Returns once nothing has happened for [`STALL_TIMEOUT`] that the client did not hold up: every
    /// answer has begun, and nobody takes the rest of it.
    pub(crate) async fn stalled(&self) {
        let mut since = Instant::now();
        loop {
            let now = Instant::now();
            let written = self.origin + Duration::from_millis(self.written_at.load(Relaxed));
            since = since.max(written);
            if self.pondered.load(Relaxed) > 0 {
                since = now;
            }
            match since + STALL_TIMEOUT {
                over if over <= now => return,
                over => sleep_until(over).await,
            }
        }
    }

    /// A request's head is complete.
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Relaxed);
        self.head_since.store(0, Relaxed);
    }

    /// A request has been answered to the end.
    pub(crate) fn end(&self) {
        if self.in_flight.fetch_sub(1, Relaxed) == 1 {
            self.idle_since.store(self.elapsed(), Relaxed);
        }
    }

    /// Returns once the connection should be closed.
    pub(crate) async fn expired(&self) {
        loop {
            let now = Instant::now();
            let look_again = now + HEAD_TIMEOUT;
            match self.deadline() {
                Some(deadline) if deadline <= now => return,
                Some(deadline) => sleep_until(deadline.min(look_again)).await,
                None => sleep_until(look_again).await,
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if self.in_flight.load(Relaxed) > 0 {
            return None;
        }
        let (since, timeout) = match self.head_since.load(Relaxed) {
            0 => (self.idle_since.load(Relaxed), IDLE_TIMEOUT),
            head => (head - 1, HEAD_TIMEOUT),
        };
        Some(self.origin + Duration::from_millis(since) + timeout)
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }
}

/// An answer that is being made, also by a future that is given up.
struct PreparingResponse<'a>(&'a AtomicUsize);

impl Drop for PreparingResponse<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    async fn seconds_to_expiry(activity: &Activity) -> u64 {
        let start = Instant::now();
        activity.expired().await;
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_never_asks_has_the_time_of_a_head() {
        assert_eq!(seconds_to_expiry(&Activity::new(true)).await, 32);
        assert_eq!(seconds_to_expiry(&Activity::new(false)).await, 90);
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_answer_a_connection_may_idle() {
        let activity = Activity::new(true);
        activity.begin();
        advance(Duration::from_secs(200)).await;
        activity.end();
        assert_eq!(seconds_to_expiry(&activity).await, 90);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_byte_of_a_head_starts_its_clock() {
        let activity = Activity::new(true);
        activity.begin();
        activity.end();
        advance(Duration::from_secs(80)).await;
        activity.read();
        advance(Duration::from_secs(20)).await;
        activity.read();
        assert_eq!(seconds_to_expiry(&activity).await, 12);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stall_begins_when_the_last_byte_was_taken_and_every_answer_has_begun() {
        let activity = Activity::new(false);
        advance(Duration::from_secs(100)).await;
        let start = Instant::now();
        let work = async {
            activity.prepare_response(tokio::time::sleep(Duration::from_secs(25))).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            activity.written();
        };
        tokio::join!(activity.stalled(), work);
        assert_eq!(start.elapsed().as_secs(), 25 + 3 + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_under_way_keep_a_connection_open() {
        let activity = Activity::new(false);
        activity.begin();
        activity.begin();
        activity.end();
        let expired = tokio::time::timeout(Duration::from_secs(100_000), activity.expired()).await;
        assert!(expired.is_err());
        activity.end();
        assert_eq!(seconds_to_expiry(&activity).await, 90);
    }
}
