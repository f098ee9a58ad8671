//! The defaults in a structural schema: each must be a value of its schema, and one that would not be
//! pruned. Defaults inside of the metadata of embedded resources are held against their schemas only.

use super::structural::{EMBEDDED, PRESERVE};
use super::subschemas::{properties, property};
use crate::structural::{self, Literals, Node, literal};
use crate::tree::{child, flag};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use serde_json::Value;

/// Fields that every resource has.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Validates the defaults of a schema and of those inside. With `pruned`, they must not have fields that
/// the schema does not know.
pub(super) fn validate(path: &Path<'_>, schema: &Object, pruned: bool, errors: &mut ErrorList) {
    let compiled = Node::compile(schema, Literals::Texts);
    node(path, (schema, &compiled), Place { root: true, metadata: false }, pruned, errors);
}

#[derive(Clone, Copy)]
struct Place {
    root: bool,
    metadata: bool,
}

fn node(
    path: &Path<'_>,
    (schema, compiled): (&Object, &Node),
    place: Place,
    pruned: bool,
    errors: &mut ErrorList,
) {
    let embedded = place.root || flag(schema, EMBEDDED);
    let metadata = place.metadata && !embedded;
    if let Some(default) = default_of(schema) {
        let path = path.child("default");
        if pruned && !metadata && has_unknown_fields(&default, schema, embedded) {
            errors.push(Error::invalid(&path, &default, "must not have unknown fields"));
        }
        errors.append(match metadata {
            false => structural::faults_of_default(&path, compiled, &default, embedded),
            true => structural::faults(&path, compiled, &default),
        });
    }
    // There are none for the values of maps.
    if let (Some(items), Some(compiled)) = (child(schema, "items"), compiled.items()) {
        node(&path.child("items"), (items, compiled), Place { root: false, metadata }, pruned, errors);
    }
    for (name, property) in properties(schema) {
        let metadata = metadata || embedded && META.contains(&name);
        let place = Place { root: false, metadata };
        let Some(compiled) = compiled.property(name) else { continue };
        node(&path.child("properties").key(name), (property, compiled), place, pruned, errors);
    }
}

/// Whether a schema has a default that would be pruned.
pub(super) fn has_unpruned(schema: &Object) -> bool {
    default_of(schema).is_some_and(|default| has_unknown_fields(&default, schema, flag(schema, EMBEDDED)))
}

/// The default of a schema, unless it is null, which is none.
fn default_of(schema: &Object) -> Option<Value> {
    schema.get("default").map(|text| literal(text.as_str())).filter(|default| !default.is_null())
}

/// Whether pruning would take anything from a value; of the root of a resource it leaves what every
/// resource has.
fn has_unknown_fields(value: &Value, schema: &Object, resource: bool) -> bool {
    let preserves = flag(schema, PRESERVE);
    match value {
        Value::Array(items) => match child(schema, "items") {
            Some(schema) => items.iter().any(|item| has_unknown_fields(item, schema, flag(schema, EMBEDDED))),
            None => !preserves && items.iter().any(has_fields),
        },
        Value::Object(members) => members.iter().any(|(name, value)| {
            if resource && META.contains(&name.as_str()) {
                return false;
            }
            match (property(schema, name), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(Value::Object(schema))) => {
                    has_unknown_fields(value, schema, flag(schema, EMBEDDED))
                }
                (None, Some(Value::Bool(true))) => has_fields(value),
                _ => !preserves,
            }
        }),
        _ => false,
    }
}

/// Whether there is any field in a value for which there is no schema at all.
fn has_fields(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_fields),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, expected: &[&str]) {
        let mut errors = ErrorList::new();
        let object = schema.as_object().cloned().unwrap_or_default();
        validate(&Path::root("s"), &object, true, &mut errors);
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{schema}");
    }

    #[test]
    fn a_default_is_a_value_of_its_schema() {
        let field = |schema: Value| json!({"type": "object", "properties": {"f": schema}});
        check(field(json!({"type": "string", "default": "\"a\""})), &[]);
        check(field(json!({"type": "string", "default": "null"})), &[]);
        check(
            field(json!({"type": "string", "default": "1"})),
            &[
                "s.properties[f].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
            ],
        );
        check(
            field(json!({"type": "array", "items": {"type": "integer", "default": "1", "minimum": 2}})),
            &[
                "s.properties[f].items.default: Invalid value: 1:  in body should be greater than or equal to 2",
            ],
        );
    }

    #[test]
    fn a_default_has_no_fields_that_would_be_pruned() {
        let field = |rest: Value, default: Value| {
            let mut schema = json!({"type": "object", "default": default.to_string()});
            if let (Some(schema), Value::Object(rest)) = (schema.as_object_mut(), rest) {
                schema.extend(rest);
            }
            json!({"type": "object", "properties": {"f": schema}})
        };
        let unknown = "s.properties[f].default: Invalid value: {\"x\":1}: must not have unknown fields";
        check(field(json!({}), json!({"x": 1})), &[unknown]);
        check(field(json!({PRESERVE: true}), json!({"x": 1})), &[]);
        check(field(json!({"properties": {"x": {"type": "integer"}}}), json!({"x": 1})), &[]);
        check(field(json!({"additionalProperties": {"type": "integer"}}), json!({"x": 1})), &[]);
        let embedded = json!({EMBEDDED: true, "properties": {"x": {"type": "integer"}}});
        check(field(embedded, json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}})), &[]);
    }
}
