//! Seat of a request, by priority and fairness or by plain limits.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

/// Permit to handle a request, released when dropped.
#[derive(Debug, Default)]
pub(crate) enum RequestPermit {
    /// Occupies no seat: long-running requests, no limit configured, or system:masters beyond the limit.
    #[default]
    Unlimited,
    /// One of a fixed number of permits.
    MaxInFlight(#[allow(dead_code)] OwnedSemaphorePermit),
    /// Seat of a priority level.
    Fair(flowcontrol::Seat),
}

impl RequestPermit {
    /// Time that the request waited for the seat.
    pub(crate) fn queue_time(&self) -> Duration {
        match self {
            RequestPermit::Fair(seat) => seat.waited(),
            _ => Duration::ZERO,
        }
    }
}
