//! How levels are at a moment, for whoever looks for the cause of something: what the dumps say, as values.

use crate::FlowControl;

/// A priority level at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelState {
    /// Its name.
    pub name: String,
    /// Not configured any more; it serves those who are in it.
    pub quiescing: bool,
    /// Whether it never makes anybody wait.
    pub exempt: bool,
    /// Its seats, for now.
    pub seats: u32,
    /// Seats that are taken.
    pub seats_in_use: u64,
    /// Seats that those who wait want.
    pub seats_waiting: u64,
    /// Requests that are served.
    pub executing: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Requests that were served, since the start.
    pub dispatched: u64,
    /// Requests that were turned away, since the start.
    pub rejected: u64,
    /// Requests that left their queue before it was their turn, since the start.
    pub cancelled: u64,
    /// The queues in which somebody waits, the longest first.
    pub queues: Vec<QueueState>,
}

/// A queue of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Its number.
    pub index: u32,
    /// Requests that wait in it.
    pub waiting: u32,
    /// Requests of it that are served.
    pub executing: u32,
    /// Seats that those who wait want at first.
    pub seats_waiting: u64,
}

impl FlowControl {
    /// All levels by name, each with `queues_max` queues at most.
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
