//! Pruning of fields that are not in the schema (upstream's `schema/pruning`), and of nulls that are not
//! allowed.

use std::fmt::Write;

use jsontree::Value;
use schema::object::Object;

use super::node::{Additional, Node};

/// True for fields that every resource has without declaring them.
pub(super) fn is_type_or_metadata(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Paths of pruned fields, if requested.
pub(super) struct PrunedPaths {
    paths: Option<Vec<String>>,
    /// Path of the current value.
    current_path: String,
}

impl PrunedPaths {
    /// Records paths if `record` is true.
    pub(super) fn new(record: bool) -> Self {
        PrunedPaths { paths: record.then(Vec::new), current_path: String::new() }
    }

    pub(super) fn into_paths(self) -> Vec<String> {
        let mut paths = self.paths.unwrap_or_default();
        paths.sort_unstable();
        paths
    }

    fn is_root(&self) -> bool {
        self.current_path.is_empty()
    }

    fn record(&mut self, name: &str) {
        if self.paths.is_some() {
            self.with_member(name, |unknown| {
                let path = unknown.current_path.clone();
                unknown.paths.get_or_insert_default().push(path);
            });
        }
    }

    fn with_member<T>(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.current_path.len();
        if length > 0 {
            self.current_path.push('.');
        }
        self.current_path.push_str(name);
        let done = walk(self);
        self.current_path.truncate(length);
        done
    }

    fn with_item<T>(&mut self, index: usize, walk: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.current_path.len();
        // Writing to a string cannot fail.
        let _ = write!(self.current_path, "[{index}]");
        let done = walk(self);
        self.current_path.truncate(length);
        done
    }
}

/// Prunes a value. Without a node it has no schema, and no member is kept.
pub(super) fn prune(value: &mut Value, node: Option<&Node>, unknown: &mut PrunedPaths) {
    match (value, node) {
        (Value::Object(members), Some(node)) => prune_members(members, node, unknown),
        (Value::Object(members), None) => {
            members.keys().for_each(|name| unknown.record(name));
            members.clear();
        }
        (Value::Array(items), node) => {
            let items_node = node.and_then(|node| node.items.as_deref());
            // With preserved unknown fields, only declared items need pruning.
            if node.is_some_and(|node| node.preserve) && items_node.is_none() {
                return;
            }
            let preserves = node.is_some_and(|node| node.preserve);
            for (index, item) in items.iter_mut().enumerate() {
                unknown.with_item(index, |unknown| match (preserves, items_node) {
                    (true, Some(node)) => prune_declared(item, node, unknown),
                    _ => prune(item, items_node, unknown),
                });
            }
        }
        _ => {}
    }
}

/// Walks a value whose unknown fields are preserved, and prunes only below declared members.
fn prune_declared(value: &mut Value, node: &Node, unknown: &mut PrunedPaths) {
    match value {
        Value::Object(members) => each_member(members, node, unknown, |_, _| true),
        Value::Array(items) => {
            let Some(node) = node.items.as_deref() else { return };
            for (index, item) in items.iter_mut().enumerate() {
                unknown.with_item(index, |unknown| prune_declared(item, node, unknown));
            }
        }
        _ => {}
    }
}

pub(super) fn prune_members(members: &mut Object, node: &Node, unknown: &mut PrunedPaths) {
    let preserves = node.preserve;
    each_member(members, node, unknown, |name, unknown| {
        let is_own = is_type_or_metadata(name) && unknown.is_root();
        if !(preserves || is_own) {
            unknown.record(name);
        }
        preserves
    });
}

/// Prunes the declared members. `stays` returns true if an undeclared member is kept.
fn each_member(
    members: &mut Object,
    node: &Node,
    unknown: &mut PrunedPaths,
    stays: impl Fn(&str, &mut PrunedPaths) -> bool,
) {
    members.retain(|name, value| {
        if node.embedded && is_type_or_metadata(name) {
            return true;
        }
        let below = match (node.property(name), &node.additional) {
            (Some(node), _) => Some(node),
            (None, Additional::Schema(node)) => Some(&**node),
            (None, Additional::Any | Additional::Forbidden) => None,
            (None, Additional::Unspecified) => return stays(name, unknown),
        };
        unknown.with_member(name, |unknown| prune(value, below, unknown));
        true
    });
}

/// Removes members that are null, not nullable and without a default. Those with a default get it later.
pub(super) fn drop_nulls(members: &mut Object, node: &Node) {
    members.retain(|name, value| {
        let Some(node) = node.member(name) else { return true };
        if value.is_null() {
            return !node.rejects_null() || node.default.is_some();
        }
        drop_nulls_below(value, node);
        true
    });
}

fn drop_nulls_below(value: &mut Value, node: &Node) {
    match (value, &node.items) {
        (Value::Object(members), _) => drop_nulls(members, node),
        (Value::Array(items), Some(node)) => items.iter_mut().for_each(|item| drop_nulls_below(item, node)),
        _ => {}
    }
}
