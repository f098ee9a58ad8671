//! A request for seats, its work estimate and its rejection.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::request_context::RequestContext;

/// Work estimate of a request (upstream's `WorkEstimate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats during execution, at least one.
    pub initial_seats: u32,
    /// Seats held after the response, for the watch events that a write causes (`finalSeats`).
    pub final_seats: u32,
    /// Duration for which the final seats are held.
    pub additional_latency: Duration,
}

impl WorkEstimate {
    /// One seat during execution: the estimate for a request of unknown cost.
    pub const ONE: WorkEstimate =
        WorkEstimate { initial_seats: 1, final_seats: 0, additional_latency: Duration::ZERO };

    /// Returns the maximum of initial and final seats. The request occupies that many from start to end.
    pub fn width(&self) -> u32 {
        self.initial_seats.max(self.final_seats)
    }
}

/// A request as flow control sees it, besides its class.
#[derive(Clone)]
pub struct Request {
    /// The work estimate.
    pub work: WorkEstimate,
    /// True for a write, in metrics.
    pub mutating: bool,
    /// True for a watch, in metrics. A watch occupies its seat only for the initial events.
    pub watch: bool,
    /// User and request attributes, for dumps.
    pub context: Arc<RequestContext>,
    /// The user's name, after impersonation.
    pub user: Box<str>,
}

/// Reason of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// No seat is free, and the queue is full.
    QueueFull,
    /// No seat is free, and the level has no queues.
    ConcurrencyLimit,
}
