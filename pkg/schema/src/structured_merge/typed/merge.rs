//! One value merged into another.

use serde_json::Value;

use super::error::Errors;
use super::items::{ItemKey, key};
use super::validate::{UNDECLARED, mismatch};
use super::{items_of, members, zip};
use crate::object::Object;
use crate::structured_merge::model::{Items, Kind, List, Map, Members, TypeRef};

/// What `left` becomes when `right` is merged into it: nothing goes, and of leaves that both have
/// the right one stays. Items that both have stand in the order of `right`, others where they stood
/// among them. Items may occur twice on the left alone; what `right` says about such an item replaces
/// them.
///
/// # Errors
/// Upstream's, where both are no values of the type or an item occurs twice on the right.
pub fn merge(left: &Value, right: &Value, ty: TypeRef) -> Result<Value, Errors> {
    both(left, right, ty).map(Option::unwrap_or_default)
}

/// One that has no counterpart stays as it is.
fn either(left: Option<&Value>, right: Option<&Value>, ty: TypeRef) -> Result<Option<Value>, Errors> {
    match (left, right) {
        (Some(left), Some(right)) => both(left, right, ty),
        (only, None) | (None, only) => Ok(only.cloned()),
    }
}

fn both(left: &Value, right: &Value, ty: TypeRef) -> Result<Option<Value>, Errors> {
    // Where the type allows several forms the right one decides: the left is then as good as empty.
    match ty.kind(Some(right)) {
        Kind::Undeclared => Err(Errors::one(UNDECLARED)),
        Kind::Scalar(scalar) => match (mismatch(scalar, left, "lhs: "), mismatch(scalar, right, "rhs: ")) {
            (Some(left), Some(right)) => Err(Errors(vec![left, right])),
            _ => Ok(Some(right.clone())),
        },
        Kind::List(list) => {
            let (a, b) = (items_of(Some(left)), items_of(Some(right)));
            match list.items {
                Items::Atomic => Ok(Some(right.clone())),
                // Two that are empty are a leaf, so that null and empty are not the same.
                _ if a.is_empty() && b.is_empty() => Ok(Some(right.clone())),
                _ => lists(a, b, &list),
            }
        }
        Kind::Map(map) => {
            let (a, b) = (members(Some(left)), members(Some(right)));
            match map.atomic || a.is_none() && b.is_none() {
                true => Ok(Some(right.clone())),
                false => maps(a, b, &map),
            }
        }
    }
}

fn maps(left: Option<&Object>, right: Option<&Object>, map: &Map) -> Result<Option<Value>, Errors> {
    let mut merged = Object::new();
    let mut errors = Errors::default();
    let mut types = Members::of(map);
    for (name, left, right) in zip(left, right) {
        let (ty, _) = types.member(name);
        match either(left, right, ty) {
            Ok(Some(value)) => {
                merged.insert(name.clone(), value);
            }
            Ok(None) => {}
            Err(inner) => errors.append(inner, format_args!(".{name}")),
        }
    }
    errors.result()?;
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

/// The items of both lists, those of one key under one number.
struct Index<'v> {
    /// By place, the number of each item.
    left: Vec<usize>,
    right: Vec<usize>,
    /// By number, the item; on the left null where it occurs twice.
    left_items: Vec<Option<&'v Value>>,
    right_items: Vec<Option<&'v Value>>,
}

static NULL: Value = Value::Null;

impl<'v> Index<'v> {
    fn new<'s: 'v>(left: &'v [Value], right: &'v [Value], list: &List<'s>) -> Result<Self, Errors> {
        let mut errors = Errors::default();
        let (right_keys, left_keys) = (keys(right, list, &mut errors), keys(left, list, &mut errors));
        let mut sorted: Vec<&ItemKey> = right_keys.iter().chain(&left_keys).collect();
        sorted.sort();
        sorted.dedup();
        let number =
            |key: &ItemKey<'v>| sorted.binary_search_by(|other| (*other).cmp(key)).unwrap_or_default();
        let mut index = Index {
            left: left_keys.iter().map(number).collect(),
            right: right_keys.iter().map(number).collect(),
            left_items: vec![None; sorted.len()],
            right_items: vec![None; sorted.len()],
        };
        for ((number, item), key) in index.right.iter().zip(right).zip(&right_keys) {
            match index.right_items.get_mut(*number) {
                Some(slot @ None) => *slot = Some(item),
                _ => errors.push(format!("duplicate entries for key {}", key.to_element())),
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

fn keys<'v, 's: 'v>(items: &'v [Value], list: &List<'s>, errors: &mut Errors) -> Vec<ItemKey<'v>> {
    let mut keys = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match key(list, item) {
            Ok(key) => keys.push(key),
            Err(error) => errors.push(format!("element {at}: {error}")),
        }
    }
    keys
}

/// Walks both lists at once. What only the left has is taken where it stands, but between two shared
/// items only when it is the turn of the first of them, by the order of the right list.
fn lists(left: &[Value], right: &[Value], list: &List) -> Result<Option<Value>, Errors> {
    let index = Index::new(left, right, list)?;
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let mut add = |left: Option<&Value>, right: Option<&Value>| {
        // Upstream loses the errors of items.
        merged.extend(either(left, right, list.element).ok().flatten());
    };
    let mut done = vec![false; index.right_items.len()];
    let mut shared = index.right.iter().copied().filter(|number| index.left_item(*number).is_some());
    let mut next_shared = shared.next();
    let (mut l, mut r) = (0, 0);
    loop {
        let (of_left, of_right) = (index.left.get(l).copied(), index.right.get(r).copied());
        match of_left {
            // Merged below.
            Some(_) if of_left == of_right => l += 1,
            // Taken by its place, for it may occur twice.
            Some(number) if index.right_item(number).is_none() => {
                add(left.get(l), None);
                l += 1;
                continue;
            }
            // Shared, but its turn is another time.
            Some(number) if of_right.is_some() && next_shared.is_some_and(|next| next != number) => {
                l += 1;
                continue;
            }
            Some(number) if done.get(number) == Some(&true) => l += 1,
            Some(_) => {}
            None if of_right.is_none() => break,
            None => {}
        }
        if let Some(number) = of_right {
            r += 1;
            add(index.left_item(number), index.right_item(number));
            if let Some(done) = done.get_mut(number) {
                *done = true;
            }
            if of_left == of_right || next_shared == Some(number) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Array(merged)))
}
