//! A JSON value in memory: the tree of a decoded request body.
//!
//! It has the variants and the methods of `serde_json::Value`, with cheaper objects. Most objects have a
//! handful of members, whose names come from a table. They are stored in one allocation, sorted by name. A
//! name from a table, and any name or text of up to 24 bytes, needs no allocation of its own. Of a pod's
//! texts, six in seven are that short. A B-tree of owned names takes some 700 bytes for the first member.
//! Objects with very many members, as in attacks and large maps, are kept in a B-tree, so that no insertion
//! order is slow.

#![warn(missing_docs)]

mod convert;
mod lookup;
mod object;
mod serialize;
mod text;
mod value;

pub use compact_str::{CompactString as Key, CompactString as Text};
pub use lookup::Lookup;
pub use object::{Entry, IntoIter, Iter, IterMut, Object, push_null};
pub use serde_json::Number;
pub use serialize::{from_value, to_value};
pub use text::is_equal;
pub use value::{Index, Value};

#[doc(hidden)]
pub use serde_json as json_text;

/// Builds a [`Value`] from JSON syntax, with expressions in place of values; not for hot paths.
#[macro_export]
macro_rules! json {
    ({}) => { $crate::Value::Object($crate::Object::new()) };
    ([]) => { $crate::Value::Array(::std::vec::Vec::new()) };
    ($($json:tt)+) => { $crate::Value::from($crate::json_text::json!($($json)+)) };
}

#[cfg(test)]
mod tests;
