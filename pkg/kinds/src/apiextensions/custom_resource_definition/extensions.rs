//! Schema extensions with the prefix `x-kubernetes-`: list and map types, and the form of validation rules.

use super::structural;
use super::subschemas::{property, strings};
use super::validation_rules::ValidationRules;
use crate::validation::go_value::go_field_value;
use crate::validation::value::supported_value;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_JSONSCHEMAPROPS as SCHEMA;
use ::schema::object::Object;
use api::tree::{child, children, flag, is_set, list, maybe_flag, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use cel::structural::field_path::{self, Brackets};
use jsontree::Value;
use std::collections::HashSet;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Validates the extensions of a schema, but not of its inner schemas.
pub(super) fn validate(
    path: &Path<'_>,
    schema: &Object,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    if maybe_flag(schema, PRESERVE) == Some(false) {
        errors.push(Error::invalid(&path.child(PRESERVE), false, "must be true or undefined"));
    }
    let map_type = maybe_text(schema, MAP_TYPE);
    errors.extend(map_type.and_then(|_| type_error(path, schema, "object", MAP_TYPE)));
    if let Some(value) = map_type {
        supported(&path.child(MAP_TYPE), value, &["atomic", "granular"], errors);
    }
    let list_type = maybe_text(schema, LIST_TYPE);
    if let Some(list_type) = list_type {
        let wrong = type_error(path, schema, "array", LIST_TYPE);
        if let (None, Some((member, value))) = (&wrong, set_item_error(schema).filter(|_| rules.atomic_sets))
        {
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(Error::invalid(&path.child("items").child(member), value, detail));
        }
        errors.extend(wrong);
        supported(&path.child(LIST_TYPE), list_type, &["atomic", "set", "map"], errors);
    }
    if !list(schema, MAP_KEYS).is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        let path = path.child(LIST_TYPE);
        errors.push(match list_type {
            None => Error::required(&path, detail),
            Some(other) => Error::invalid(&path, other, detail),
        });
    }
    if list_type == Some("map") {
        map_list(path, schema, errors);
    }
    if rules.map_keys {
        unusable_items(path, schema, errors);
    }
    for (index, rule) in children(schema, "x-kubernetes-validations").enumerate() {
        validation_rule(&path.child("x-kubernetes-validations").index(index), schema, rule, errors);
    }
}

fn supported(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    if !supported.contains(&value) {
        errors.push(Error::not_supported(path, value, supported));
    }
}

/// Returns an error for an extension that requires another schema type.
fn type_error(path: &Path<'_>, schema: &Object, needed: &str, extension: &str) -> Option<Error> {
    let detail = format!("must be {needed} if {extension} is specified");
    let path = path.child("type");
    match text(schema, "type") {
        "" => Some(Error::required(&path, detail)),
        actual if actual == needed => None,
        other => Some(Error::invalid(&path, other, detail)),
    }
}

/// Returns the reason, with its value, why the items of a set cannot be compared as a whole. Upstream also
/// shows the list type of maps.
pub(super) fn set_item_error(schema: &Object) -> Option<(&'static str, BadValue)> {
    if maybe_text(schema, LIST_TYPE) != Some("set") {
        return None;
    }
    let item = child(schema, "items")?;
    let list_type = maybe_text(item, LIST_TYPE);
    let shown = list_type.map_or(BadValue::Plain("null".to_owned()), BadValue::from);
    match text(item, "type") {
        "array" if list_type.is_some_and(|list_type| list_type != "atomic") => Some((LIST_TYPE, shown)),
        "object" if maybe_text(item, MAP_TYPE) != Some("atomic") => Some((MAP_TYPE, shown)),
        _ => None,
    }
}

/// Validates a list whose items have keys.
fn map_list(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    let keys_path = path.child(MAP_KEYS);
    let items_path = path.child("items");
    if list(schema, MAP_KEYS).is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(Error::required(&keys_path, detail));
    }
    let Some(item) = child(schema, "items") else {
        errors.push(match schema.get("items") {
            None => Error::required(&items_path, "must have a schema if x-kubernetes-list-type is map"),
            Some(_) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                Error::invalid(&items_path, go_field_value(&SCHEMA, "items", schema), detail)
            }
        });
        return;
    };
    let item_type = text(item, "type");
    if item_type != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(Error::invalid(&items_path.child("type"), item_type, detail));
        return;
    }
    let value = schema.get(MAP_KEYS).unwrap_or(&Value::Null);
    let mut seen = HashSet::new();
    for key in strings(schema, MAP_KEYS) {
        match property(item, key) {
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(Error::invalid(&keys_path, value, detail));
            }
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let properties = items_path.child("properties");
                let of_key = properties.key(key);
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                // Upstream shows the type of the item.
                errors.push(Error::invalid(&of_key.child("type"), item_type, detail));
            }
            Some(_) => {}
        }
        if !seen.insert(key) {
            errors.push(Error::invalid(&keys_path, value, "must not contain duplicate entries"));
        }
    }
}

/// True if items of a set or of a keyed list may be null or lack their keys.
pub(super) fn has_bad_items(schema: &Object) -> bool {
    let mut errors = ErrorList::new();
    unusable_items(&Path::NIL, schema, &mut errors);
    !errors.is_empty()
}

fn unusable_items(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    let Some(item) = child(schema, "items") else { return };
    let Some(list_type @ ("set" | "map")) = maybe_text(schema, LIST_TYPE) else { return };
    let path = path.child("items");
    if flag(item, "nullable") {
        let detail = format!("cannot be nullable when {LIST_TYPE} is {list_type}");
        errors.push(Error::forbidden(&path.child("nullable"), detail));
    }
    if list_type == "set" {
        return;
    }
    let properties = path.child("properties");
    for key in strings(schema, MAP_KEYS) {
        let Some(property) = property(item, key) else { continue };
        let path = properties.key(key);
        if !is_set(property, "default") && !strings(item, "required").any(|required| required == key) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                          required property";
            errors.push(Error::required(&path.child("default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(&path.child("nullable"), detail));
        }
    }
}

/// Validates the form of a rule. `super::rules` compiles its expressions.
fn validation_rule(path: &Path<'_>, schema: &Object, rule: &Object, errors: &mut ErrorList) {
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let expression = text(rule, "rule").trim();
    let message = text(rule, "message");
    let message_path = path.child("message");
    if expression.is_empty() {
        errors.push(Error::required(&path.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(Error::invalid(&message_path, message, "must be non-empty if specified"));
    } else if breaks(message.trim()) {
        errors.push(Error::invalid(&message_path, message, "must not contain line breaks"));
    } else if breaks(expression) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(Error::required(&message_path, detail));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(Error::required(&path.child("messageExpression"), detail));
    }
    if let Some(reason) = maybe_text(rule, "reason") {
        supported_value(&path.child("reason"), reason, &REASONS, errors);
    }
    let field = text(rule, "fieldPath");
    if field.is_empty() {
        return;
    }
    let mut wrong = |detail: &str| errors.push(Error::invalid(&path.child("fieldPath"), field, detail));
    if field.trim().is_empty() {
        wrong("must be non-empty if specified");
    }
    if breaks(field) {
        wrong("must not contain line breaks");
    }
    // A rejected schema already has errors.
    if structural::rejection_reason(schema).is_none()
        && field_path::resolve(field, schema, Brackets::Allowed).is_err()
    {
        wrong("must be a valid path");
    }
}
