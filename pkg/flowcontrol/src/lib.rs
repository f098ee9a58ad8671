//! API Priority and Fairness (KEP-1040): the order in which requests execute when there are more requests
//! than seats.
//!
//! Flow schemas *classify* a request: the first match determines its priority level and its flow. A level has
//! seats, and may lend some of them to other levels. A request that finds no free seat waits in a queue of
//! the level, or is rejected. Shuffle sharding, fair queuing and the division of seats among levels match
//! upstream, so that settings tuned by operators keep their meaning.
//!
//! This crate is independent of HTTP, the runtime and the wall clock. Time comes from a [`Monotonic`] clock,
//! waiting is a [`Future`], and delayed work runs in [`FlowControl::poll_releases`].

mod allocation;
mod clock;
mod config;
mod control;
mod demand;
mod digest;
mod discipline;
mod dump;
mod level;
mod matching;
mod metrics;
mod plan;
mod queue_set;
mod ratio;
mod request;
mod request_counts;
mod schema;
mod schema_metrics;
mod seat_seconds;
mod shuffle_sharding;
#[cfg(test)]
mod simulation;
mod snapshot;
#[cfg(test)]
mod testing;

pub use clock::Monotonic;
pub use config::{
    Configuration, Distinguisher, FlowSchema, LevelKind, NonResourceRule, PriorityLevel, Queuing,
    ResourceRule, Response, Rule, Subject,
};
pub use control::FlowControl;
pub use digest::{Class, RequestDigest, Target};
pub use level::{Admission, QueuedRequest, SeatGuard};
pub use request::{Rejection, Request, WorkEstimate};
pub use request_counts::{ReadWriteCounts, Watermarks};
pub use snapshot::{LevelState, QueueState};
