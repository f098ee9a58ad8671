//! Exponential back-off between attempts.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(50);
const MAX: Duration = Duration::from_secs(5);

/// A back-off that doubles after each failure.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Backoff(FIRST)
    }
}

impl Backoff {
    pub(super) async fn wait(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(MAX);
    }

    /// Resets the delay after a success.
    pub(super) fn reset(&mut self) {
        *self = Backoff::default();
    }
}
