//! Uniqueness of the items of sets and the keys of lists of type map (upstream's `schema/listtype`).

use std::collections::HashMap;

use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;

use super::node::{Additional, List, Node};

/// Reports the duplicates in an object.
pub(super) fn validate_members(node: &Node, object: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    members(&Path::NIL, node, object, &mut errors);
    errors
}

fn members(path: &Path<'_>, node: &Node, object: &Object, errors: &mut ErrorList) {
    if !node.has_structure {
        return;
    }
    if let Additional::Schema(additional) = &node.additional {
        for (name, value) in object {
            below(&path.key(name), additional, value, errors);
        }
    }
    for (name, value) in object {
        if let Some(property) = node.property(name) {
            below(&path.child(name), property, value, errors);
        }
    }
}

fn below(path: &Path<'_>, node: &Node, value: &Value, errors: &mut ErrorList) {
    match value {
        Value::Object(object) => members(path, node, object, errors),
        Value::Array(items) if node.has_structure => {
            match &node.list {
                List::Atomic => {}
                List::Set => repeated(items.iter().map(Value::to_string)).for_each(|at| {
                    errors.extend(items.get(at).map(|item| Error::duplicate(&path.index(at), item)));
                }),
                List::Map(keys) => list_map(path, keys, items, errors),
            }
            if let Some(node) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    below(&path.index(index), node, item, errors);
                }
            }
        }
        _ => {}
    }
}

fn list_map(path: &Path<'_>, keys: &[Box<str>], items: &[Value], errors: &mut ErrorList) {
    let is_item = |item: &Value| item.is_null() || item.is_object();
    if let Some((index, item)) = items.iter().enumerate().find(|(_, item)| !is_item(item)) {
        let detail = "must be an object for an array of list-type map";
        errors.push(Error::invalid(&path.index(index), item, detail));
        return;
    }
    let key = |item: &Value| -> Value {
        let key_member = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
        Value::Object(keys.iter().filter_map(|name| key_member(name)).collect())
    };
    let keys: Vec<Value> = items.iter().map(key).collect();
    for at in repeated(keys.iter().map(Value::to_string)) {
        errors.extend(keys.get(at).map(|key| Error::duplicate(&path.index(at), key)));
    }
}

/// Returns the index of each second occurrence.
fn repeated(texts: impl Iterator<Item = String>) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    texts.enumerate().filter_map(move |(at, text)| {
        let times = seen.entry(text).or_default();
        *times += 1;
        (*times == 2).then_some(at)
    })
}
