//! OpenAPI 3.0 in the messages of gnostic's `OpenAPIv3.proto`.

use jsontree::Value;

use super::{Message, elements};

/// Encodes a document. Keywords without a field in the messages are dropped; this server's documents have
/// none.
pub(in crate::openapi) fn document(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &document["openapi"]);
    out.message(2, |m| {
        m.text(1, &document["info"]["title"]);
        m.text(6, &document["info"]["version"]);
    });
    out.message(4, |m| m.named_members(1, &document["paths"], path_item));
    out.message(5, |m| {
        let components = &document["components"];
        if let Some(schemas) = components.get("schemas") {
            m.message(1, |m| m.named_members(1, schemas, schema_or_reference));
        }
        if let Some(schemes) = components.get("securitySchemes") {
            m.message(7, |m| {
                m.named_members(1, schemes, |m, scheme| m.message(1, |m| security_scheme(m, scheme)))
            });
        }
    });
    out.0
}

fn security_scheme(m: &mut Message, scheme: &Value) {
    m.text(1, &scheme["type"]);
    m.text(2, &scheme["description"]);
    m.text(3, &scheme["name"]);
    m.text(4, &scheme["in"]);
}

fn path_item(m: &mut Message, item: &Value) {
    for (method, number) in
        [("get", 4), ("put", 5), ("post", 6), ("delete", 7), ("options", 8), ("head", 9), ("patch", 10)]
    {
        if let Some(operation) = item.get(method) {
            m.message(number, |m| self::operation(m, operation));
        }
    }
    parameters(m, 13, &item["parameters"]);
}

fn operation(m: &mut Message, operation: &Value) {
    m.texts(1, &operation["tags"]);
    m.text(3, &operation["description"]);
    m.text(5, &operation["operationId"]);
    parameters(m, 6, &operation["parameters"]);
    if let Some(body) = operation.get("requestBody") {
        m.message(7, |m| {
            m.message(1, |m| {
                media_types(m, 2, body);
                m.boolean(3, &body["required"]);
            });
        });
    }
    m.message(8, |m| {
        m.named_members(2, &operation["responses"], |m, response| {
            m.message(1, |m| {
                m.text(1, &response["description"]);
                media_types(m, 3, response);
            });
        });
    });
    m.extensions(13, operation);
}

/// Appends the media types of a body or response.
fn media_types(m: &mut Message, number: u32, holder: &Value) {
    if let Some(content) = holder.get("content") {
        m.message(number, |m| {
            m.named_members(1, content, |m, media_type| {
                m.message(1, |m| schema_or_reference(m, &media_type["schema"]));
            });
        });
    }
}

fn parameters(m: &mut Message, number: u32, parameters: &Value) {
    for parameter in elements(parameters) {
        m.message(number, |m| {
            m.message(1, |m| {
                m.text(1, &parameter["name"]);
                m.text(2, &parameter["in"]);
                m.text(3, &parameter["description"]);
                m.boolean(4, &parameter["required"]);
                m.message(10, |m| schema_or_reference(m, &parameter["schema"]));
            });
        });
    }
}

fn schema_or_reference(m: &mut Message, schema: &Value) {
    match schema.get("$ref") {
        Some(reference) => m.message(2, |m| m.text(1, reference)),
        None => m.message(1, |m| self::schema(m, schema)),
    }
}

fn schema(m: &mut Message, schema: &Value) {
    m.boolean(1, &schema["nullable"]);
    m.text(9, &schema["title"]);
    m.double(10, &schema["multipleOf"]);
    m.double(11, &schema["maximum"]);
    m.boolean(12, &schema["exclusiveMaximum"]);
    m.double(13, &schema["minimum"]);
    m.boolean(14, &schema["exclusiveMinimum"]);
    for (number, name) in [(15, "maxLength"), (16, "minLength")] {
        m.integer(number, &schema[name]);
    }
    m.text(17, &schema["pattern"]);
    for (number, name) in [(18, "maxItems"), (19, "minItems")] {
        m.integer(number, &schema[name]);
    }
    m.boolean(20, &schema["uniqueItems"]);
    for (number, name) in [(21, "maxProperties"), (22, "minProperties")] {
        m.integer(number, &schema[name]);
    }
    m.texts(23, &schema["required"]);
    for value in elements(&schema["enum"]) {
        m.message(24, |m| m.yaml(value));
    }
    m.text(25, &schema["type"]);
    for (number, name) in [(26, "allOf"), (27, "oneOf"), (28, "anyOf")] {
        for schema in elements(&schema[name]) {
            m.message(number, |m| schema_or_reference(m, schema));
        }
    }
    if let Some(not) = schema.get("not") {
        m.message(29, |m| self::schema(m, not));
    }
    if let Some(items) = schema.get("items") {
        m.message(30, |m| m.message(1, |m| schema_or_reference(m, items)));
    }
    if let Some(properties) = schema.get("properties") {
        m.message(31, |m| m.named_members(1, properties, schema_or_reference));
    }
    match schema.get("additionalProperties") {
        None => {}
        Some(Value::Bool(allowed)) => m.message(32, |m| m.any_boolean(2, *allowed)),
        Some(values) => m.message(32, |m| m.message(1, |m| schema_or_reference(m, values))),
    }
    if let Some(default) = schema.get("default") {
        m.message(33, |m| self::default(m, default));
    }
    m.text(34, &schema["description"]);
    m.text(35, &schema["format"]);
    m.extensions(36, schema);
}

/// Appends a default. gnostic has no field for an object or an array, so the message is empty then, as in
/// upstream.
fn default(m: &mut Message, value: &Value) {
    match value {
        Value::Bool(value) => m.any_boolean(2, *value),
        Value::String(_) => m.text(3, value),
        _ => m.double(1, value),
    }
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_reference_is_not_a_schema() {
        check(|m| schema_or_reference(m, &json!({ "$ref": "#/p" })), b"\x12\x05\x0a\x03#/p");
        let text = json!({ "type": "string" });
        check(|m| schema_or_reference(m, &text), b"\x0a\x09\xca\x01\x06string");
    }

    #[test]
    fn default_keeps_type_except_for_objects() {
        check(|m| schema(m, &json!({ "default": "a" })), b"\x8a\x02\x03\x1a\x01a");
        check(|m| schema(m, &json!({ "default": false })), b"\x8a\x02\x02\x10\x00");
        check(|m| schema(m, &json!({ "default": 2 })), b"\x8a\x02\x09\x09\0\0\0\0\0\0\0\x40");
        check(|m| schema(m, &json!({ "default": {} })), b"\x8a\x02\x00");
    }

    #[test]
    fn a_parameter_has_a_schema() {
        let list =
            json!([{ "name": "q", "in": "query", "schema": { "type": "string", "uniqueItems": true } }]);
        let expected =
            b"\x32\x1c\x0a\x1a\x0a\x01q\x12\x05query\x52\x0e\x0a\x0c\xa0\x01\x01\xca\x01\x06string";
        check(|m| parameters(m, 6, &list), expected);
    }
}
