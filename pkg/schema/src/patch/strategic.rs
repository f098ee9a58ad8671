//! Strategic merge patch: a merge patch that merges lists by key according to the type's tables, and accepts
//! directives.
//!
//! | directive | in | meaning |
//! |---|---|---|
//! | `$patch: replace` | object | replaces the object; in an item, the list becomes the patch's other items |
//! | `$patch: delete` | object | empties it; in an item, deletes the items with its key |
//! | `$retainKeys` | object | removes members that are not listed |
//! | `$setElementOrder/NAME` | beside a list | order of the merged list |
//! | `$deleteFromPrimitiveList/NAME` | beside a list | removes scalars |
//!
//! Upstream walks members in random order; here the order is that of the names.

use std::collections::HashSet;

use jsontree::Value;

use super::{Error, go_format, object_patch};
use crate::json::{self, StrictError};
use crate::object::Object;
use crate::table::{Field, Message};

mod lists;
mod schema;

use lists::Merge;
use schema::Schema;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// Parses a strategic merge patch; `null` is an empty patch.
///
/// # Errors
/// The text is not a JSON object: 400. It exceeds the memory budget: 413.
pub fn parse(text: &[u8]) -> Result<(Object, Vec<StrictError>), Error> {
    match object_patch(text) {
        Ok((patch, strict)) => Ok((patch.unwrap_or_default(), strict)),
        Err(json::Error::BudgetExceeded(error)) => Err(Error::TooLarge(error.to_string())),
        Err(error) => Err(Error::BadRequest(error.to_string())),
    }
}

/// Merges a patch into an object of the given type (as created by [`super::expand`]). The remainder of the
/// patch is the same as in upstream: errors about the merged object quote it (see [`quoted`]).
///
/// # Errors
/// Upstream's errors: invalid directives (400), lists of lists (422), unmergeable lists and unknown members
/// (500).
pub fn apply(message: &'static Message, object: &mut Object, patch: &mut Object) -> Result<(), Error> {
    merge_object(object, patch, Schema::Struct(message))
}

/// A patch as quoted in upstream's errors, in Go's notation for maps.
pub fn quoted(patch: &Object) -> String {
    go_format::object(patch)
}

/// Effect of a member's name in a patch.
pub(super) enum Directive<'n> {
    /// An ordinary member.
    None,
    /// The list with this name beside the directive.
    List(&'n str),
    /// All members of the object.
    Object,
}

/// The directive in the name of a member. An invalid one counts as a member, which no type has.
pub(super) fn directive(name: &str) -> Directive<'_> {
    if name == PATCH || name == RETAIN_KEYS {
        return Directive::Object;
    }
    let list =
        [SET_ELEMENT_ORDER, DELETE_FROM_LIST].into_iter().find_map(|list| directive_target(name, list));
    list.map_or(Directive::None, Directive::List)
}

/// True if a patch replaces a member instead of merging it.
pub(super) fn replaces(field: &Field) -> bool {
    schema::has_strategy(field, "replace")
}

fn failed<T>(text: impl Into<String>) -> Result<T, Error> {
    Err(Error::Failed(text.into()))
}

fn merge_object(original: &mut Object, patch: &mut Object, schema: Schema) -> Result<(), Error> {
    if let Some(directive) = patch.get(PATCH) {
        match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                original.clone_from(patch);
            }
            Some("delete") => original.clear(),
            _ => return failed(unknown_directive(directive, patch)),
        }
        return Ok(());
    }
    retain_keys(original, patch)?;
    set_element_orders(original, patch, schema)?;
    for (name, value) in patch.iter_mut() {
        merge_member(original, name, value, schema)?;
    }
    Ok(())
}

