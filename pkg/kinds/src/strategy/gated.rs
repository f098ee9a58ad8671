//! Fields behind feature gates. While a gate is disabled, an object keeps such a field only if it already had
//! it, so that disabling a gate destroys no data (upstream's `dropDisabledFields` functions). The descriptors of kinds
//! list the fields.

pub(crate) mod fields;
pub(crate) mod shared;

use crate::builtin::kind_of;
use api::resources::Resource;
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;

use fields::{EACH, EACH_NAMED, EXCEPT, GatedFields, Path};

/// Drops the fields of disabled gates from `new` unless `old` uses them; `old` is `None` on create.
/// `subresource` is the endpoint of the write, empty for the resource itself.
pub(super) fn drop_unused(
    row: &Resource<'_>,
    subresource: &str,
    new: &mut Object,
    old: Option<&Object>,
    gates: &Gates,
) {
    for place in kind_of(row)
        .map_or(&[][..], |kind| kind.gated)
        .iter()
        .filter(|place| place.not_through != Some(subresource))
    {
        match place.path.split_first() {
            None => drop_from(new, old, place.fields, gates),
            Some((first, rest)) => {
                if let Some(new) = new.get_mut(*first) {
                    drop_below(new, old.and_then(|old| old.get(*first)), rest, place.fields, gates);
                }
            }
        }
    }
}

fn drop_below(new: &mut Value, old: Option<&Value>, at: Path, gated: &[GatedFields], gates: &Gates) {
    match at.split_first() {
        None => {
            if let Some(new) = new.as_object_mut() {
                drop_from(new, old.and_then(Value::as_object), gated, gates);
            }
        }
        Some((&EACH, rest)) => {
            for (position, item) in new.as_array_mut().into_iter().flatten().enumerate() {
                drop_below(item, old.and_then(|old| old.get(position)), rest, gated, gates);
            }
        }
        Some((&EACH_NAMED, rest)) => {
            for item in new.as_array_mut().into_iter().flatten() {
                let old = old.and_then(|old| item_named(old, item.get("name")));
                drop_below(item, old, rest, gated, gates);
            }
        }
        Some((name, rest)) => {
            if let Some(new) = new.get_mut(*name) {
                drop_below(new, old.and_then(|old| old.get(*name)), rest, gated, gates);
            }
        }
    }
}

/// Returns the last item of a list with this name.
fn item_named<'v>(list: &'v Value, name: Option<&Value>) -> Option<&'v Value> {
    list.as_array()?.iter().rev().find(|item| item.get("name") == name)
}

fn drop_from(new: &mut Object, old: Option<&Object>, gated: &[GatedFields], gates: &Gates) {
    let unused = |gated: &&GatedFields| !old.is_some_and(|old| gated.are_used_in(old));
    for gated in gated.iter().filter(|gated| gated.are_closed(gates)).filter(unused) {
        if let Some(drop) = gated.drop {
            drop(new);
            continue;
        }
        for (first, rest) in gated.fields.iter().filter_map(|path| path.split_first()) {
            match (new.get_mut(*first), rest) {
                (Some(_), []) => _ = new.remove(*first),
                (Some(at), rest) => _ = remove_value(at, rest, gated.with_empty_parent),
                (None, _) => {}
            }
        }
    }
}

impl GatedFields {
    fn are_closed(&self, gates: &Gates) -> bool {
        self.gate.is_none_or(|gate| !gates.enabled(gate))
    }

    /// True if the object, or a struct in it, shows that the fields are in use.
    fn are_used_in(&self, old: &Object) -> bool {
        let used_by = if self.used_by.is_empty() { self.fields } else { self.used_by };
        let mut steps = used_by.iter().filter_map(|path| path.split_first());
        steps.any(|(first, rest)| old.get(*first).is_some_and(|at| has(at, rest)))
    }
}

fn has(value: &Value, path: &[&str]) -> bool {
    match (path.split_first(), value) {
        (None, Value::Null) => false,
        (None, Value::Array(items)) => !items.is_empty(),
        (None, Value::String(text)) => !text.is_empty(),
        (None, _) => true,
        (Some((step, [])), Value::String(text)) => step.strip_prefix(EXCEPT).is_some_and(|e| text != e),
        (Some((&EACH, rest)), Value::Array(items)) => items.iter().any(|item| has(item, rest)),
        (Some((&EACH, rest)), Value::Object(map)) => map.values().any(|item| has(item, rest)),
        (Some((name, rest)), Value::Object(map)) => map.get(*name).is_some_and(|member| has(member, rest)),
        _ => false,
    }
}

/// Removes the value at the path. Returns true if `value` lost a member of its own.
fn remove_value(value: &mut Value, path: &[&str], with_empty_parent: bool) -> bool {
    match (path, value) {
        ([EACH, rest @ ..], Value::Array(items)) => {
            items.iter_mut().for_each(|item| {
                remove_value(item, rest, with_empty_parent);
            });
            false
        }
        ([EACH, rest @ ..], Value::Object(map)) => {
            map.values_mut().for_each(|item| {
                remove_value(item, rest, with_empty_parent);
            });
            false
        }
        ([name], Value::Object(map)) => map.remove(*name).is_some(),
        ([name, step], Value::Object(map)) if step.starts_with(EXCEPT) => {
            map.get(*name).is_some_and(|value| has(value, &[step])) && map.remove(*name).is_some()
        }
        ([name, rest @ ..], Value::Object(map)) => {
            let Some(member) = map.get_mut(*name) else { return false };
            let shrank = remove_value(member, rest, with_empty_parent);
            let empty = member.as_object().is_some_and(Object::is_empty);
            shrank && with_empty_parent && empty && map.remove(*name).is_some()
        }
        _ => false,
    }
}
