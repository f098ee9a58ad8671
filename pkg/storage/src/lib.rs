//! The storage contract: an ordered, revisioned key-value store with transactions on single keys,
//! watches that resume from a revision, compaction and leases, and the few algorithms that every
//! caller needs on top of it ([`guaranteed_update`]).
//!
//! The contract is etcd v3's model, because the bytes and revisions that clients see *are* etcd's:
//! one revision counter for the whole store, one revision per write, revisions never reused.
//! Every backend runs the same suite (`conformance`), and [`fault`] wraps any of them to inject
//! the failures that a test wants to see survived.
//!
//! Two parts serve backends that keep their own state: [`mvcc`], the pure core of a revisioned store,
//! and [`feed`], watches as cursors over its log. Both it and the caches of readers stand on [`tree`], an ordered set
//! whose copies are cheap. [`memory`] is little more than the two of them.
//!
//! Values are opaque. This crate knows neither kinds nor users nor HTTP.

mod contract;
mod error;
mod guaranteed_update;
mod key_queues;
mod routed;

pub mod conformance;
pub mod fault;
pub mod feed;
pub mod memory;
pub mod mvcc;
pub mod tree;

pub use contract::{
    Deleted, EventKind, Form, KeyValue, ListOptions, Listing, Lookup, Revision, Storage, WatchEvent,
    WatchItem, WatchOptions, WatchStream, Written,
};
pub use error::Error;
pub use guaranteed_update::{Change, Update, Updated, guaranteed_update};
pub use key_queues::KeyQueues;
pub use routed::Routed;
