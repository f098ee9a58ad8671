//! Queuing disciplines of priority levels.

use crate::shuffle_sharding::Dealer;

/// Treatment of new requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// All execute at once.
    Exempt,
    /// They execute if there are seats, and are rejected otherwise.
    Reject,
    /// They are queued; the number is the length limit of each queue.
    Queue(Dealer, u32),
}
