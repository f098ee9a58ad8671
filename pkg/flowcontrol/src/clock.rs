//! The clock of flow control.

use std::time::Duration;

/// A clock that never goes back.
pub trait Monotonic: Send + Sync {
    /// Returns the time since a fixed moment in the past.
    fn now(&self) -> Duration;
}
