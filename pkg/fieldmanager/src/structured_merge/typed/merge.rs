//! Merges one value into another.

use jsontree::Value;

use super::error::Errors;
use super::items::{Item, Keyed, Keyer, Scalar};
use super::validate::{UNDECLARED, mismatch};
use super::{items_of, members};
use crate::structured_merge::model::{Items, Kind, List, Map, Members, TypeRef};
use schema::object::Object;

/// Merges `right` into `left`. Nothing is removed; for common leaves the right value wins. Common items are
/// in the order of `right`, others keep their position among them. Only the left may have duplicate items; a
/// right item replaces all its duplicates.
///
/// # Errors
/// Upstream's errors, if both do not match the type or the right has a duplicate item.
pub fn merge(left: &Value, right: Value, ty: TypeRef) -> Result<Value, Errors> {
    both(left, right, ty).map(Option::unwrap_or_default)
}

/// Merges two values; a value without counterpart is unchanged.
fn either(left: Option<&Value>, right: Option<Value>, ty: TypeRef) -> Result<Option<Value>, Errors> {
    match (left, right) {
        (Some(left), Some(right)) => both(left, right, ty),
        (left, None) => Ok(left.cloned()),
        (None, right) => Ok(right),
    }
}

fn both(left: &Value, right: Value, ty: TypeRef) -> Result<Option<Value>, Errors> {
    // If the type allows several forms, the right value decides; a left value of another form counts as
    // empty.
    match ty.kind(Some(&right)) {
        Kind::Undeclared => Err(Errors::one(UNDECLARED)),
        Kind::Scalar(scalar) => match (mismatch(scalar, left, "lhs: "), mismatch(scalar, &right, "rhs: ")) {
            (Some(left), Some(right)) => Err(Errors(vec![left, right])),
            _ => Ok(Some(right)),
        },
        Kind::List(list) => {
            let a = items_of(Some(left));
            let b = items_of(Some(&right));
            // Two empty lists are leaves, so that null and empty differ.
            if matches!(list.items, Items::Atomic) || a.is_empty() && b.is_empty() {
                return Ok(Some(right));
            }
            match right {
                // The items become part of the result unchanged.
                Value::Array(items) if a.is_empty() => {
                    check_keys(&items, &list)?;
                    Ok(Some(Value::Array(items)))
                }
                right => lists(a, items_of(Some(&right)), &list),
            }
        }
        Kind::Map(map) => {
            let a = members(Some(left));
            let b = members(Some(&right));
            if map.atomic || a.is_none() && b.is_none() {
                return Ok(Some(right));
            }
            match right {
                Value::Object(right) => maps(a, right, &map),
                _ => maps(a, Object::new(), &map),
            }
        }
    }
}

fn maps(left: Option<&Object>, right: Object, map: &Map) -> Result<Option<Value>, Errors> {
    let mut merged = Object::new();
    let mut errors = Errors::default();
    let mut types = Members::of(map);
    let mut left = left.into_iter().flatten().peekable();
    let mut add = |name: jsontree::Key, left: Option<&Value>, right: Option<Value>| match either(
        left,
        right,
        types.member(&name).0,
    ) {
        Ok(Some(value)) => drop(merged.insert(name, value)),
        Ok(None) => {}
        Err(inner) => errors.append(inner, format_args!(".{name}")),
    };
    // Both are sorted by name.
    for (name, right) in right {
        while let Some((left_name, value)) = left.next_if(|(other, _)| **other < name) {
            add(left_name.clone(), Some(value), None);
        }
        let left = left.next_if(|(other, _)| **other == name).map(|(_, value)| value);
        add(name, left, Some(right));
    }
    left.for_each(|(name, value)| add(name.clone(), Some(value), None));
    errors.result()?;
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

/// Fails if an item has no key, or the key of another item. Takes less memory than an [`Index`].
fn check_keys(items: &[Value], list: &List) -> Result<(), Errors> {
    let keyer = Keyer::of(list);
    match list.items {
        Items::Set => check_sorted::<Scalar>(&keyer.sorted(items)?, &keyer),
        _ => check_sorted::<Keyed>(&keyer.sorted(items)?, &keyer),
    }
}

fn check_sorted<'v, T: Item<'v>>(sorted: &[T], keyer: &Keyer<'_>) -> Result<(), Errors> {
    let mut errors = Errors::default();
    for pair in sorted.windows(2) {
        if let [previous, item] = pair
            && item.order(previous).is_eq()
        {
            errors.push(format!("duplicate entries for key {}", item.element(keyer)));
        }
    }
    errors.result()
}

/// The items of both lists; items with the same key have the same number.
struct Index<'v> {
    /// The number of each item, by position.
    left: Vec<usize>,
    right: Vec<usize>,
    /// The item, by number; null for duplicates on the left.
    left_items: Vec<Option<&'v Value>>,
    right_items: Vec<Option<&'v Value>>,
}

