//! Field ownership: maintains `metadata.managedFields` on every write, and implements server-side apply
//! (KEP-555).
//!
//! Every object records the manager of each field. An update makes its client the owner of the changed
//! fields. An apply merges a configuration. It refuses to change fields of other managers unless forced, and
//! removes fields that its manager applied earlier and omits now. Fields and merging are defined by
//! [`structured_merge`]. The rest is upstream's `managedfields` around it. Pure: versions of a kind and their
//! conversion come from the caller ([`ServedVersion`]).
#![warn(missing_docs)]

mod cap;
mod changes;
mod conflict;
mod engine;
mod entries;
mod error;
mod last_applied;
mod manager;
mod manager_name;
mod pending_conversions;
mod scale;
pub mod structured_merge;
mod timestamps;
mod versions;

pub use entries::{EntryError, check, remove, warning_after_admission};
pub use error::Error;
pub use manager::{ApplyOptions, FieldManager};
pub use manager_name::{FIELD_MANAGER_BYTES_MAX, manager_or_user_agent};
pub use pending_conversions::{ConversionRequest, PendingConversions};
pub use scale::{ReplicasPaths, to_parent, to_scale};
pub use timestamps::ignore_timestamps;
pub use versions::ServedVersion;

#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
#[cfg(test)]
mod testing;
