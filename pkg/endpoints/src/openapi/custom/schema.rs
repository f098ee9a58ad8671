//! What a definition's schema becomes in a document. Upstream reads it into a structure and writes that; what comes out
//! is the schema without zero values, and with what is said in other words than the definition's.

use api::descriptions::of_any_object;
use jsontree::{Object, Value, json};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;
use schema::openapi::Dialect;

type Schema = Object;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// What upstream says of these members of an embedded resource.
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

/// The schema of whole objects, as a document of this dialect has it. Its depth is that of a decoded tree, which is
/// bounded. Without a schema, and in Swagger where unknown members are kept, clients are told nothing: they would
/// refuse what they are not told of.
pub(super) fn published(schema: Option<Value>, preserve_unknown_fields: bool, dialect: Dialect) -> Schema {
    let Some(Value::Object(mut schema)) = schema else { return any_object() };
    if dialect == Dialect::V2 && (preserve_unknown_fields || is(&schema, PRESERVE)) {
        return any_object();
    }
    convert_structural(&mut schema, dialect);
    add_object_members(&mut schema, ["apiVersion", "kind"].map(|name| (name, of_any_object(name))), dialect);
    schema
}

/// `apiVersion` or `kind`.
pub(super) fn text_member(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

/// A member that is of a type of its own and has a description. Nothing may stand beside a reference in OpenAPI 3.0.
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

/// A schema that says what may be where.
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

/// A schema that says what values must be like. Upstream has no word for what is in other members there.
fn convert_validations(schema: &mut Schema) {
    without_zero_values(schema);
    schema.remove("additionalProperties");
    each_of(schema, &["properties", "items", "allOf", "anyOf", "oneOf"], &mut convert_validations);
    if let Some(Value::Object(not)) = schema.get_mut("not") {
        convert_validations(not);
    }
}

/// Calls `change` for the schemas under these names: `items` and `additionalProperties` are one, the others have them as
/// members or elements.
fn each_of(schema: &mut Schema, names: &[&str], change: &mut dyn FnMut(&mut Schema)) {
    for name in names {
        match schema.get_mut(*name) {
            Some(Value::Object(members)) if *name == "properties" => {
                members.values_mut().filter_map(Value::as_object_mut).for_each(&mut *change);
            }
            Some(Value::Object(one)) => change(one),
            Some(Value::Array(several)) => {
                several.iter_mut().filter_map(Value::as_object_mut).for_each(&mut *change);
            }
            _ => {}
        }
    }
}

/// Leaves out what Go leaves out.
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
    });
}

/// Says of an int-or-string what it may be, unless the schema does.
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

/// Leaves out what Swagger has no words for, and what `kubectl` would take for a promise. The schemas within are as they
/// were.
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
    let of_type = |name: &str| schema.get("type").is_some_and(|own| own == name);
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

/// What every object has, in a schema of objects within another.
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

/// What every object has, whatever its schema says of it; with the texts of `apiVersion` and `kind`.
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
