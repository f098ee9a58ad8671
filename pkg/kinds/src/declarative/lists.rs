//! Correlation and uniqueness of the items of a list.

use std::collections::{HashMap, HashSet};

use jsontree::Value;
use schema::table::{Field, Type};

use super::rules::Correlation;
use super::slots::{integer, text};

/// Items of a list by their keys.
pub(super) struct ItemIndex<'a> {
    correlation: Correlation,
    field: &'static Field,
    items: HashMap<String, &'a Value>,
}

impl<'a> ItemIndex<'a> {
    /// Creates the index. Only the first of several items with a key is found. The index of an uncorrelated list is
    /// empty.
    pub(super) fn new(field: &'static Field, correlation: Correlation, items: &'a [Value]) -> Self {
        let mut index = ItemIndex { correlation, field, items: HashMap::new() };
        if !matches!(correlation, Correlation::Uncorrelated) {
            for item in items {
                index.items.entry(key(field, correlation, item)).or_insert(item);
            }
        }
        index
    }

    /// Returns the item with the key of `item`.
    pub(super) fn find(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&key(self.field, self.correlation, item)).copied()
    }
}

/// Returns the positions of items that repeat an earlier one.
pub(super) fn duplicates(field: &'static Field, correlation: Correlation, items: &[Value]) -> Vec<usize> {
    if items.len() < 2 || matches!(correlation, Correlation::Uncorrelated) {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let repeated = |(index, item): (usize, &Value)| {
        let first = seen.insert(key(field, correlation, item));
        (!first).then_some(index)
    };
    items.iter().enumerate().filter_map(repeated).collect()
}

/// Returns the key of an item as text. Different keys have different texts.
fn key(field: &'static Field, correlation: Correlation, item: &Value) -> String {
    let Correlation::ByKeys(names) = correlation else { return item.to_string() };
    let message = match field.ty {
        Type::Message(message) => Some(message),
        _ => None,
    };
    let mut key = String::new();
    for name in names {
        let value = item.get(name);
        let member = message.and_then(|message| message.member(name));
        let nil = member.is_some_and(|member| member.pointer) && value.is_none_or(Value::is_null);
        if nil {
            key.push_str("-;");
        } else if matches!(member.map(|member| member.ty), Some(Type::Int32 | Type::Int64)) {
            key.push_str(&format!("{};", integer(value)));
        } else {
            let text = text(value);
            key.push_str(&format!("{}:{text};", text.len()));
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;
    use schema::builtin::IO_K8S_API_RESOURCE_V1_RESOURCECLAIMSTATUS as STATUS;

    const KEYS: Correlation = Correlation::ByKeys(&["driver", "shareID"]);

    fn devices() -> &'static Field {
        STATUS.member("devices").expect("the status has devices")
    }

    #[test]
    fn nil_key_differs_from_empty_one() {
        let items = [json!({"driver": "a"}), json!({"driver": "a", "shareID": ""}), json!({"driver": "a"})];
        assert_eq!(duplicates(devices(), KEYS, &items), [2]);
    }

    #[test]
    fn long_keys_do_not_collide() {
        let items = [json!({"driver": "a;1:b", "shareID": "c"}), json!({"driver": "a", "shareID": "b;1:c"})];
        assert_eq!(duplicates(devices(), KEYS, &items), Vec::<usize>::new());
    }

    #[test]
    fn first_item_of_a_key_is_found() {
        let items = [json!({"driver": "a", "pool": "x"}), json!({"driver": "a", "pool": "y"})];
        let index = ItemIndex::new(devices(), KEYS, &items);
        assert_eq!(index.find(&json!({"driver": "a"})), Some(&items[0]));
        assert_eq!(index.find(&json!({"driver": "b"})), None);
    }

    #[test]
    fn uncorrelated_items_are_not_found() {
        let items = [json!({"driver": "a"}), json!({"driver": "a"})];
        let index = ItemIndex::new(devices(), Correlation::Uncorrelated, &items);
        assert_eq!(index.find(&items[0]), None);
        assert_eq!(duplicates(devices(), Correlation::Uncorrelated, &items), Vec::<usize>::new());
    }
}
