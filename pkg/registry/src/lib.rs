//! Verb semantics, once: every resource is a row and, where it needs one, a strategy ([`kinds::strategy`]).
//! Knows nothing of HTTP or of how users are proved.

#![warn(missing_docs)]

pub mod client;
pub mod codec;
mod continue_token;
pub mod generic;
pub mod informer;
pub mod ingest;
pub mod services;
#[cfg(test)]
pub(crate) mod testing;

pub use api::meta;
pub use cacher::{Budget, Element, Items, ItemsIter, Memo, OBJECTS_AT_ONCE};
pub use client::Client;
pub use codec::{StoredObject, StoredRef};
pub use generic::{Entropy, Registry, Result, Target};
pub use informer::{Informer, InformerTask, Projection};
