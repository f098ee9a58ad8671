//! Share of the concurrency limit that a request occupies, by priority and fairness or by plain counts.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

/// Share of the concurrency limit, released when dropped.
#[derive(Debug, Default)]
pub(crate) enum ConcurrencyGuard {
    /// No share: long-running requests, no limit configured, or system:masters beyond the limit.
    #[default]
    Unlimited,
    /// Permit of a semaphore.
    MaxInFlight(#[allow(dead_code)] OwnedSemaphorePermit),
    /// Seats of a priority level.
    Fair(flowcontrol::SeatGuard),
}

impl ConcurrencyGuard {
    /// Time that the request waited for its seats.
    pub(crate) fn queue_time(&self) -> Duration {
        match self {
            ConcurrencyGuard::Fair(seats) => seats.queue_time(),
            _ => Duration::ZERO,
        }
    }
}
