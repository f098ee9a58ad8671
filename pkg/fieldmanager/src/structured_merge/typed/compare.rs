//! The difference between two values of a type.

use jsontree::Value;

use super::error::Errors;
use super::items::{self, Item, Keyed, Keyer, Scalar as ScalarItem};
use super::validate::{UNDECLARED, mismatch};
use super::{items_of, members, zip};
use crate::structured_merge::model::{Items, Kind, List, Map, Members, Scalar, TypeRef};
use crate::structured_merge::path::values_equal;
use crate::structured_merge::{PathElement, Set};
use schema::object::Object;

/// The difference between two values; the sets are disjoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Fields of the first value only.
    pub removed: Set,
    /// Fields of both values that differ.
    pub modified: Set,
    /// Fields of the second value only.
    pub added: Set,
}

impl Comparison {
    /// True if no field was added, modified or removed.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

/// Compares two valid values of a type. Duplicate items are allowed; all items with the same key are compared
/// together.
///
/// # Errors
/// Upstream's errors, if both values do not match the type.
pub fn compare(left: &Value, right: &Value, ty: TypeRef) -> Result<Comparison, Errors> {
    let mut change = Change::default();
    change.compare(Some(left), Some(right), ty)?;
    Ok(change.below)
}

/// The change of a value itself, and of its children.
#[derive(Debug, Default)]
struct Change {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Change {
    /// At least one of the sides must be present.
    fn compare(&mut self, left: Option<&Value>, right: Option<&Value>, ty: TypeRef) -> Result<(), Errors> {
        let form = ty.kind(right.or(left));
        if let (Some(a), Some(b)) = (left, right)
            && std::mem::discriminant(a) != std::mem::discriminant(b)
        {
            let left_kind = ty.kind(left);
            if std::mem::discriminant(&left_kind) != std::mem::discriminant(&form) {
                // The type allows both forms: each is compared as if the other value were absent.
                let mut change = Change::default();
                change.as_kind(left, right, left_kind)?;
                self.unite(change);
            }
        }
        self.as_kind(left, right, form)
    }

    fn as_kind(&mut self, left: Option<&Value>, right: Option<&Value>, kind: Kind) -> Result<(), Errors> {
        match kind {
            Kind::Undeclared => return Err(Errors::one(UNDECLARED)),
            Kind::Scalar(scalar) => return self.scalars(left, right, scalar),
            Kind::List(list) => {
                let a = items_of(left);
                let b = items_of(right);
                // Two empty lists are leaves, so that null and empty differ.
                if matches!(list.items, Items::Atomic) || a.is_empty() && b.is_empty() {
                    self.leaf(left, right);
                    return Ok(());
                }
                self.lists(a, b, &list)?;
            }
            Kind::Map(map) => {
                let a = members(left);
                let b = members(right);
                if map.atomic || a.is_none() && b.is_none() {
                    self.leaf(left, right);
                    return Ok(());
                }
                self.below.maps(a, b, &map)?;
            }
        }
        self.added |= left.is_none();
        self.removed |= right.is_none();
        Ok(())
    }

    fn scalars(&mut self, left: Option<&Value>, right: Option<&Value>, scalar: Scalar) -> Result<(), Errors> {
        if let (Some(left), Some(right)) = (left, right)
            && let Some(bad_left) = mismatch(scalar, left, "lhs: ")
            && let Some(bad_right) = mismatch(scalar, right, "rhs: ")
        {
            return Err(Errors(vec![bad_left, bad_right]));
        }
        self.leaf(left, right);
        Ok(())
    }

    fn leaf(&mut self, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (Some(left), Some(right)) => self.modified |= !values_equal(left, right),
            (None, _) => self.added = true,
            (_, None) => self.removed = true,
        }
    }

    fn lists(&mut self, left: &[Value], right: &[Value], list: &List) -> Result<(), Errors> {
        if left == right {
            return Ok(());
        }
        let keyer = Keyer::of(list);
        match list.items {
            Items::Set => self.sorted::<ScalarItem>(keyer.sorted(left), keyer.sorted(right), &keyer, list),
            _ => self.sorted::<Keyed>(keyer.sorted(left), keyer.sorted(right), &keyer, list),
        }
    }

