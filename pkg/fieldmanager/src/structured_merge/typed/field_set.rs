//! The fields of a value, independent of owners.

use jsontree::{Object, Value};

use super::error::Errors;
use super::items::{self, Item, Keyed, Keyer, Scalar};
use super::validate::UNDECLARED;
use super::{items_of, members};
use crate::structured_merge::model::{Items, Kind, List, Map, Members, TypeRef};
use crate::structured_merge::{PathElement, Set};

/// The paths of all leaves and list items of a value, of map members and of empty structs. For duplicate
/// items only the item itself is in the set, not its content.
///
/// # Errors
/// The value is invalid.
pub fn field_set(value: &Value, ty: TypeRef) -> Result<Set, Errors> {
    walk(value, ty).map(|(_, below)| below)
}

/// Returns true if the value itself is in the set, and the set of its children.
fn walk(value: &Value, ty: TypeRef) -> Result<(bool, Set), Errors> {
    match ty.kind(Some(value)) {
        Kind::Undeclared => Err(Errors::one(UNDECLARED)),
        Kind::Scalar(_) => Ok((true, Set::new())),
        Kind::List(List { items: Items::Atomic, .. }) | Kind::Map(Map { atomic: true, .. }) => {
            Ok((true, Set::new()))
        }
        Kind::List(list) => walk_list(items_of(Some(value)), &list).map(|below| (false, below)),
        Kind::Map(map) => walk_map(value, &map).map(|below| (false, below)),
    }
}

fn walk_map(value: &Value, map: &Map) -> Result<Set, Errors> {
    let members = members(Some(value));
    let mut set = Set::with_capacity(members.map_or(0, Object::len));
    let mut errors = Errors::default();
    let mut types = Members::of(map);
    for (name, value) in members.into_iter().flatten() {
        let (ty, declared) = types.member(name);
        let empty = match value {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        match walk(value, ty) {
            Ok((member, below)) => set.push(PathElement::field(name), member || empty || !declared, below),
            // Upstream drops the path here.
            Err(inner) => errors.append(inner, ""),
        }
    }
    errors.result().map(|()| set)
}

fn walk_list(items: &[Value], list: &List) -> Result<Set, Errors> {
    let keyer = Keyer::of(list);
    match list.items {
        Items::Set => walk_sorted::<Scalar>(&keyer.sorted(items)?, &keyer, list),
        // A removal of all members of an item leaves null, which has no key. Upstream ignores such items here.
        _ if items.iter().any(Value::is_null) => {
            let keyed: Vec<Value> = items.iter().filter(|item| !item.is_null()).cloned().collect();
            walk_sorted::<Keyed>(&keyer.sorted(&keyed)?, &keyer, list)
        }
        _ => walk_sorted::<Keyed>(&keyer.sorted(items)?, &keyer, list),
    }
}

fn walk_sorted<'v, T: Item<'v>>(items: &[T], keyer: &Keyer<'_>, list: &List) -> Result<Set, Errors> {
    let mut set = Set::with_capacity(items.len());
    let mut rest = items;
    while let (group @ [first, ..], remaining) = items::split_group(rest) {
        let below = match group {
            [only] => walk(only.item(), list.element)?.1,
            _ => Set::new(),
        };
        set.push(first.element(keyer), true, below);
        rest = remaining;
    }
    Ok(set)
}
