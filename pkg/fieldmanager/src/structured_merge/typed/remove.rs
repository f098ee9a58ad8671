//! Removes the fields of a set from a value, or all others.

use std::cmp::Ordering;

use jsontree::Value;

use super::items::Keyer;
use crate::structured_merge::Set;
use crate::structured_merge::model::{Items, Kind, List, Map, TypeRef};
use crate::structured_merge::set::Node;
use schema::object::Object;

/// Returns the value without the set's fields and items and their children. As in upstream, a map or list that becomes empty
/// is null. Atomic values remain whole unless they are themselves in the set.
pub fn remove(value: &Value, set: &Set, ty: TypeRef) -> Value {
    walk(value, set, ty, Mode::Remove)
}

/// Returns only the set's fields and items, with their enclosing maps and lists. An item keeps only the keys
/// that are in the set.
pub fn extract(value: &Value, set: &Set, ty: TypeRef) -> Value {
    walk(value, set, ty, Mode::Extract)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Remove,
    Extract,
}

fn walk(value: &Value, set: &Set, ty: TypeRef, mode: Mode) -> Value {
    match (ty.kind(Some(value)), value) {
        (Kind::Scalar(_), value) => value.clone(),
        (Kind::List(list), Value::Array(items)) => match (mode, items.is_empty(), list.items) {
            (Mode::Extract, true, _) | (Mode::Extract, _, Items::Atomic) => value.clone(),
            (Mode::Remove, true, _) | (Mode::Remove, _, Items::Atomic) => Value::Null,
            _ => walk_list(items, set, &list, mode),
        },
        (Kind::Map(map), Value::Object(members)) => match (mode, members.is_empty() || map.atomic) {
            (Mode::Extract, true) => value.clone(),
            (Mode::Remove, true) => Value::Null,
            _ => walk_map(members, set, &map, mode),
        },
        _ => Value::Null,
    }
}

fn walk_list(items: &[Value], set: &Set, list: &List, mode: Mode) -> Value {
    let mut retained = Vec::new();
    let keyer = Keyer::of(list);
    for item in items {
        let node = keyer.key(item).ok().and_then(|key| set.node(&keyer.element(&key)));
        let member = node.is_some_and(|node| node.member);
        let below = node.map(|node| &node.children).filter(|below| !below.is_empty());
        match (mode, member, below) {
            (Mode::Remove, true, _) => {}
            (_, _, Some(below)) => retained.push(walk(item, below, list.element, mode)),
            (Mode::Remove, false, None) | (Mode::Extract, true, None) => retained.push(item.clone()),
            (Mode::Extract, false, None) => {}
        }
    }
    if retained.is_empty() { Value::Null } else { Value::Array(retained) }
}

fn walk_map(members: &Object, set: &Set, map: &Map, mode: Mode) -> Value {
    let mut retained = Object::new();
    for (name, value) in members {
        let node = field_node(set, name);
        let member = node.is_some_and(|node| node.member);
        let below = node.map(|node| &node.children).filter(|below| !below.is_empty());
        let value = match (mode, member, below) {
            (Mode::Remove, true, _) | (Mode::Extract, false, None) => continue,
            (Mode::Remove, false, None) => value.clone(),
            (_, false, Some(below)) => walk(value, below, map.member(name).0, mode),
            // Upstream continues with the set of this level.
            (Mode::Extract, true, _) => walk(value, set, map.member(name).0, mode),
        };
        retained.insert(name.clone(), value);
    }
    if retained.is_empty() { Value::Null } else { Value::Object(retained) }
}

fn field_node<'a>(set: &'a Set, name: &str) -> Option<&'a Node> {
    // Fields are sorted before all other steps.
    let order = |node: &Node| node.element.as_field().map_or(Ordering::Greater, |field| field.cmp(name));
    let at = set.nodes().binary_search_by(order).ok()?;
    set.nodes().get(at)
}
