//! Correlation of new and old values, and detection of changes, for ratcheting (KEP-4008).

use std::collections::HashMap;

use jsontree::Value;
use schema::object::Object;

use super::node::{List, Node};

/// A value and the old value that it replaces, if any.
#[derive(Debug, Clone, Copy)]
pub struct Correlation<'o>(Option<Pair<'o>>);

#[derive(Debug, Clone, Copy)]
struct Pair<'o> {
    node: &'o Node,
    new: Side<'o>,
    old: Side<'o>,
    is_resource: bool,
}

/// Value; objects are borrowed without wrapping them in a `Value`.
#[derive(Debug, Clone, Copy)]
enum Side<'o> {
    Members(&'o Object),
    Other(&'o Value),
}

impl<'o> Side<'o> {
    fn of(value: &'o Value) -> Self {
        value.as_object().map_or(Side::Other(value), Side::Members)
    }
}

impl<'o> Correlation<'o> {
    /// No corresponding old value.
    pub const NONE: Correlation<'static> = Correlation(None);

    pub fn of(node: &'o Node, new: &'o Value, old: &'o Value) -> Self {
        Correlation(Some(Pair { node, new: Side::of(new), old: Side::of(old), is_resource: false }))
    }

    pub fn of_members(node: &'o Node, new: &'o Object, old: &'o Object) -> Self {
        Correlation(Some(Pair { node, new: Side::Members(new), old: Side::Members(old), is_resource: true }))
    }

    /// Correlates a member of both. The type of a resource is excluded, because both were converted to the
    /// requested version.
    pub(super) fn member(self, name: &str) -> Self {
        let says_what_it_is = |pair: &Pair<'_>| pair.is_resource && matches!(name, "apiVersion" | "kind");
        Correlation(self.0.filter(|pair| !says_what_it_is(pair)).and_then(|pair| pair.member(name)))
    }

    pub(super) fn items(self) -> Items<'o> {
        let none = Items { node: None, old: HashMap::new() };
        let Some(Pair { node, old: Side::Other(Value::Array(old)), .. }) = self.0 else { return none };
        let (List::Map(keys), Some(items)) = (&node.list, node.items.as_deref()) else { return none };
        let mut by_key = HashMap::new();
        for item in old {
            if let Some(key) = key(keys, item) {
                by_key.entry(key).or_insert(item);
            }
        }
        Items { node: Some((items, keys)), old: by_key }
    }

    /// True if there is an old value and it is equal.
    pub(super) fn is_unchanged(self) -> bool {
        self.0.is_some_and(Pair::is_unchanged)
    }
}

/// Old items of a list, by key.
pub(super) struct Items<'o> {
    node: Option<(&'o Node, &'o [Box<str>])>,
    old: HashMap<String, &'o Value>,
}

impl<'o> Items<'o> {
    pub(super) fn of(&self, item: &'o Value) -> Correlation<'o> {
        let pair = self.node.and_then(|(node, keys)| {
            let old = self.old.get(&key(keys, item)?)?;
            Some(Pair { node, new: Side::of(item), old: Side::of(old), is_resource: false })
        });
        Correlation(pair)
    }
}

impl<'o> Pair<'o> {
    fn member(self, name: &str) -> Option<Self> {
        let (Side::Members(new), Side::Members(old)) = (self.new, self.old) else { return None };
        let node = self.node.member(name)?;
        Some(Pair { node, new: Side::of(new.get(name)?), old: Side::of(old.get(name)?), is_resource: false })
    }

    fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Side::Other(Value::Array(new)), Side::Other(Value::Array(old))) => self.has_same_items(new, old),
            (Side::Other(new), Side::Other(old)) => new == old,
            (Side::Members(new), Side::Members(old)) => self.has_same_members(new, old),
            _ => false,
        }
    }

    /// Unknown members have no correlation, so an object with such members is always changed.
    fn has_same_members(self, new: &'o Object, old: &'o Object) -> bool {
        new.len() == old.len() && new.keys().all(|name| self.member(name).is_some_and(Pair::is_unchanged))
    }

    /// Lists with keys are equal if they have equal items in any order.
    fn has_same_items(self, new: &'o [Value], old: &'o [Value]) -> bool {
        if new.len() != old.len() || self.node.items.is_none() {
            return new == old;
        }
        let List::Map(_) = &self.node.list else { return new == old };
        let items = Correlation(Some(self)).items();
        new.iter().all(|item| items.of(item).is_unchanged())
    }
}

/// Returns the keys of an item as one text. Returns `None` if a key is absent or not a scalar.
fn key(keys: &[Box<str>], item: &Value) -> Option<String> {
    let members = item.as_object()?;
    let mut text = String::new();
    for name in keys {
        let value = members
            .get(&**name)
            .filter(|value| !value.is_null() && !value.is_array() && !value.is_object())?;
        text.push_str(&value.to_string());
        text.push('\0');
    }
    (!keys.is_empty()).then_some(text)
}
