//! A JSON value in memory: the tree that a request's body becomes and that whoever edits it walks.
//!
//! It has the variants and the methods of `serde_json::Value`. What differs is the price of an object: most
//! have a handful of members whose names come from a table. They stand in one allocation, in order of their
//! names, and a name or a text of up to 24 bytes, or a name from a table, costs no allocation of its own: of a
//! pod's texts six in seven are that short. A B-tree of owned names takes some 700 bytes for the first member.
//! Objects of very many members, such as only attackers and large maps have, are kept in a B-tree all the same,
//! so that no order of insertions is slow.

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
pub use text::same;
pub use value::{Index, Value};

#[doc(hidden)]
pub use serde_json as json_text;

/// A [`Value`] written as JSON, with expressions for values where they are wanted; not for hot paths.
#[macro_export]
macro_rules! json {
    ({}) => { $crate::Value::Object($crate::Object::new()) };
    ([]) => { $crate::Value::Array(::std::vec::Vec::new()) };
    ($($json:tt)+) => { $crate::Value::from($crate::json_text::json!($($json)+)) };
}

#[cfg(test)]
mod tests;
