//! Validates values against their types.

use jsontree::Value;

use super::error::Errors;
use super::go_syntax::{Plain, Sharp, type_name};
use super::items::{self, Item, Keyer};
use crate::structured_merge::model::{Items, Kind, List, Map, Members, Scalar, TypeRef};
use schema::object::Object;

/// Policy for duplicate items in sets and maps. Stored objects may have duplicates because they may predate
/// this validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Duplicates are valid.
    Allow,
    /// Duplicates are errors.
    Reject,
}

/// Validates a value against a type.
///
/// # Errors
/// All errors, with members in the order of their names. After an undeclared member, the rest of its object
/// is not validated. `null` is valid for every type.
pub fn validate(value: &Value, ty: TypeRef, duplicates: Duplicates) -> Result<(), Errors> {
    let mut errors = Errors::default();
    walk(value, ty, duplicates, &mut errors);
    errors.result()
}

fn walk(value: &Value, ty: TypeRef, duplicates: Duplicates, errors: &mut Errors) {
    match (ty.kind(Some(value)), value) {
        (Kind::Undeclared, _) => errors.push(UNDECLARED),
        (Kind::Scalar(scalar), _) => {
            mismatch(scalar, value, "").into_iter().for_each(|error| errors.add(error))
        }
        (Kind::List(list), Value::Array(items)) => walk_list(items, &list, duplicates, errors),
        (Kind::Map(map), Value::Object(members)) => walk_map(members, &map, duplicates, errors),
        (_, Value::Null | Value::Raw(_)) => {}
        (Kind::List(_), other) => errors.push(format!("expected list, got {}", Plain(other))),
        (Kind::Map(_), other) => errors.push(format!("expected map, got {}", Plain(other))),
    }
}

/// The error for values that the type does not allow at all.
pub(super) const UNDECLARED: &str = "schema error: invalid atom: inlined";

pub(super) fn mismatch(scalar: Scalar, value: &Value, side: &str) -> Option<super::Error> {
    let message = match (scalar, value) {
        (_, Value::Null | Value::Raw(_))
        | (Scalar::Numeric | Scalar::Untyped, Value::Number(_))
        | (Scalar::String | Scalar::Untyped, Value::String(_))
        | (Scalar::Boolean | Scalar::Untyped, Value::Bool(_)) => return None,
        (Scalar::Numeric, _) => format!("{side}expected numeric (int or float), got {}", type_name(value)),
        (Scalar::String, _) => format!("{side}expected string, got {}", Sharp(value)),
        (Scalar::Boolean, _) => format!("{side}expected boolean, got {}", Plain(value)),
        (Scalar::Untyped, _) => format!("{side}expected any scalar, got {}", Plain(value)),
    };
    Some(super::Error { path: String::new(), message })
}

fn walk_map(members: &Object, map: &Map, duplicates: Duplicates, errors: &mut Errors) {
    let mut types = Members::of(map);
    for (name, value) in members {
        let start = errors.0.len();
        let Some(ty) = types.field(name).or_else(|| map.element()) else {
            errors.push("field not declared in schema");
            return errors.prefix(start, format_args!(".{name}"));
        };
        walk(value, ty, duplicates, errors);
        errors.prefix(start, format_args!(".{name}"));
    }
}

fn walk_list(items: &[Value], list: &List, duplicates: Duplicates, errors: &mut Errors) {
    if let Items::Atomic = list.items {
        for (at, item) in items.iter().enumerate() {
            let start = errors.0.len();
            walk(item, list.element, duplicates, errors);
            errors.prefix(start, format_args!("[{at}]"));
        }
        return;
    }
    let keyer = Keyer::of(list);
    let repeated = match (duplicates, list.items) {
        (Duplicates::Allow, _) => Vec::new(),
        (Duplicates::Reject, Items::Set) => repeated::<items::Scalar>(items, &keyer),
        (Duplicates::Reject, _) => repeated::<items::Keyed>(items, &keyer),
    };
    for (at, item) in items.iter().enumerate() {
        let key = match keyer.key(item) {
            Ok(key) => key,
            // Upstream stops validating the list here.
            Err(error) => return errors.push(format!("element {at}: {error}")),
        };
        if repeated.get(at) == Some(&true) {
            errors.push(format!("duplicate entries for key {}", keyer.element(&key)));
        }
        let start = errors.0.len();
        walk(item, list.element, duplicates, errors);
        if errors.0.len() > start {
            errors.prefix(start, keyer.element(&key));
        }
    }
}

/// For each item, true if an earlier item has the same key. The result ends at the first item without a key.
fn repeated<'v, T: Item<'v>>(items: &'v [Value], keyer: &'v Keyer<'_>) -> Vec<bool> {
    let with_keys = items.iter().map_while(|item| Some(T::new(keyer.key(item).ok()?, item))).enumerate();
    let mut keyed = Vec::with_capacity(items.len());
    keyed.extend(with_keys.map(|(at, item)| (item, at)));
    let mut repeated = vec![false; keyed.len()];
    // Sorts in place, because the list may be long.
    keyed.sort_unstable_by(|(a, a_at), (b, b_at)| a.order(b).then(a_at.cmp(b_at)));
    for pair in keyed.windows(2) {
        if let [(previous, _), (item, at)] = pair
            && item.order(previous).is_eq()
            && let Some(slot) = repeated.get_mut(*at)
        {
            *slot = true;
        }
    }
    repeated
}
