//! Structural schemas (KEP-20190425). The type of every field is specified outside of `allOf`, `anyOf`,
//! `oneOf` and `not`, which only restrict values further.

mod completeness;
mod junctors;

use super::subschemas::{is_given, map_entries, properties, property, schemas};
use api::tree::{child, flag, is_set, list, maybe_flag, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;

pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Returns the reason why a schema cannot be converted to a structural one: it has unsupported members.
pub(super) fn rejection_reason(schema: &Object) -> Option<String> {
    // Small stack frames: schemas nest up to 400 levels.
    unsupported_member(schema)
        .or_else(|| first_rejection_reason(junctors(schema)))
        .or_else(|| unsupported_value(schema))
        .or_else(|| first_rejection_reason(value_schemas(schema)))
}

fn first_rejection_reason(schemas: Vec<&Object>) -> Option<String> {
    for schema in schemas {
        if let Some(reason) = rejection_reason(schema) {
            return Some(reason);
        }
    }
    None
}

fn junctors(schema: &Object) -> Vec<&Object> {
    ["not", "allOf", "anyOf", "oneOf"].into_iter().flat_map(|member| schemas(schema, member)).collect()
}

fn value_schemas(schema: &Object) -> Vec<&Object> {
    let items = child(schema, "items").into_iter();
    let properties = map_entries(schema, "properties").map(|(_, property)| property);
    items.chain(properties).chain(child(schema, "additionalProperties")).collect()
}

fn unsupported_member(schema: &Object) -> Option<String> {
    for member in
        ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"]
    {
        let is_set = match schema.get(member) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(schemas)) => member == "additionalItems" || !schemas.is_empty(),
            _ => is_set(schema, member),
        };
        if is_set {
            let member = member.trim_start_matches(if member == "$schema" { "$" } else { "" });
            return Some(format!("OpenAPIV3Schema '{member}' is not supported"));
        }
    }
    None
}

fn unsupported_value(schema: &Object) -> Option<String> {
    if maybe_flag(schema, PRESERVE) == Some(false) {
        return Some(format!("internal error: '{PRESERVE}' must be true or undefined"));
    }
    let is_array = !list(schema, "items").is_empty();
    is_array.then(|| "OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned())
}

pub(super) fn is_structural(schema: &Object) -> bool {
    rejection_reason(schema).is_none() && validate(&Path::NIL, schema).is_empty()
}

/// Returns the errors that keep a schema from being structural, in the order of their texts.
pub(super) fn validate(path: &Path<'_>, schema: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    node(path, schema, Level::Root, &mut errors);
    completeness::of_value(schema, schema, path, path, &mut errors);
    errors.sort();
    errors
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

fn node(path: &Path<'_>, schema: &Object, level: Level, errors: &mut ErrorList) {
    if text(schema, "type") == "array" && child(schema, "items").is_none() {
        errors.push(Error::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = child(schema, "items") {
        node(&path.child("items"), items, Level::Item, errors);
    }
    for (name, property) in properties(schema) {
        node(&path.child("properties").key(name), property, Level::Field, errors);
    }
    let additional = path.child("additionalProperties");
    if is_set(schema, "additionalProperties") && level == Level::Root {
        errors.push(Error::forbidden(&additional, "must not be used at the root"));
    }
    if let Some(values) = child(schema, "additionalProperties") {
        node(&additional, values, Level::Field, errors);
    }
    for extension in [PRESERVE, EMBEDDED] {
        if flag(schema, INT_OR_STRING) && flag(schema, extension) {
            let detail = format!("must be false if {INT_OR_STRING} is true");
            errors.push(Error::invalid(&path.child(extension), true, detail));
        }
    }
    junctors::of_field(path, schema, errors);
    own_type(path, schema, level, errors);
    metadata(path, schema, level, errors);
    if flag(schema, EMBEDDED) {
        embedded(path, schema, errors);
    }
}

fn own_type(path: &Path<'_>, schema: &Object, level: Level, errors: &mut ErrorList) {
    let path = path.child("type");
    let ty = text(schema, "type");
    if flag(schema, EMBEDDED) && ty != "object" {
        let detail = format!("must be object if {EMBEDDED} is true");
        errors.push(match ty {
            "" => Error::required(&path, detail),
            other => Error::invalid(&path, other, detail),
        });
    } else if ty.is_empty() && !flag(schema, INT_OR_STRING) && !flag(schema, PRESERVE) {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(Error::required(&path, format!("must not be empty {place}")));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.push(Error::invalid(&path, ty, "must be object at the root"));
    }
}

/// Validates the schema of the fields that every resource has.
fn metadata(path: &Path<'_>, schema: &Object, level: Level, errors: &mut ErrorList) {
    let is_resource = level == Level::Root || flag(schema, EMBEDDED);
    let properties_path = path.child("properties");
    for (name, needed) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        let Some(property) = property(schema, name).filter(|_| is_resource) else { continue };
        let ty = text(property, "type");
        if ty != needed {
            let of_name = properties_path.key(name);
            errors.push(Error::invalid(&of_name.child("type"), ty, format!("must be {needed}")));
        }
    }
    let Some(metadata) = property(schema, "metadata").filter(|_| level == Level::Root) else { return };
    let only_names =
        |metadata: &Object| properties(metadata).all(|(name, _)| matches!(name, "name" | "generateName"));
    let others = metadata.keys().filter(|name| !matches!(name.as_str(), "type" | "default" | "properties"));
    if !only_names(metadata) || others.into_iter().any(|name| is_given(metadata, name)) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                      specified";
        errors.push(Error::forbidden(&properties_path.key("metadata"), detail));
    }
}

fn embedded(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    if is_set(schema, "additionalProperties") {
        let detail = format!("must not be used if {EMBEDDED} is set");
        errors.push(Error::forbidden(&path.child("additionalProperties"), detail));
    }
    if !flag(schema, PRESERVE) && properties(schema).next().is_none() {
        let detail = format!("must not be empty if {EMBEDDED} is true without {PRESERVE}");
        errors.push(Error::required(&path.child("properties"), detail));
    }
}
