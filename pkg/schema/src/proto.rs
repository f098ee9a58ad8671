//! Protobuf as gogo writes it: the form in which built-in kinds are stored and, on request, served.
//!
//! [`encode`] gives the canonical bytes, the ones upstream's generated code would write: fields in
//! ascending number, scalars and structs that are no pointers always there, maps sorted by key with
//! both halves of each entry. [`decode`] takes what gogo takes: any order, repeated structs merged,
//! packed lists, unknown fields dropped; and fails with gogo's words. The rest reads or edits
//! encoded objects in place: the envelope ([`Envelope`]), the resource version
//! ([`with_resource_version`]), single values ([`field_at`], [`meta::Header`]), some members of many
//! ([`inplace`]).

mod canonical;
pub(crate) mod decode;
mod encode;
mod envelope;
pub(crate) mod first_error;
pub(crate) mod index;
pub mod inplace;
pub mod meta;
pub(crate) mod names;
mod peek;
mod reverse;
mod splice;
pub(crate) mod wire;

pub use canonical::is_canonical;
pub use decode::{decode, decode_within};
pub use encode::encode;
pub use envelope::{Envelope, PREFIX, TypeMetaHead, wrap};
pub use peek::{ScalarRef, field_at};
pub use splice::{metadata_slice, partial_metadata, served, with_resource_version};
pub use wire::put_bytes;

use std::borrow::Cow;

/// How deeply messages may nest. Upstream has no bound of its own, for its stacks grow; this one keeps
/// every walk inside a worker thread's 2 MiB even in debug builds. Only JSON schemas nest at will, and
/// those that people write stay below 100.
pub const DEPTH_MAX: usize = 256;

/// The largest message, in bytes: offsets inside one are 32 bits wide.
pub const SIZE_MAX: usize = u32::MAX as usize;

/// Why bytes are no message, or a tree cannot become one. The wire errors are gogo's, word for word.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A value ends before it is complete.
    #[error("unexpected EOF")]
    UnexpectedEof,
    /// A varint of more than ten bytes.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length that is negative as a signed 64-bit number.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// An end-group key in an unknown field that opened no group.
    #[error("proto: unexpected end of group")]
    UnexpectedEndOfGroup,
    /// A wire type that does not exist (6, 7).
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    /// An end-group key among the fields of a message.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndGroup {
        /// Go name of the message without its package.
        message: &'static str,
    },
    /// A field number that is zero or negative.
    #[error("proto: {message}: illegal tag {number} (wire type {key})")]
    IllegalTag {
        /// Go name of the message without its package.
        message: &'static str,
        /// The field number.
        number: i32,
        /// The whole key.
        key: u64,
    },
    /// A known field with another wire type than its own.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType {
        /// The wire type found.
        wire_type: u8,
        /// Go name of the field.
        field: Cow<'static, str>,
    },
    /// Messages nest deeper than [`DEPTH_MAX`].
    #[error("proto: messages nest deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// Longer than [`SIZE_MAX`].
    #[error("proto: message is longer than {SIZE_MAX} bytes")]
    TooLarge,
    /// The tree would take too much memory.
    #[error(transparent)]
    NoRoom(#[from] crate::memory::BudgetExceeded),
    /// An IntOrString that is neither.
    #[error("impossible IntOrString.Type")]
    IntOrStringType,
    /// A double that JSON has no word for: NaN or an infinity.
    #[error("proto: number is not finite")]
    NotANumber,
    /// A quantity that is none.
    #[error(transparent)]
    Quantity(#[from] apimachinery::quantity::Error),
    /// The tree has a value that the field cannot hold.
    #[error("field {field:?} does not hold {expected}")]
    Tree {
        /// JSON name of the field.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
    /// Nothing at all where an envelope should be.
    #[error("empty data")]
    EmptyData,
    /// An envelope's prefix with nothing behind it.
    #[error("empty body")]
    EmptyBody,
    /// Bytes that do not begin with [`PREFIX`].
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NotAnEnvelope,
}
