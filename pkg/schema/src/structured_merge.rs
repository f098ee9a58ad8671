//! Who owns which field: sets of field paths, and the comparing and merging of objects that keeps
//! them (server-side apply, KEP-555). The semantics are those of structured-merge-diff v6.
//!
//! Objects are [`jsontree::Value`]s that hold what Go would write for them, so that a member is
//! there when a client would see it.

pub mod conflict;
pub mod filter;
pub mod model;
pub mod path;
pub mod reconcile;
pub mod set;
pub mod typed;
pub mod updater;

pub use path::PathElement;
pub use set::Set;
