//! Timeouts of a connection: idle time, slow request heads, and stalled responses.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Idle timeout of a connection without requests, as in upstream.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Timeout for receiving a request's head, and for the TLS handshake.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(32);

/// While the server shuts down, a client that reads no byte of a response for this time is disconnected.
/// Upstream waits as long as for a request.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Activity of one connection. Requests and reads update it without locks or timers; one timer per connection
/// checks it periodically.
pub(crate) struct Activity {
    epoch: Instant,
    /// True if the first byte of a request starts the head timeout (HTTP/1.1). In HTTP/2 a frame may arrive
    /// at any time, and a slow one only counts as idle.
    has_head_timeout: bool,
    in_flight: AtomicUsize,
    /// Number of requests whose response has not started.
    pending_responses: AtomicUsize,
    /// Milliseconds since `epoch`.
    written_at: AtomicU64,
    /// Milliseconds since `epoch`.
    idle_since: AtomicU64,
    /// Milliseconds since `epoch`, plus one; 0 when no head is under way.
    head_since: AtomicU64,
}

impl Activity {
    /// Activity of a new connection. The timeout for the first request's head is already running.
    pub(crate) fn new(has_head_timeout: bool) -> Self {
        Activity {
            epoch: Instant::now(),
            has_head_timeout,
            in_flight: AtomicUsize::new(0),
            pending_responses: AtomicUsize::new(0),
            written_at: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
            head_since: AtomicU64::new(u64::from(has_head_timeout)),
        }
    }

    /// Records that bytes were received.
    pub(crate) fn record_read(&self) {
        if self.has_head_timeout && self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) == 0 {
            self.head_since.store(self.elapsed() + 1, Relaxed);
        }
    }

    /// Records that bytes were sent.
    pub(crate) fn record_write(&self) {
        self.written_at.store(self.elapsed(), Relaxed);
    }

    /// Waits for the response head. Meanwhile the server causes the delay, so the connection does not count
    /// as stalled.
    pub(crate) async fn prepare_response<A>(&self, response: impl Future<Output = A>) -> A {
        self.pending_responses.fetch_add(1, Relaxed);
        let _done = PreparingResponse(&self.pending_responses);
        response.await
    }

    /// Waits until the client has stalled the connection for [`STALL_TIMEOUT`]: every response has started
    /// and no byte of the rest was read.
    pub(crate) async fn wait_until_stalled(&self) {
        let mut since = Instant::now();
        loop {
            let now = Instant::now();
            let written = self.epoch + Duration::from_millis(self.written_at.load(Relaxed));
            since = since.max(written);
            if self.pending_responses.load(Relaxed) > 0 {
                since = now;
            }
            match since + STALL_TIMEOUT {
                stalled_at if stalled_at <= now => return,
                stalled_at => sleep_until(stalled_at).await,
            }
        }
    }

    /// Records a complete request head.
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Relaxed);
        self.head_since.store(0, Relaxed);
    }

    /// Records a completed response.
    pub(crate) fn end(&self) {
        if self.in_flight.fetch_sub(1, Relaxed) == 1 {
            self.idle_since.store(self.elapsed(), Relaxed);
        }
    }

    /// Waits until the connection should be closed.
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
        Some(self.epoch + Duration::from_millis(since) + timeout)
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }
}

/// Counts a response that is being prepared, until it is dropped.
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
    async fn new_connection_has_head_timeout() {
        assert_eq!(seconds_to_expiry(&Activity::new(true)).await, 32);
        assert_eq!(seconds_to_expiry(&Activity::new(false)).await, 90);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_timeout_applies_after_response() {
        let activity = Activity::new(true);
        activity.begin();
        advance(Duration::from_secs(200)).await;
        activity.end();
        assert_eq!(seconds_to_expiry(&activity).await, 90);
    }

    #[tokio::test(start_paused = true)]
    async fn first_byte_starts_head_timeout() {
        let activity = Activity::new(true);
        activity.begin();
        activity.end();
        advance(Duration::from_secs(80)).await;
        activity.record_read();
        advance(Duration::from_secs(20)).await;
        activity.record_read();
        assert_eq!(seconds_to_expiry(&activity).await, 12);
    }

    #[tokio::test(start_paused = true)]
    async fn stall_starts_after_last_write() {
        let activity = Activity::new(false);
        advance(Duration::from_secs(100)).await;
        let start = Instant::now();
        let work = async {
            activity.prepare_response(tokio::time::sleep(Duration::from_secs(25))).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            activity.record_write();
        };
        tokio::join!(activity.wait_until_stalled(), work);
        assert_eq!(start.elapsed().as_secs(), 25 + 3 + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn active_requests_keep_connection_open() {
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
