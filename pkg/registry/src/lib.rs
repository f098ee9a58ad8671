//! Verb semantics, once: every resource is a row and, where it needs one, a [`strategy`].
//! Knows nothing of HTTP or of how users are proved.

pub mod codec;
pub mod continue_token;
pub mod generic;
pub mod ingest;
pub mod services;
pub mod strategy;

pub use api::meta;
pub use cacher::{Budget, Element, Items, ItemsIter, Memo};
pub use codec::{Stored, StoredRef};
pub use generic::{Entropy, Registry, Result, Target};
