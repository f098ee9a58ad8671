//! Merges one value into another.

use jsontree::Value;

use super::error::Errors;
use super::items::{ItemKey, Keyer};
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
                    Index::new(a, &items, &list)?;
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
    fn new(left: &'v [Value], right: &'v [Value], list: &List) -> Result<Self, Errors> {
        let mut errors = Errors::default();
        let keyer = Keyer::of(list);
        let right_keys = keys(right, &keyer, &mut errors);
        let left_keys = keys(left, &keyer, &mut errors);
        let mut sorted: Vec<&ItemKey> = right_keys.iter().chain(&left_keys).collect();
        sorted.sort();
        sorted.dedup();
        let mut index = Index {
            left: numbers(&left_keys, &sorted),
            right: numbers(&right_keys, &sorted),
            left_items: vec![None; sorted.len()],
            right_items: vec![None; sorted.len()],
        };
        for ((number, item), key) in index.right.iter().zip(right).zip(&right_keys) {
            match index.right_items.get_mut(*number) {
                Some(slot @ None) => *slot = Some(item),
                _ => errors.push(format!("duplicate entries for key {}", keyer.element(key))),
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
fn numbers<'v>(keys: &[ItemKey<'v>], sorted: &[&ItemKey<'v>]) -> Vec<usize> {
    let number = |key: &ItemKey<'v>| sorted.binary_search_by(|other| (*other).cmp(key)).unwrap_or_default();
    keys.iter().map(number).collect()
}

fn keys<'v>(items: &'v [Value], keyer: &'v Keyer<'_>, errors: &mut Errors) -> Vec<ItemKey<'v>> {
    let mut keys = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match keyer.key(item) {
            Ok(key) => keys.push(key),
            Err(error) => errors.push(format!("element {at}: {error}")),
        }
    }
    keys
}

/// Merges both lists in parallel. Left-only items are taken at their position. Between two shared items they
/// are taken only after the first of these, by the order of the right list.
fn lists(left: &[Value], right: &[Value], list: &List) -> Result<Option<Value>, Errors> {
    let index = Index::new(left, right, list)?;
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
