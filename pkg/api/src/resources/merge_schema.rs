//! Merge schemas of custom resources, derived from their OpenAPI schemas.

use fieldmanager::structured_merge::model::Schema;
use jsontree::{Value, json};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;
use schema::object::Object;

/// Returns the merge schema for an OpenAPI schema. The fields that every object has are added, because
/// schemas omit them or describe them incompletely.
pub(super) fn merge_schema(schema: Option<Value>, preserve_unknown_fields: bool) -> Option<Schema> {
    let mut schema = schema?;
    complete(&mut schema, true);
    // Validation rejects schemas that do not define a type. Objects with older schemas merge according to
    // their values.
    Schema::from_openapi(&schema, preserve_unknown_fields).ok()
}

/// Adds the fields of a resource to a schema and its inner schemas. Removes the type if a schema has two.
fn complete(schema: &mut Value, is_root: bool) {
    let Value::Object(schema) = schema else { return };
    let is = |schema: &Object, name: &str| schema.get(name) == Some(&Value::Bool(true));
    if is(schema, "x-kubernetes-int-or-string") {
        schema.remove("type");
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|property| complete(property, false));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(name) {
            complete(below, false);
        }
    }
    if is_root || is(schema, "x-kubernetes-embedded-resource") {
        let properties = schema.entry("properties").or_insert_with(|| Value::Object(Object::new()));
        if let Value::Object(properties) = properties {
            properties.insert("apiVersion", json!({"type": "string"}));
            properties.insert("kind", json!({"type": "string"}));
            let metadata = json!({"$ref": format!("#/components/schemas/{}", OBJECT_META.name)});
            properties.insert("metadata", metadata);
        }
    }
}