static NULL: Value = Value::Null;

impl<'v> Index<'v> {
    fn of(left: &'v [Value], right: &'v [Value], list: &List) -> Result<Self, Errors> {
        match list.items {
            Items::Set => Index::new::<Scalar>(left, right, &Keyer::of(list)),
            _ => Index::new::<Keyed>(left, right, &Keyer::of(list)),
        }
    }

    fn new<'k, T: Item<'k>>(
        left: &'v [Value],
        right: &'v [Value],
        keyer: &'k Keyer<'_>,
    ) -> Result<Self, Errors>
    where
        'v: 'k,
    {
        let mut errors = Errors::default();
        let right_keys: Vec<T> = keys(right, keyer, &mut errors);
        let left_keys: Vec<T> = keys(left, keyer, &mut errors);
        let mut sorted: Vec<&T> = right_keys.iter().chain(&left_keys).collect();
        sorted.sort_by(|a, b| a.order(b));
        sorted.dedup_by(|a, b| a.order(b).is_eq());
        let mut index = Index {
            left: numbers(&left_keys, &sorted),
            right: numbers(&right_keys, &sorted),
            left_items: vec![None; sorted.len()],
            right_items: vec![None; sorted.len()],
        };
        for ((number, item), key) in index.right.iter().zip(right).zip(&right_keys) {
            match index.right_items.get_mut(*number) {
                Some(slot @ None) => *slot = Some(item),
                _ => errors.push(format!("duplicate entries for key {}", key.element(keyer))),
            }
        }
        for (number, item) in index.left.iter().zip(left) {
            if let Some(slot) = index.left_items.get_mut(*number) {
                *slot = Some(if slot.is_none() { item } else { &NULL });
            }
        }
        errors.result().map(|()| index)
    }

    fn left_item(&self, number: usize) -> Option<&'v Value> {
        self.left_items.get(number).copied().flatten()
    }

    fn right_item(&self, number: usize) -> Option<&'v Value> {
        self.right_items.get(number).copied().flatten()
    }
}

/// The position of each key among the sorted keys of both lists.
fn numbers<'v, T: Item<'v>>(keys: &[T], sorted: &[&T]) -> Vec<usize> {
    let number = |key: &T| sorted.binary_search_by(|other| other.order(key)).unwrap_or_default();
    keys.iter().map(number).collect()
}

fn keys<'v, T: Item<'v>>(items: &'v [Value], keyer: &'v Keyer<'_>, errors: &mut Errors) -> Vec<T> {
    let mut keys = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match keyer.key(item) {
            Ok(key) => keys.push(T::new(key, item)),
            Err(error) => errors.push(format!("element {at}: {error}")),
        }
    }
    keys
}

/// Merges both lists in parallel. Left-only items are taken at their position. Between two shared items they
/// are taken only after the first of these, by the order of the right list.
fn lists(left: &[Value], right: &[Value], list: &List) -> Result<Option<Value>, Errors> {
    let index = Index::of(left, right, list)?;
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let mut add = |left: Option<&Value>, right: Option<&Value>| {
        // Upstream drops the errors of items.
        merged.extend(either(left, right.cloned(), list.element).ok().flatten());
    };
    let mut merged_right = vec![false; index.right_items.len()];
    let mut shared = index.right.iter().copied().filter(|number| index.left_item(*number).is_some());
    let mut next_shared = shared.next();
    let mut l = 0;
    let mut r = 0;
    loop {
        let of_left = index.left.get(l).copied();
        let of_right = index.right.get(r).copied();
        match of_left {
            // Merged below.
            Some(_) if of_left == of_right => l += 1,
            // Taken by position, because it may be a duplicate.
            Some(number) if index.right_item(number).is_none() => {
                add(left.get(l), None);
                l += 1;
                continue;
            }
            // A shared item that comes at another position.
            Some(number) if of_right.is_some() && next_shared.is_some_and(|next| next != number) => {
                l += 1;
                continue;
            }
            Some(number) if merged_right.get(number) == Some(&true) => l += 1,
            Some(_) => {}
            None if of_right.is_none() => break,
            None => {}
        }
        if let Some(number) = of_right {
            r += 1;
            add(index.left_item(number), index.right_item(number));
            if let Some(flag) = merged_right.get_mut(number) {
                *flag = true;
            }
            if of_left == of_right || next_shared == Some(number) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Array(merged)))
}
