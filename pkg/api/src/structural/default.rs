//! Defaulting (upstream's `schema/defaulting`).
//!
//! A list of a thousand empty objects is short, but its defaults can be long. So every default is charged to
//! a [`DecodeBudget`].

use jsontree::Value;
use schema::memory::{BudgetExceeded, DecodeBudget};
use schema::object::Object;

use super::node::Node;

/// Sets missing defaults in a value.
fn default(value: &mut Value, node: &Node, budget: &mut DecodeBudget) -> Result<(), BudgetExceeded> {
    match value {
        Value::Object(members) => default_members(node, members, budget),
        Value::Array(items) => {
            let Some(node) = node.items.as_deref().filter(|node| node.has_defaults) else { return Ok(()) };
            items.iter_mut().try_for_each(|item| {
                replace_null(item, node, budget)?;
                default(item, node, budget)
            })
        }
        _ => Ok(()),
    }
}

/// Sets the defaults of missing members, and inside present ones.
pub(super) fn default_members(
    node: &Node,
    members: &mut Object,
    budget: &mut DecodeBudget,
) -> Result<(), BudgetExceeded> {
    if !node.has_defaults {
        return Ok(());
    }
    for (name, node) in &node.properties {
        let Some(value) = &node.default else { continue };
        let missing = members.get(&**name).is_none_or(|value| value.is_null() && node.rejects_null());
        if missing {
            budget.copy(value)?;
            members.insert(name.clone(), value.clone());
        }
    }
    // Iterates over the members, which can be far fewer than the properties.
    for (name, value) in members {
        if let Some(node) = node.property(name) {
            default(value, node, budget)?;
        } else if let Some(node) = node.member(name) {
            replace_null(value, node, budget)?;
            default(value, node, budget)?;
        }
    }
    Ok(())
}

/// Replaces a null that is not allowed with the default.
fn replace_null(value: &mut Value, node: &Node, budget: &mut DecodeBudget) -> Result<(), BudgetExceeded> {
    if let Some(default) = node.default.as_ref().filter(|_| value.is_null() && node.rejects_null()) {
        budget.copy(default)?;
        *value = default.clone();
    }
    Ok(())
}