/// Merges one member of a patch, which may be a list of scalars to delete.
fn merge_member(original: &mut Object, name: &str, patch: &mut Value, schema: Schema) -> Result<(), Error> {
    let deletes = name.starts_with(DELETE_FROM_LIST);
    let name = if deletes {
        let invalid = || Error::BadRequest("invalid patch format of primitive list".to_owned());
        directive_target(name, DELETE_FROM_LIST).ok_or_else(invalid)?
    } else {
        name
    };
    if patch.is_null() {
        original.remove(name);
        return Ok(());
    }
    match (original.get_mut(name), patch) {
        (Some(Value::Object(current)), Value::Object(patch)) => {
            let field = schema.field(name)?;
            if field.replaces {
                current.clone_from(patch);
            } else {
                merge_object(current, patch, field.schema)?;
            }
        }
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let field = schema.list_field(name)?;
            if field.merges || deletes {
                let merge = Merge { key: field.merge_key, schema: field.schema, deletes };
                *current = merge.lists(std::mem::take(current), patch)?;
            } else {
                current.clone_from(patch);
            }
        }
        _ if deletes => {}
        (Some(current), patch) if go_format::type_name(current) == go_format::type_name(patch) => {
            current.clone_from(patch);
        }
        (_, patch) => {
            discard_nulls(patch);
            match without_directives(patch) {
                Some(value) => original.insert(name, value),
                None => original.remove(name),
            };
        }
    }
    Ok(())
}

/// Applies `$retainKeys`, which must contain every member of the patch.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Error> {
    let Some(listed) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let invalid = || Error::BadRequest("invalid patch format of retainKeys".to_owned());
    let Value::Array(listed) = listed else { return Err(invalid()) };
    let listed: HashSet<&str> = listed.iter().filter_map(Value::as_str).collect();
    let retained = |name: &str| listed.contains(name);
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !retained(name)) {
        return Err(invalid());
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

/// Applies every `$setElementOrder/NAME` and merges the list NAME.
fn set_element_orders(original: &mut Object, patch: &mut Object, schema: Schema) -> Result<(), Error> {
    let directives: Vec<jsontree::Key> =
        patch.keys().filter(|name| name.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive).unwrap_or_default() {
            Value::Array(order) => order,
            other => return failed(bad_list(&other)),
        };
        let invalid = || Error::BadRequest("invalid patch format of setElementOrder list".to_owned());
        let name = directive_target(&directive, SET_ELEMENT_ORDER).ok_or_else(invalid)?;
        let current = list_member(original, name)?;
        let patch_list = list_member(patch, name)?;
        let field = schema.list_field(name)?;
        let merge = Merge { key: field.merge_key, schema: field.schema, deletes: false };
        merge.check_order(patch_list.as_deref().unwrap_or_default(), &order)?;
        let server_order = current.clone().unwrap_or_default();
        let kind = lists::item_kind(&[&server_order, patch_list.as_deref().unwrap_or_default()]);
        let merged = match (current, patch_list) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(mut patch_list)) => {
                patch_list.retain_mut(drop_directives);
                patch_list
            }
            (Some(current), Some(mut patch_list)) if field.merges => merge.lists(current, &mut patch_list)?,
            (Some(_), Some(patch_list)) => patch_list,
        };
        let (in_order, unordered) = merge.partition(merged, &order)?;
        let sorted = merge.sort(in_order, unordered, &order, &server_order, kind?)?;
        original.insert(name, Value::Array(sorted));
        patch.remove(name);
    }
    Ok(())
}

fn list_member(object: &Object, name: &str) -> Result<Option<Vec<Value>>, Error> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => failed(bad_list(other)),
    }
}

/// The target member of `$directive/NAME`.
fn directive_target<'n>(name: &'n str, directive: &str) -> Option<&'n str> {
    name.split_once('/').filter(|(prefix, _)| *prefix == directive).map(|(_, target)| target)
}

/// A copy without directives; `None` for an object that is a directive. As in upstream, also removes them
/// from the original, except for the items of the outermost list.
fn without_directives(value: &mut Value) -> Option<Value> {
    match value {
        Value::Array(items) => {
            let retained: Vec<bool> = items.iter_mut().map(drop_directives).collect();
            let retained = items.iter().zip(retained).filter(|(_, retained)| *retained);
            Some(Value::Array(retained.map(|(item, _)| item.clone()).collect()))
        }
        other => drop_directives(other).then(|| other.clone()),
    }
}

/// Drops directives at any depth; false for an object that is a directive.
fn drop_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(members) if members.contains_key(PATCH) => return false,
        Value::Object(members) => members.retain(|_, value| drop_directives(value)),
        Value::Array(items) => items.retain_mut(drop_directives),
        _ => {}
    }
    true
}

/// Drops null members at any depth.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

fn unknown_directive(directive: &Value, patch: &Object) -> String {
    format!("unknown patch type: {} in map: {}", go_format::text(directive), go_format::object(patch))
}

fn bad_list(actual: &Value) -> String {
    format!("expected a []interface {{}}, but received a {}", go_format::type_name(actual))
}
