//! Pauses between attempts.

use std::time::Duration;

use tokio::time::sleep;

/// The first pause.
const FIRST: Duration = Duration::from_millis(50);
/// The longest one.
const MAX: Duration = Duration::from_secs(5);

/// Waits twice as long after each failure as after the one before.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Backoff(FIRST)
    }
}

impl Backoff {
    /// Lets the time pass that is due now.
    pub(super) async fn wait(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(MAX);
    }

    /// It went well.
    pub(super) fn reset(&mut self) {
        *self = Backoff::default();
    }
}
