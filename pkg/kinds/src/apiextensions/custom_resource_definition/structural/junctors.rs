//! Schemas below `allOf`, `anyOf`, `oneOf` and `not`, which may only restrict values.

use super::{EMBEDDED, INT_OR_STRING, PRESERVE};
use crate::apiextensions::custom_resource_definition::subschemas::is_given;
use crate::apiextensions::custom_resource_definition::subschemas::{properties, property, schemas};
use api::tree::{child, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::{Value, json};
use schema::object::Object;

/// Members that such a schema must not have, with the error text.
const STRUCTURE: [(&str, &str); 11] = [
    ("type", "must be empty"),
    ("default", "must be undefined"),
    ("title", "must be empty"),
    ("description", "must be empty"),
    ("nullable", "must be false"),
    (PRESERVE, "must be false"),
    (EMBEDDED, "must be false"),
    (INT_OR_STRING, "must be false"),
    ("x-kubernetes-list-type", "must be undefined"),
    ("x-kubernetes-map-type", "must be undefined"),
    ("additionalProperties", "must be undefined"),
];

/// Validates the value restrictions of a field.
pub(super) fn of_field(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    let any_of = is_int_or_string(list(schema, "anyOf"));
    let first = list(schema, "allOf").first().and_then(Value::as_object);
    let in_all_of = first.is_some_and(|first| is_int_or_string(list(first, "anyOf")));
    value(path, schema, any_of, in_all_of, errors);
}

/// True if junctors spell out "integer or string", the only pattern that may contain types.
fn is_int_or_string(any_of: &[Value]) -> bool {
    any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

fn value(path: &Path<'_>, schema: &Object, skip_any: bool, skip_first_any: bool, errors: &mut ErrorList) {
    for member in ["anyOf", "allOf", "oneOf"] {
        if member == "anyOf" && skip_any {
            continue;
        }
        for (index, each) in schemas(schema, member).enumerate() {
            let skip_any = member == "allOf" && index == 0 && skip_first_any;
            nested(&path.child(member).index(index), each, skip_any, errors);
        }
    }
    if let Some(not) = child(schema, "not") {
        nested(&path.child("not"), not, false, errors);
    }
    pattern(path, text(schema, "pattern"), errors);
}

fn pattern(path: &Path<'_>, pattern: &str, errors: &mut ErrorList) {
    if let Err(reason) = cel::ext::regex::check(pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(Error::invalid(&path.child("pattern"), pattern, detail));
    }
}

/// Validates a schema below a junctor.
fn nested(path: &Path<'_>, schema: &Object, skip_any: bool, errors: &mut ErrorList) {
    value(path, schema, skip_any, false, errors);
    if let Some(items) = child(schema, "items") {
        nested(&path.child("items"), items, false, errors);
    }
    for (name, field) in properties(schema) {
        nested(&path.child("properties").key(name), field, false, errors);
    }
    structure(path, schema, errors);
}

/// Rejects members that describe structure instead of restricting a value.
fn structure(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    for (member, detail) in STRUCTURE {
        // `false` is equivalent to an absent member.
        let denied = member == "additionalProperties" && schema.get(member) == Some(&Value::Bool(false));
        if is_given(schema, member) && !denied {
            errors.push(Error::forbidden(&path.child(member), format!("{detail} to be structural")));
        }
    }
    for member in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        if !list(schema, member).is_empty() {
            errors.push(Error::forbidden(&path.child(member), "must be empty to be structural"));
        }
    }
    if property(schema, "metadata").is_some() {
        let properties = path.child("properties");
        errors
            .push(Error::forbidden(&properties.key("metadata"), "must not be specified in a nested context"));
    }
}
