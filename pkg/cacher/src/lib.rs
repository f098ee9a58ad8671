//! Reads with the freshness rules of Kubernetes. The [`Delegator`] chooses the source for every get, list and
//! watch: the watch cache, which one watch over each store keeps up to date, or storage itself.
//!
//! Values are opaque here. An [`Ingest`] decodes each value once on arrival into an [`Element`], which all
//! later reads share. A [`Memo`] caches encoded forms of an element.

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
mod source;
mod stats;
mod uncached;
mod watch;

pub use self::core::Limits;
pub use delegator::{Delegator, Difference, Error, Freshness, GetResult};
pub use driver::Driver;
pub use element::{Damage, Element, Header, HeaderBuilder, Ingest, IngestError};
pub use extent::Extent;
pub use list::{Items, ItemsIter, ListQuery, OBJECTS_AT_ONCE, Page};
pub use memo::{Budget, Memo, Representation, Reservation};
pub use options::Options;
pub use predicate::{Field, FieldTerm, FieldTerms, Predicate, ShardTerm};
pub use resource::{Resource, ResourceConfig, Scope};
pub use seed::Seed;
pub use stats::ResourceStats;
pub use watch::{Event, EventType, Lag, Progress, Watch, WatchQuery, WatchStart};

#[cfg(test)]
mod tests;
