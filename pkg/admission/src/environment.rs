//! Random numbers and timers for plugins. Tests replace them.

use std::time::Duration;

use async_trait::async_trait;

/// Source of randomness and delays.
#[async_trait]
pub trait Environment: Send + Sync + 'static {
    /// Returns a random number.
    fn random_number(&self) -> u32;

    /// Waits for `duration`.
    async fn sleep(&self, duration: Duration);
}
