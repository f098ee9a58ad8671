//! Iterators over the schemas of a definition and the inner schemas of a schema.

use api::tree::{child, children, list};
use jsontree::Value;
use schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_JSONSCHEMAPROPS as SCHEMA;
use schema::object::Object;

/// Members with a schema, a list of schemas, or another value.
const DIRECT: [&str; 7] =
    ["items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems"];
/// Members with schemas by name.
const SCHEMA_MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];

/// Returns the schema of a spec (`member` is `validation`) or of a version (`member` is `schema`).
pub(super) fn schema_in<'o>(holder: &'o Object, member: &str) -> Option<&'o Object> {
    child(holder, member).and_then(|validation| child(validation, "openAPIV3Schema"))
}

/// True if a predicate holds for any schema of a spec, at any depth.
pub(super) fn any_in_spec(spec: &Object, holds: &dyn Fn(&Object) -> bool) -> bool {
    roots(spec).any(|schema| any(schema, holds))
}

/// Iterates over the top-level schemas of a spec: the common one and those of the versions.
pub(super) fn roots(spec: &Object) -> impl Iterator<Item = &Object> {
    let shared = schema_in(spec, "validation").into_iter();
    shared.chain(children(spec, "versions").filter_map(|version| schema_in(version, "schema")))
}

fn any(schema: &Object, holds: &dyn Fn(&Object) -> bool) -> bool {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if holds(schema) {
            return true;
        }
        let direct = DIRECT.iter().flat_map(|member| schemas(schema, member));
        let named = SCHEMA_MAPS.iter().filter_map(|member| child(schema, member));
        let named = named.flat_map(|schemas| schemas.values().filter_map(Value::as_object));
        open.extend(direct.chain(named));
    }
    false
}

/// Iterates over the schemas of a member with one schema or a list.
pub(super) fn schemas<'o>(schema: &'o Object, member: &str) -> impl Iterator<Item = &'o Object> + use<'o> {
    let one = child(schema, member).into_iter();
    one.chain(children(schema, member))
}

/// Iterates over the properties of a schema, by name.
pub(super) fn properties(schema: &Object) -> impl Iterator<Item = (&str, &Object)> {
    map_entries(schema, "properties")
}

/// Iterates over the schemas of a member with schemas by name.
pub(super) fn map_entries<'o>(
    schema: &'o Object,
    member: &str,
) -> impl Iterator<Item = (&'o str, &'o Object)> + use<'o> {
    let schemas = child(schema, member).into_iter().flatten();
    schemas.filter_map(|(name, schema)| Some((name.as_str(), schema.as_object()?)))
}

pub(super) fn property<'o>(schema: &'o Object, name: &str) -> Option<&'o Object> {
    child(schema, "properties").and_then(|properties| child(properties, name))
}

/// Iterates over the strings of a list member; in a tree, an empty one may be `null`.
pub(super) fn strings<'o>(object: &'o Object, member: &str) -> impl Iterator<Item = &'o str> + use<'o> {
    list(object, member).iter().map(|value| value.as_str().unwrap_or_default())
}

/// True if a member of a schema is set to something else than its absent value.
pub(super) fn is_given(schema: &Object, name: &str) -> bool {
    let pointer = SCHEMA.member(name).is_some_and(|field| field.pointer);
    match schema.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value || pointer,
        Some(Value::String(value)) => !value.is_empty() || pointer,
        Some(_) => true,
    }
}
