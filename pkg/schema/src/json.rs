//! JSON decoder for request bodies.
//!
//! It accepts the same input as upstream's case-sensitive decoder and reports the same error texts, because
//! clients print and match them. Decoding follows the schema: unknown members are scanned and dropped, never
//! built.

pub(crate) mod base64;
mod braces;
mod canonical;
mod decoder;
pub mod errors;
pub(crate) mod leaf;
mod meta;
mod operations;
pub(crate) mod path;
mod report;
pub(crate) mod scan;
mod seen_members;
mod skip;
mod slot;
mod stops;
mod stored;
pub(crate) mod typed;
pub(crate) mod unquote;
mod untyped;

pub use canonical::is_canonical;
pub use errors::{Error, StrictError, StrictKind, TypeError};
pub use meta::{TypeMeta, type_meta};
pub use operations::check_operations;
pub(crate) use path::{ValuePosition, go_type, kind_of};
pub use scan::Scanner;
pub use stored::{decode_stored, decode_untyped_stored};
pub use typed::{Decoded, decode, decode_within};
pub(crate) use typed::{decode_leaf, zero};
pub use unquote::RawString;
pub(crate) use untyped::decode_verbatim;
pub use untyped::{Outline, Untyped, decode_outline, decode_untyped, decode_untyped_within};

/// Maximum nesting depth of JSON (Go's limit); deeper input is a syntax error.
pub const DEPTH_MAX: usize = 10_000;

/// Maximum nesting depth of a tree. Upstream has only [`DEPTH_MAX`] because Go's stacks grow. Rust's do not,
/// and later code walks trees recursively. Verbatim JSON, [raw](jsontree::Value::Raw) values and dropped members do
/// not count.
pub const TREE_DEPTH_MAX: usize = 400;

/// Maximum number of collected strict errors, as in upstream.
pub const STRICT_ERRORS_MAX: usize = 100;

#[cfg(test)]
mod tests;