    fn sorted<'v, T: Item<'v>>(
        &mut self,
        left: Result<Vec<T>, Errors>,
        right: Result<Vec<T>, Errors>,
        keyer: &Keyer<'_>,
        list: &List,
    ) -> Result<(), Errors> {
        let (left, right) = match (left, right) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(mut left), Err(right)) => {
                left.append(right, "");
                return Err(left);
            }
            (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => return Err(errors),
        };
        let mut left = left.as_slice();
        let mut right = right.as_slice();
        match (left, right) {
            ([], right) => self.below.added.reserve(right.len()),
            (left, []) => self.below.removed.reserve(left.len()),
            _ => {}
        }
        loop {
            let order = match (left.first(), right.first()) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(left), Some(right)) => left.order(right),
            };
            let (left_group, right_group);
            (left_group, left) = if order.is_le() { items::split_group(left) } else { (&[][..], left) };
            (right_group, right) = if order.is_ge() { items::split_group(right) } else { (&[][..], right) };
            self.below.group(left_group, right_group, keyer, list.element)?;
        }
    }

    /// Adds the changes of the same values in another form.
    fn unite(&mut self, other: Change) {
        self.removed |= other.removed;
        self.modified |= other.modified;
        self.added |= other.added;
        for node in other.below.removed.into_nodes() {
            self.below.removed.push(node.element, node.member, node.children);
        }
        for node in other.below.modified.into_nodes() {
            self.below.modified.push(node.element, node.member, node.children);
        }
        for node in other.below.added.into_nodes() {
            self.below.added.push(node.element, node.member, node.children);
        }
    }
}

impl Comparison {
    fn maps(&mut self, left: Option<&Object>, right: Option<&Object>, map: &Map) -> Result<(), Errors> {
        let mut errors = Errors::default();
        let mut types = Members::of(map);
        match (left, right) {
            (None, Some(right)) => self.added.reserve(right.len()),
            (Some(left), None) => self.removed.reserve(left.len()),
            _ => {}
        }
        for (name, left, right) in zip(left, right) {
            if same_scalar(left, right) {
                continue;
            }
            let (ty, _) = types.member(name);
            let mut change = Change::default();
            match change.compare(left, right, ty) {
                Ok(()) => self.attach(|| PathElement::field(name), change),
                Err(inner) => errors.append(inner, format_args!(".{name}")),
            }
        }
        errors.result()
    }

    /// Compares the items with one key; at least one side has one.
    fn group<'v, T: Item<'v>>(
        &mut self,
        left: &[T],
        right: &[T],
        keyer: &Keyer<'_>,
        element: TypeRef,
    ) -> Result<(), Errors> {
        let Some(first) = left.first().or(right.first()) else { return Ok(()) };
        let path = || first.element(keyer);
        let mut change = Change::default();
        // If one side has the item once and the other several times, the single item is compared with
        // nothing.
        let (old_item, new_item) = match (left, right) {
            ([] | [_], [] | [_]) => (left.first(), right.first()),
            ([_, _, ..], [_, _, ..]) => {
                change.modified = left.len() != right.len()
                    || left.iter().zip(right).any(|(left, right)| !values_equal(left.item(), right.item()));
                (None, None)
            }
            ([_, _, ..], _) => {
                change.removed = true;
                (None, right.first())
            }
            (_, [_, _, ..]) => {
                change.added = true;
                (left.first(), None)
            }
        };
        let old_item = old_item.map(Item::item);
        let new_item = new_item.map(Item::item);
        if old_item.is_some() || new_item.is_some() {
            change.compare(old_item, new_item, element).map_err(|inner| {
                let mut errors = Errors::default();
                errors.append(inner, path());
                errors
            })?;
        }
        self.attach(path, change);
        Ok(())
    }

    /// Adds the changes at a step, if any.
    fn attach(&mut self, path: impl Fn() -> PathElement, change: Change) {
        let Change { removed, modified, added, below } = change;
        for (set, member, below) in [
            (&mut self.removed, removed, below.removed),
            (&mut self.modified, modified, below.modified),
            (&mut self.added, added, below.added),
        ] {
            if member || !below.is_empty() {
                set.push(path(), member, below);
            }
        }
    }
}

/// True if both sides are the same scalar; then their type does not matter.
#[inline]
fn same_scalar(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::String(left)), Some(Value::String(right))) => left == right,
        (Some(Value::Number(left)), Some(Value::Number(right))) => left == right,
        (Some(Value::Bool(left)), Some(Value::Bool(right))) => left == right,
        _ => false,
    }
}
