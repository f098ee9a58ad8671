//! Operations on typed values: validate, list fields, compare, merge, remove fields.
//!
//! All operations except [`validate`] require valid values; duplicate items are allowed only if documented.
//! For invalid values they return some result or upstream's error. They recurse as deep as a value is nested,
//! which its decoder has limited.

use std::cmp::Ordering;
use std::iter::{Flatten, Peekable};

use jsontree::Value;

use schema::object::Object;

mod compare;
mod error;
mod field_set;
mod go_syntax;
mod items;
mod merge;
mod named_fields;
mod remove;
mod validate;

pub use compare::{Comparison, compare};
pub use error::{Error, Errors};
pub use field_set::field_set;
pub use merge::merge;
pub use named_fields::ensure_named_fields_are_members;
pub use remove::{extract, remove};
pub use validate::{Duplicates, validate};

/// Iterates over the members of two objects in parallel, in the order of their names.
struct Zip<'v> {
    left: Peekable<Side<'v>>,
    right: Peekable<Side<'v>>,
}

type Side<'v> = Flatten<std::option::IntoIter<&'v Object>>;

/// A member that is in at least one of two objects.
type Pair<'v> = (&'v jsontree::Key, Option<&'v Value>, Option<&'v Value>);

fn zip<'v>(left: Option<&'v Object>, right: Option<&'v Object>) -> Zip<'v> {
    Zip { left: left.into_iter().flatten().peekable(), right: right.into_iter().flatten().peekable() }
}

impl<'v> Iterator for Zip<'v> {
    type Item = Pair<'v>;

    fn next(&mut self) -> Option<Pair<'v>> {
        let order = match (self.left.peek(), self.right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let left = if order.is_le() { self.left.next() } else { None };
        let right = if order.is_ge() { self.right.next() } else { None };
        let (name, _) = left.or(right)?;
        Some((name, left.map(|(_, value)| value), right.map(|(_, value)| value)))
    }
}

/// The members of a non-empty object.
fn members(value: Option<&Value>) -> Option<&Object> {
    value.and_then(Value::as_object).filter(|members| !members.is_empty())
}

/// The items of a list; empty for other values.
fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
