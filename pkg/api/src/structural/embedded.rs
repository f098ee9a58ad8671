//! Embedded objects must have a type and valid metadata (upstream's `schema/objectmeta`).

use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names::is_dns1035_label;
use jsontree::Value;
use schema::object::Object;

use super::node::{Additional, Node};
use crate::name_rule::NameRule;
use crate::object_meta::validate_object_meta;
use crate::tree::text;

/// Validates the embedded objects of an object.
pub(super) fn validate_members(node: &Node, object: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    members(&Path::NIL, node, object, &mut errors);
    errors
}

/// Validates a value, which may be an object itself, and its embedded objects.
pub(super) fn validate(path: &Path<'_>, node: &Node, value: &Value, is_object: bool) -> ErrorList {
    let mut errors = ErrorList::new();
    if let Value::Object(object) = value
        && is_object
    {
        embedded(path, object, &mut errors);
        members(path, node, object, &mut errors);
    } else {
        below(path, node, value, &mut errors);
    }
    errors
}

fn members(path: &Path<'_>, node: &Node, object: &Object, errors: &mut ErrorList) {
    for (name, value) in object {
        match (node.property(name), &node.additional) {
            (Some(node), _) => below(&path.child(name), node, value, errors),
            (None, Additional::Schema(node)) => below(&path.key(name), node, value, errors),
            _ => {}
        }
    }
}

fn below(path: &Path<'_>, node: &Node, value: &Value, errors: &mut ErrorList) {
    if !node.has_structure {
        return;
    }
    match (value, &node.items) {
        (Value::Object(object), _) => {
            if node.embedded {
                embedded(path, object, errors);
            }
            members(path, node, object, errors);
        }
        (Value::Array(items), Some(node)) => {
            for (index, item) in items.iter().enumerate() {
                below(&path.index(index), node, item, errors);
            }
        }
        _ => {}
    }
}

fn embedded(path: &Path<'_>, object: &Object, errors: &mut ErrorList) {
    for name in ["apiVersion", "kind"] {
        if !object.contains_key(name) {
            errors.push(Error::required(&path.child(name), ""));
        }
    }
    for (name, value) in object {
        let path = path.child(name);
        match (name.as_str(), value) {
            ("apiVersion" | "kind", Value::String(text)) if text.is_empty() => {
                errors.push(Error::invalid(&path, "", "must not be empty"));
            }
            ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(Error::invalid(&path, &**text, detail));
            }
            ("apiVersion", Value::String(_)) => {}
            ("kind", Value::String(text)) => {
                let wrong = is_dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(Error::invalid(&path, &**text, detail));
                }
            }
            ("apiVersion" | "kind", other) => errors.push(Error::invalid(&path, other, "must be a string")),
            ("metadata", Value::Object(metadata)) => own_metadata(&path, metadata, errors),
            _ => {}
        }
    }
}

/// Validates metadata; name and namespace are optional.
fn own_metadata(path: &Path<'_>, metadata: &Object, errors: &mut ErrorList) {
    let mut named = metadata.clone();
    if text(metadata, "name").is_empty() {
        named.insert("name", "fakename".into());
    }
    let namespaced = !text(metadata, "namespace").is_empty();
    let object = Object::from_iter([("metadata".to_owned(), Value::Object(named))]);
    errors.append(validate_object_meta(&object, namespaced, NameRule::PathSegment, path).distinct());
}
