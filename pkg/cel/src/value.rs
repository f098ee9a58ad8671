//! Run-time values.
//!
//! A [`Value`] is three words and `Copy`. Strings, lists and maps are borrowed: from the object under
//! evaluation, from literals of the plan, or from the evaluation's [`Arena`](crate::arena::Arena).

mod compare;
mod constant;
mod convert;
mod display;
mod list;
mod map;
mod message_value;
mod opaque;
mod stored;
mod times;
mod typed;

pub(crate) use compare::is_equal;
pub use compare::{compare, equal};
pub use constant::{Constant, ConstantList, ConstantMap};
pub use convert::convert;
pub(crate) use convert::{lossless_int, lossless_uint};
pub use display::{go_type, text};
pub use list::{Concat, Growing, List, Merged, TypedList};
pub use map::{GrowingMap, Map, MapView, TypedMap};
pub use message_value::{MessageList, MessageMap, message_value};
pub use opaque::{Check, Decision, Opaque};
pub use stored::{Stored, StoredList, StoredMap};
pub use typed::{ListKind, Typed, TypedSchema};

use jsontree::Value as Json;

/// A point in time, with the UTC offset of its text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970-01-01 UTC.
    pub seconds: i64,
    /// Nanoseconds, below 10^9.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset: i32,
}

/// A run-time value.
// A one-word tag keeps the payload aligned: values are copied word by word.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A type, by its name.
    Type(&'a str),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// An optional value; `None` for `optional.none()`.
    Optional(Option<&'a Value<'a>>),
    /// A value of a library's type.
    Opaque(&'a Opaque<'a>),
    /// Data without a schema; it can only be compared.
    Preserved(&'a Json),
    /// An error, which is a value until a result is needed.
    Error(&'a str),
}

/// cel-go's error if no overload fits the values.
pub(crate) const NO_SUCH_OVERLOAD: &str = "no such overload";

/// Operations that a type supports; cel-go calls them traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// `+`.
    Adder,
    /// `<`, `<=`, `>`, `>=`.
    Comparer,
    /// `/`.
    Divider,
    /// `%`.
    Modder,
    /// `*`.
    Multiplier,
    /// Unary `-`.
    Negator,
    /// `-`.
    Subtractor,
    /// `size`.
    Sizer,
    /// `matches`.
    Matcher,
    /// Functions called by name alone. The error for an unknown one does not contain its name.
    Receiver,
}

impl<'a> Value<'a> {
    /// `no such overload`.
    pub(crate) const NO_SUCH_OVERLOAD: Self = Self::Error(NO_SUCH_OVERLOAD);

    /// The value of a part that is nested too deeply for a tree.
    pub(crate) const TOO_DEEP: Self = Self::Error("the value is nested too deeply");

    /// Wraps a tree without a schema.
    pub fn tree(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(text),
            Json::Array(items) => Self::List(List::Tree(items)),
            Json::Object(fields) => Self::Map(Map::Tree(fields)),
            Json::Raw(_) => Self::TOO_DEEP,
        }
    }

    /// Returns true for an error value.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// Returns `self` if it is an error, otherwise `no such overload`.
    pub(crate) fn or_no_such_overload(self) -> Self {
        if self.is_error() { self } else { Self::NO_SUCH_OVERLOAD }
    }

    /// Returns the run-time type name.
    pub fn type_name(self) -> &'a str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Opaque(opaque) => opaque.type_name(),
            Self::Preserved(_) => "unknown",
            Self::Error(_) => "error",
        }
    }

    /// Returns true if the type supports an operation.
    pub(crate) fn has(self, required: Trait) -> bool {
        use Trait::*;
        match self {
            Self::Bool(_) => matches!(required, Comparer | Negator),
            Self::Int(_) => !matches!(required, Sizer | Matcher | Receiver),
            Self::Uint(_) => !matches!(required, Sizer | Matcher | Receiver | Negator),
            Self::Double(_) => !matches!(required, Sizer | Matcher | Receiver | Modder),
            Self::String(_) => matches!(required, Adder | Comparer | Matcher | Receiver | Sizer),
            Self::Bytes(_) => matches!(required, Adder | Comparer | Sizer),
            Self::Duration(_) => matches!(required, Adder | Comparer | Negator | Receiver | Subtractor),
            Self::Timestamp(_) => matches!(required, Adder | Comparer | Receiver | Subtractor),
            Self::List(_) => matches!(required, Adder | Sizer),
            Self::Map(_) => required == Sizer,
            _ => false,
        }
    }

    /// Returns the size of a string (in code points), bytes, a list, a map, or a library's value with a size.
    pub fn size(self) -> Option<u64> {
        match self {
            Self::String(text) => Some(code_points(text)),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::List(list) => Some(list.len() as u64),
            Self::Map(map) => Some(map.len() as u64),
            Self::Opaque(opaque) => opaque.size(),
            _ => None,
        }
    }

    /// Returns true for the zero value of its type, which `optional.ofNonZeroValue` treats as absent.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => value == 0,
            Self::Uint(value) => value == 0,
            Self::Double(value) => value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(nanos) => nanos == 0,
            Self::Timestamp(time) => time.seconds == crate::ext::time::MIN_SECONDS && time.nanos == 0,
            // cel-go's lists and maps under a schema do not implement the zero test.
            Self::List(List::Typed(..) | List::Merged(_)) | Self::Map(Map::Typed(..)) => false,
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Opaque(Opaque::Object { type_name, fields }) => {
                *type_name != "JSONPatch" && fields.is_empty()
            }
            _ => false,
        }
    }
}

#[inline]
pub(crate) fn code_points(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value<'_>>(), 24);
        assert_eq!(size_of::<Option<Value<'_>>>(), 24);
        assert_eq!(size_of::<crate::arena::Outcome<'_>>(), 24);
    }
}
