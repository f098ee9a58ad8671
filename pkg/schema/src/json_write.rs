//! JSON encoder for trees. The output is identical to that of Go's `encoding/json` for the corresponding
//! struct.
//!
//! For objects that are not served from stored protobuf: objects stored as JSON, dry-run responses, objects
//! created here. Stored protobuf is converted by [`transcode`](crate::transcode) instead. No output ends in a
//! newline; upstream's compact serializer adds one after an object, the indenting one does not.

mod number;
mod presence;
mod pretty;
mod raw;
pub(crate) mod string;
pub(crate) mod typed;
mod untyped;

pub use number::{write_double, write_integer};
pub use presence::{is_nil, left_out};
pub use pretty::{Indenter, indent};
pub use raw::{RawError, compact};
pub use string::{plain_len, write_string};
pub use typed::encode;
pub use untyped::untyped;

use crate::table::Message;

/// Maximum nesting depth of the structs of a tree. No tree has more levels.
pub const DEPTH_MAX: usize = crate::json::TREE_DEPTH_MAX;

/// Reason for a value that cannot be encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// JSON has no NaN and no infinities.
    #[error("json: unsupported value: {0}")]
    UnsupportedValue(&'static str),
    /// A raw value that is not valid JSON.
    #[error("json: error calling MarshalJSON for type {type_name}: {reason}")]
    Raw {
        /// The Go type that holds the value.
        type_name: &'static str,
        /// The syntax error of the value.
        #[source]
        reason: RawError,
    },
    /// Structs, or a tree with its verbatim JSON, nest deeper than [`DEPTH_MAX`].
    #[error("json: values nest deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// A raw value would take too much memory as a tree.
    #[error(transparent)]
    NoRoom(#[from] crate::memory::BudgetExceeded),
    /// A raw value that cannot be decoded.
    #[error("json: error calling UnmarshalJSON for type {type_name}: {reason}")]
    Decode {
        /// The Go type that holds the value.
        type_name: &'static str,
        /// The cause.
        #[source]
        reason: Box<crate::json::Error>,
    },
    /// The tree has a value that the field cannot hold.
    #[error("field {field:?} does not hold {expected}")]
    Tree {
        /// JSON name of the field.
        field: &'static str,
        /// Description of the accepted values, such as `a list`.
        expected: &'static str,
    },
}

/// Appends the raw JSON of a value of type `message`, compacted and HTML-escaped; `null` for `None`.
pub(crate) fn write_raw(
    message: &'static Message,
    text: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match text {
        None => {
            out.extend_from_slice(b"null");
            Ok(())
        }
        // The only raw type for which Go treats empty as nil.
        Some([]) if message.shape == crate::table::Shape::Json => {
            out.extend_from_slice(b"null");
            Ok(())
        }
        Some(text) => compact(text, out).map_err(|reason| Error::Raw { type_name: message.go_name, reason }),
    }
}
