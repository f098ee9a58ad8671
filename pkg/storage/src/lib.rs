//! The storage contract: an ordered, revisioned key-value store with single-key transactions, resumable
//! watches, compaction and leases, and the algorithms that all callers need ([`guaranteed_update`]).
//!
//! The contract is etcd v3's model, because clients see etcd's bytes and revisions: one revision counter for
//! the whole store, one revision per write, revisions never reused. Every backend runs the same suite
//! (`conformance`), and [`fault`] injects failures into any of them for tests.
//!
//! Two modules are for backends with their own state: [`mvcc`], the pure core of a revisioned store, and
//! [`feed`], watches as cursors over its log. Both [`mvcc`] and the watch caches use [`tree`], an ordered set
//! with cheap copies. [`memory`] is little more than a combination of the two.
//!
//! Values are opaque. This crate does not depend on kinds, users or HTTP.

#![warn(missing_docs)]

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
    DeleteResult, EventKind, Form, KeyValue, ListOptions, ListStream, Listing, Lookup, PutResult, Revision,
    Storage, WatchEvent, WatchItem, WatchOptions, WatchStream,
};
pub use error::Error;
pub use guaranteed_update::{Change, Update, UpdateResult, guaranteed_update};
pub use key_queues::KeyQueues;
pub use routed::RoutedStorage;
