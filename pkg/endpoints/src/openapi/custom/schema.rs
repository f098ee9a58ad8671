//! Converts the schema of a CRD for a document.
//!
//! Upstream decodes the schema into a structure and encodes it again. The result has no zero values, and some
//! keywords are expressed differently.

use api::descriptions::of_any_object;
use jsontree::{Object, Value, json};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;
use schema::openapi::Dialect;

type Schema = Object;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Upstream's descriptions of these members in an embedded resource.
const TYPE_META_OF_EMBEDDED: [(&str, &str); 2] = [
    (
        "apiVersion",
        "apiVersion defines the versioned schema of this representation of an object. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "kind is a string value representing the type of this object. In CamelCase. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

/// Converts the schema of whole objects. The depth is bounded, like that of every decoded tree.
///
/// The result is empty without a schema, and in Swagger if unknown fields are preserved. Otherwise clients
/// would reject fields that the schema lacks.
pub(super) fn published(schema: Option<Value>, preserve_unknown_fields: bool, dialect: Dialect) -> Schema {
    let Some(Value::Object(mut schema)) = schema else { return any_object() };
    if dialect == Dialect::V2 && (preserve_unknown_fields || is(&schema, PRESERVE)) {
        return any_object();
    }
    convert_structural(&mut schema, dialect);
    add_object_members(&mut schema, ["apiVersion", "kind"].map(|name| (name, of_any_object(name))), dialect);
    schema
}

/// Schema of `apiVersion` or `kind`.
pub(super) fn text_member(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

/// Schema of a member with a type of its own and a description. OpenAPI 3.0 allows no siblings of a
/// reference.
pub(super) fn referring_member(name: &str, description: &str, dialect: Dialect) -> Value {
    match dialect {
        Dialect::V2 => json!({ "description": description, "$ref": target(name, dialect) }),
        Dialect::V3 => json!({ "description": description, "allOf": [reference(name, dialect)] }),
    }
}

pub(super) fn reference(name: &str, dialect: Dialect) -> Value {
    json!({ "$ref": target(name, dialect) })
}

fn target(name: &str, dialect: Dialect) -> String {
    [dialect.reference_prefix(), name].concat()
}

fn any_object() -> Schema {
    Object::from_iter([("type".to_owned(), "object".into())])
}

fn is(schema: &Schema, extension: &str) -> bool {
    schema.get(extension) == Some(&Value::Bool(true))
}

/// Converts the structural part of a schema, which specifies the fields.
fn convert_structural(schema: &mut Schema, dialect: Dialect) {
    without_zero_values(schema);
    expand_int_or_string(schema);
    match dialect {
        Dialect::V2 => for_swagger(schema),
        Dialect::V3 => each_of(schema, &["allOf", "anyOf", "oneOf"], &mut convert_validations),
    }
    if let (Dialect::V3, Some(Value::Object(not))) = (dialect, schema.get_mut("not")) {
        convert_validations(not);
    }
    each_of(schema, &["properties", "items", "additionalProperties"], &mut |child| {
        convert_structural(child, dialect)
    });
    if is(schema, EMBEDDED) && !(dialect == Dialect::V2 && is(schema, PRESERVE)) {
        embed(schema, dialect);
    }
}

/// Converts the value validations of a schema. Upstream drops all other keywords there.
fn convert_validations(schema: &mut Schema) {
    without_zero_values(schema);
    schema.remove("additionalProperties");
    each_of(schema, &["properties", "items", "allOf", "anyOf", "oneOf"], &mut convert_validations);
    if let Some(Value::Object(not)) = schema.get_mut("not") {
        convert_validations(not);
    }
}

/// Calls `change` for the schemas under these names. `items` and `additionalProperties` are schemas; the
/// others contain schemas as members or elements.
fn each_of(schema: &mut Schema, names: &[&str], change: &mut dyn FnMut(&mut Schema)) {
    for name in names {
        match schema.get_mut(*name) {
            Some(Value::Object(members)) if *name == "properties" => {
                members.values_mut().filter_map(Value::as_object_mut).for_each(&mut *change);
            }
            Some(Value::Object(single)) => change(single),
            Some(Value::Array(schemas)) => {
                schemas.iter_mut().filter_map(Value::as_object_mut).for_each(&mut *change);
            }
            _ => {}
        }
    }
}

/// Removes zero values, which Go omits.
fn without_zero_values(schema: &mut Schema) {
    const ANY_VALUE: [&str; 3] = ["default", "example", "additionalProperties"];
    const SCHEMAS: [&str; 2] = ["items", "not"];
    schema.retain(|name, value| match value {
        Value::Null => false,
        _ if ANY_VALUE.contains(&name.as_str()) => true,
        Value::Bool(flag) => *flag,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty() || SCHEMAS.contains(&name.as_str()),
        Value::Number(_) => true,
        Value::Raw(_) => false,
    });
}

/// Expands int-or-string into `anyOf`, unless the schema does so.
fn expand_int_or_string(schema: &mut Schema) {
    if !is(schema, INT_OR_STRING) {
        return;
    }
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let first = schema.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf"));
    if schema.get("anyOf") == Some(&types) || first == Some(&types) {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf", types);
        return;
    }
    if let Some(all) = schema.entry("allOf").or_insert_with(|| json!([])).as_array_mut() {
        all.insert(0, json!({ "anyOf": types }));
    }
}

/// Removes keywords that Swagger lacks, and those that `kubectl` would misinterpret. Nested schemas are
/// unchanged.
fn for_swagger(schema: &mut Schema) {
    for name in ["allOf", "anyOf", "oneOf", "not", "default"] {
        schema.remove(name);
    }
    let nullable = schema.remove("nullable").is_some();
    let preserves = is(schema, PRESERVE);
    if nullable || preserves {
        schema.remove("items");
        schema.remove("properties");
    }
    let of_type = |name: &str| schema.get("type").is_some_and(|value| value == name);
    let open_array = of_type("array") && !schema.contains_key("items");
    if nullable || open_array || (preserves && of_type("object")) {
        schema.remove("type");
    }
    if schema.get("additionalProperties").is_some_and(is_nullable) {
        schema.remove("required");
    }
    let Some(Value::Array(mut required)) = schema.remove("required") else { return };
    let properties = schema.get("properties");
    let property = |name: &Value| properties.and_then(|all| all.get(name.as_str()?));
    required.retain(|name| !property(name).is_some_and(is_nullable));
    if !required.is_empty() {
        schema.insert("required", required.into());
    }
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// Adds `apiVersion`, `kind` and `metadata` to the schema of an embedded resource.
fn embed(schema: &mut Schema, dialect: Dialect) {
    add_object_members(schema, TYPE_META_OF_EMBEDDED, dialect);
    if let Some(required) = schema.entry("required").or_insert_with(|| json!([])).as_array_mut() {
        for name in ["kind", "apiVersion"].map(Value::from) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

/// Sets `apiVersion`, `kind` and `metadata`, with these descriptions of the first two.
fn add_object_members(schema: &mut Schema, type_meta: [(&str, &str); 2], dialect: Dialect) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for (name, description) in type_meta {
            properties.insert(name, text_member(description));
        }
        let metadata = referring_member(OBJECT_META.name, of_any_object("metadata"), dialect);
        properties.insert("metadata", metadata);
    }
}
