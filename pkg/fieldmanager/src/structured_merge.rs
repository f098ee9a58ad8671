//! Field ownership: sets of field paths, and the comparison and merging of objects that maintain them
//! (server-side apply, KEP-555). The semantics are those of structured-merge-diff v6.
//!
//! Objects are [`jsontree::Value`]s as Go would encode them: a member is present if a client would see it.

pub mod conflict;
mod error;
pub mod filter;
pub mod model;
pub mod path;
pub mod reconcile;
pub mod set;
pub mod typed;
pub mod updater;

pub use error::{ApplyError, ConvertError, UpdateError};
pub use path::PathElement;
pub use set::{FieldsError, Set};
