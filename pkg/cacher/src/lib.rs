//! Reads with Kubernetes' freshness rules. The [`Delegator`] decides for every get, list and watch
//! what answers it: the watch cache, which is kept up to date by one watch over the whole store, or
//! storage itself.
//!
//! Values are opaque here: an [`Ingest`] reads each one once, when it comes in, and what it gives, an
//! [`Element`], is shared by everything that shows the object from then on. A [`Memo`] keeps encoded
//! forms for those who write elements out.

pub mod cache;
mod core;
mod delegator;
mod driver;
mod element;
mod extent;
mod freshness;
mod list;
mod memo;
mod metrics;
mod options;
mod predicate;
mod read_index;
mod resource;
mod seed;
mod stats;
mod uncached;
mod watch;

pub use crate::core::Limits;
pub use delegator::{Delegator, Difference, Error, Found, Freshness};
pub use driver::Driver;
pub use element::{Damage, Element, Header, HeaderBuilder, Ingest};
pub use extent::Extent;
pub use list::{Items, ItemsIter, ListQuery, OBJECTS_AT_ONCE, Page};
pub use memo::{Budget, Memo, Representation, Reserved};
pub use options::Options;
pub use predicate::{Field, FieldTerm, Predicate, ShardTerm};
pub use resource::{Resource, ResourceConfig, Scope};
pub use seed::Seed;
pub use stats::ResourceStats;
pub use watch::{Event, EventType, Lag, Progress, Watch, WatchQuery, WatchStart};

#[cfg(test)]
mod tests;
