//! CBOR (RFC 8949) as upstream speaks it behind the gate `CBORServingAndStorage` (KEP-4222), to and from
//! the same trees as JSON.
//!
//! What is written is deterministic: keys in bytewise order of their encoding, everything of definite
//! length, numbers in their shortest form. Strings are byte strings, since Go's need not be UTF-8; bytes
//! carry the tag that says "base64 is expected later". What is read may take any form that is well
//! formed, but for what JSON could not say: repeated keys, NaN, infinities, numbers beyond 64 bits.

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

/// The tag in front of everything that a serializer writes, by which CBOR is told from other formats
/// (RFC 8949, section 3.4.6).
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// How deep a data item may nest at all; deeper is refused even where it would be dropped.
pub const DEPTH_MAX: usize = 10_000;

/// How deep a tree may nest, as for [`json`](crate::json::TREE_DEPTH_MAX).
pub const TREE_DEPTH_MAX: usize = crate::json::TREE_DEPTH_MAX;

/// How many entries a map may have.
pub const MAP_ENTRIES_MAX: u64 = 2_097_152;

/// How many items an array may have.
pub const ARRAY_ITEMS_MAX: u64 = 2_147_483_647;

#[cfg(test)]
mod tests;
