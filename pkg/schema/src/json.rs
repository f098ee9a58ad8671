//! JSON to tree: the decoder that a request body meets.
//!
//! Decoding follows upstream's case-sensitive decoder in what it accepts and in how it words what it
//! refuses, because clients print those texts and tools match them. The schema steers: a member
//! that the tables do not know is scanned and dropped, never built.

pub(crate) mod base64;
mod braces;
mod canonical;
pub(crate) mod complaint;
pub mod errors;
pub(crate) mod leaf;
mod meta;
mod operations;
pub(crate) mod scan;
mod seen;
mod skip;
mod slot;
mod stops;
pub(crate) mod typed;
pub(crate) mod unquote;
mod untyped;

pub use canonical::is_canonical;
pub(crate) use complaint::{Place, go_type, kind_of};
pub use errors::{Error, StrictError, StrictKind, TypeError};
pub use meta::{TypeMeta, type_meta};
pub use operations::check_operations;
pub use typed::{Decoded, decode, decode_within};
pub(crate) use typed::{decode_leaf, zero};
pub use untyped::{Outline, Untyped, decode_outline, decode_untyped, decode_untyped_within};

/// How deep JSON may nest at all (Go's limit); deeper is a syntax error.
pub const DEPTH_MAX: usize = 10_000;

/// How deep a tree may nest. Upstream has only [`DEPTH_MAX`], for its stacks grow; ours do not, and
/// whoever walks a tree later must be able to recurse. Verbatim JSON and dropped members do not
/// count.
pub const TREE_DEPTH_MAX: usize = 400;

/// How many strict errors are collected; upstream stops at the same number.
pub const STRICT_ERRORS_MAX: usize = 100;

#[cfg(test)]
mod tests;
