//! Snapshot of the levels for diagnostics: the data of the debug pages as values.

use crate::FlowControl;

/// State of a priority level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelState {
    pub name: String,
    /// True if the level is no longer configured and only serves its remaining requests.
    pub quiescing: bool,
    /// True if the level never queues or rejects.
    pub exempt: bool,
    /// Current seats.
    pub seats: u32,
    pub seats_in_use: u64,
    /// Seats that waiting requests need.
    pub seats_waiting: u64,
    /// Executing requests.
    pub executing: u64,
    /// Waiting requests.
    pub waiting: u64,
    /// Requests dispatched since the start.
    pub dispatched: u64,
    /// Requests rejected since the start, including the cancelled ones.
    pub rejected: u64,
    /// Requests that left their queue before dispatch, since the start.
    pub cancelled: u64,
    /// Queues with waiting requests, the longest first.
    pub queues: Vec<QueueState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Queue number.
    pub index: u32,
    /// Waiting requests.
    pub waiting: u32,
    /// Executing requests from this queue.
    pub executing: u32,
    /// Initial seats that waiting requests need.
    pub seats_waiting: u64,
}

impl FlowControl {
    /// Returns all levels by name, each with at most `queues_max` queues.
    pub fn levels(&self, queues_max: usize) -> Vec<LevelState> {
        let plan = self.plan();
        let row = |name: &str, planned: &crate::plan::PlannedLevel| {
            let (summary, queues) = {
                let level = planned.level.lock();
                (level.summary(), level.waiting_queues(queues_max))
            };
            LevelState {
                name: name.to_string(),
                quiescing: planned.quiescing,
                exempt: matches!(planned.spec.kind, crate::LevelKind::Exempt),
                seats: planned.current,
                seats_in_use: summary.seats_in_use,
                seats_waiting: summary.seats_waiting,
                executing: summary.executing,
                waiting: summary.waiting,
                dispatched: summary.dispatched,
                rejected: summary.rejected,
                cancelled: summary.cancelled,
                queues,
            }
        };
        plan.1.levels.iter().map(|(name, planned)| row(name, planned)).collect()
    }
}
