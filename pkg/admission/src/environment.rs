//! What plugins need of the world that is neither their objects nor the request.

use std::time::Duration;

use async_trait::async_trait;

/// Randomness and the passing of time.
#[async_trait]
pub trait Environment: Send + Sync + 'static {
    /// A random number.
    fn number(&self) -> u32;

    /// Returns after a while.
    async fn pause(&self, duration: Duration);
}
