//! Reads with Kubernetes' freshness rules: the [`Delegator`] decides for every get, list and watch
//! what answers it. Today that is always storage; a watch cache slots in behind the same methods.
//!
//! Values are opaque here: selectors come in as a [`Filter`] over stored pairs.

mod delegator;
mod list;
mod watch;

pub use delegator::{Delegator, Error, Filter, Freshness};
pub use list::{ListQuery, Page};
pub use watch::{Event, EventStream, EventType, WatchQuery, WatchStart};

#[cfg(test)]
mod tests;
