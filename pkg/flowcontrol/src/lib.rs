//! API Priority and Fairness (KEP-1040): who is served next when there are more requests than seats.
//!
//! A request is *classified* by flow schemas, the first that matches says its priority level and flow. A level has
//! seats, of which it may lend some to others. Who finds no seat free waits in a queue of the level, or is turned
//! away. The hands of queues that flows are dealt, the order between queues and the division of seats among levels
//! are upstream's, so that numbers that operators have tuned mean the same here.
//!
//! Nothing here knows HTTP, a runtime or the time of day: time comes from a [`Monotonic`] clock, waiting is a
//! [`Future`], and what has to happen later is said by [`FlowControl::poll_lingering`].

mod allocation;
mod config;
mod control;
mod demand;
mod digest;
mod dump;
mod figures;
mod level;
mod matching;
mod metrics;
mod plan;
mod queue_set;
mod ratio;
mod request_counts;
mod schema;
mod seat_seconds;
mod shuffle_sharding;
#[cfg(test)]
mod simulation;
mod snapshot;
#[cfg(test)]
mod testing;

pub use config::{
    Configuration, Distinguisher, FlowSchema, LevelKind, NonResourceRule, PriorityLevel, Queuing,
    ResourceRule, Response, Rule, Subject,
};
pub use control::{FlowControl, Monotonic};
pub use digest::{Class, RequestDigest, Target};
pub use level::{Admission, Rejection, Request, Seat, Waiting, WorkEstimate};
pub use request_counts::{ByKind, Watermarks};
pub use snapshot::{LevelState, QueueState};
