//! CBOR (RFC 8949) as in upstream behind the feature gate `CBORServingAndStorage` (KEP-4222), to and from the
//! same trees as JSON.
//!
//! The output is deterministic: keys in bytewise order of their encoding, definite lengths, numbers in their
//! shortest form. Strings are encoded as byte strings because Go's need not be UTF-8; bytes carry the tag for
//! expected base64 conversion. The input can be any well-formed CBOR, except for values without a JSON
//! equivalent: repeated keys, NaN, infinities, numbers beyond 64 bits.

mod decoder;
pub mod errors;
mod head;
mod keys;
mod leaf;
mod meta;
mod scalar;
mod scan;
mod typed;
mod untyped;
mod write;

pub use errors::{Error, TypeError};
pub use meta::{TypeMeta, type_meta};
pub use typed::{Decoded, decode, decode_within};
pub use untyped::decode_untyped;
pub use write::{WriteError, encode, from_json, item, put_array, put_map, put_text, untyped};

/// The tag before all serializer output, which distinguishes CBOR from other formats (RFC 8949, section
/// 3.4.6).
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Maximum nesting depth of a data item. Deeper items are rejected even in dropped fields.
pub const DEPTH_MAX: usize = 10_000;

/// Maximum nesting depth of a tree, as for [`json`](crate::json::TREE_DEPTH_MAX).
pub const TREE_DEPTH_MAX: usize = crate::json::TREE_DEPTH_MAX;

/// Maximum number of entries in a map of the input.
pub const MAP_ENTRIES_MAX: u64 = 2_097_152;

/// Maximum number of items in an array of the input.
pub const ARRAY_ITEMS_MAX: u64 = 2_147_483_647;

#[cfg(test)]
mod tests;
