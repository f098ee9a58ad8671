//! Defaults (upstream's `schema/defaulting`).

use jsontree::Value;
use schema::object::Object;

use super::node::{Additional, Node};

/// Fills in what is missing in a value.
fn default(value: &mut Value, node: &Node) {
    match value {
        Value::Object(members) => default_members(node, members),
        Value::Array(items) => {
            let Some(node) = node.items.as_deref().filter(|node| node.has_defaults) else { return };
            for item in items {
                replace_null(item, node);
                default(item, node);
            }
        }
        _ => {}
    }
}

/// Fills in members that are missing, and what is missing in those that are there.
pub(super) fn default_members(node: &Node, members: &mut Object) {
    if !node.has_defaults {
        return;
    }
    for (name, node) in &node.properties {
        if let Some(value) = &node.default {
            let missing = members.get(&**name).is_none_or(|value| value.is_null() && node.refuses_null());
            if missing {
                members.insert(name.clone().into(), value.clone());
            }
        }
        if node.has_defaults
            && let Some(value) = members.get_mut(&**name)
        {
            default(value, node);
        }
    }
    let Additional::Schema(additional) = &node.additional else { return };
    if !additional.has_defaults {
        return;
    }
    for (name, value) in members {
        if node.property(name).is_none() {
            replace_null(value, additional);
            default(value, additional);
        }
    }
}

/// Puts a default where a null may not be.
fn replace_null(value: &mut Value, node: &Node) {
    if value.is_null() && node.refuses_null() {
        *value = node.default.clone().unwrap_or_default();
    }
}
