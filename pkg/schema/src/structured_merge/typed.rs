//! What can be done with a value whose type is known: check it, list its fields, compare it with
//! another, merge another into it, take fields out of it.
//!
//! All but [`validate`] take values that are valid, with duplicate items at most where it says so; of
//! others they make something or report what upstream reports, but need not notice. They recurse as
//! deep as a value nests, which its decoder has bounded.

use std::cmp::Ordering;
use std::iter::{Flatten, Peekable};

use jsontree::Value;

use crate::object::Object;

mod compare;
mod error;
mod field_set;
mod go_syntax;
mod items;
mod merge;
mod named;
mod remove;
mod validate;

pub use compare::{Comparison, compare};
pub use error::{Error, Errors};
pub use field_set::field_set;
pub use merge::merge;
pub use named::ensure_named_fields_are_members;
pub use remove::{extract, remove};
pub use validate::{Duplicates, validate};

/// The members of two objects side by side, in the order of their names.
struct Zip<'v> {
    left: Peekable<Side<'v>>,
    right: Peekable<Side<'v>>,
}

type Side<'v> = Flatten<std::option::IntoIter<&'v Object>>;

/// A member of two objects, at least one of which has it.
type Pair<'v> = (&'v String, Option<&'v Value>, Option<&'v Value>);

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

/// The members of a value that has some.
fn members(value: Option<&Value>) -> Option<&Object> {
    value.and_then(Value::as_object).filter(|members| !members.is_empty())
}

/// The items of a value; none of a value that is no list.
fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
