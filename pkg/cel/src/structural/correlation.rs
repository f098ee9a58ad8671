//! Correlation of new values with old ones, and their comparison, for ratcheting.

use std::collections::HashMap;

use jsontree::{Object as JsonMap, Value as Json};

use crate::value::{ListKind, TypedSchema};

/// A value, its old value, and their schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correlation<'o> {
    pub(super) new: &'o Json,
    pub(super) old: &'o Json,
    pub(super) schema: &'o TypedSchema,
}

/// Ratcheting state of a node: its own correlation, if any, and that of its nearest ancestor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratchet<'o> {
    current: Option<Correlation<'o>>,
    parent: Option<Correlation<'o>>,
}

impl<'o> Ratchet<'o> {
    /// Ratcheting disabled.
    pub(super) const NONE: Self = Self { current: None, parent: None };

    pub(super) fn root(correlation: Correlation<'o>) -> Self {
        Self { current: Some(correlation), parent: None }
    }

    /// State for `allOf`, whose rules use the parent's correlation.
    pub(super) fn parent_only(self) -> Self {
        Self { current: None, ..self }
    }

    /// Returns true if a failing rule only warns: the node, or its nearest ancestor with an old value, is
    /// unchanged.
    pub(super) fn only_warns(self) -> bool {
        self.current.or(self.parent).is_some_and(Correlation::is_unchanged)
    }

    /// Returns the state of a member.
    pub(super) fn member(self, name: &str) -> Self {
        let Some(current) = self.current else { return self };
        if self.parent.is_none() && (name == "apiVersion" || name == "kind") {
            // Objects are compared in one version, so changes of these members are invisible.
            return Self::NONE;
        }
        Self { current: current.member(name), parent: self.current }
    }

    /// Returns the state of an element.
    pub(super) fn item(self, item: &'o Json) -> Self {
        let Some(current) = self.current else { return self };
        Self {
            current: current.item(item, &OldItems::new(current.schema, Some(current.old))),
            parent: self.current,
        }
    }
}

impl<'o> Correlation<'o> {
    fn member(self, name: &str) -> Option<Self> {
        let new = self.new.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        Some(Self { new, old, schema: self.schema.member(name)? })
    }

    fn item(self, new: &'o Json, old: &OldItems<'o>) -> Option<Self> {
        Some(Self { new, old: old.find(new)?, schema: self.schema.items()? })
    }

    fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Json::Array(new), Json::Array(old)) => self.same_items(new, old),
            (Json::Object(new), Json::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|name| self.member(name).is_some_and(Self::is_unchanged))
            }
            (new, old) => new == old,
        }
    }

    /// Compares lists: with keys in any order, otherwise in order.
    fn same_items(self, new: &'o [Json], old: &'o [Json]) -> bool {
        if new.len() != old.len() {
            return false;
        }
        let ListKind::Map(_) = self.schema.list else { return new == old };
        let items = OldItems::new(self.schema, Some(self.old));
        new.iter().all(|item| self.item(item, &items).is_some_and(Self::is_unchanged))
    }
}

/// Elements of an old list by their keys; empty for lists without keys.
pub(super) struct OldItems<'o> {
    keys: &'o [Box<str>],
    items: HashMap<String, &'o Json>,
}

impl<'o> OldItems<'o> {
    pub(super) fn new(schema: &'o TypedSchema, old: Option<&'o Json>) -> Self {
        let (ListKind::Map(keys), Some(Json::Array(old))) = (&schema.list, old) else {
            return Self { keys: &[], items: HashMap::new() };
        };
        let mut items = HashMap::new();
        for item in old {
            if let Some(key) = item.as_object().and_then(|fields| key(keys, fields)) {
                items.entry(key).or_insert(item);
            }
        }
        Self { keys, items }
    }

    /// Returns the old element with the same keys.
    pub(super) fn find(&self, item: &Json) -> Option<&'o Json> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&key(self.keys, item.as_object()?)?).copied()
    }
}

/// Joins an element's keys into one text; `None` if one is absent or not a scalar.
fn key(keys: &[Box<str>], fields: &JsonMap) -> Option<String> {
    let mut text = String::new();
    for key in keys {
        let value = fields.get(&**key)?;
        if value.is_null() || value.is_array() || value.is_object() {
            return None;
        }
        text.push_str(&value.to_string());
        text.push('\0');
    }
    (!keys.is_empty()).then_some(text)
}
