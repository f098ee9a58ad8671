//! Swagger 2.0 in the messages of gnostic's `OpenAPIv2.proto`, the only format that client-go's
//! `OpenAPISchema` requests.

use jsontree::Value;

use super::{Message, elements};

/// Encodes a document. Keywords without a field in the messages are dropped; this server's documents have
/// none.
pub(in crate::openapi) fn document(swagger: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &swagger["swagger"]);
    out.message(2, |m| {
        m.text(1, &swagger["info"]["title"]);
        m.text(2, &swagger["info"]["version"]);
    });
    out.message(8, |m| m.named_members(2, &swagger["paths"], path_item));
    out.message(9, |m| m.named_members(1, &swagger["definitions"], schema));
    out.message(10, |m| m.named_members(1, &swagger["parameters"], parameter));
    for requirement in elements(&swagger["security"]) {
        out.message(12, |m| m.named_members(1, requirement, |m, scopes| m.texts(1, scopes)));
    }
    out.message(13, |m| m.named_members(1, &swagger["securityDefinitions"], security_definition));
    out.0
}

fn security_definition(m: &mut Message, definition: &Value) {
    m.message(2, |m| {
        m.text(1, &definition["type"]);
        m.text(2, &definition["name"]);
        m.text(3, &definition["in"]);
        m.text(4, &definition["description"]);
    });
}

fn path_item(m: &mut Message, item: &Value) {
    for (method, number) in
        [("get", 2), ("put", 3), ("post", 4), ("delete", 5), ("options", 6), ("head", 7), ("patch", 8)]
    {
        if let Some(operation) = item.get(method) {
            m.message(number, |m| self::operation(m, operation));
        }
    }
    parameters(m, 9, &item["parameters"]);
}

fn operation(m: &mut Message, operation: &Value) {
    m.texts(1, &operation["tags"]);
    m.text(3, &operation["description"]);
    m.text(5, &operation["operationId"]);
    m.texts(6, &operation["produces"]);
    m.texts(7, &operation["consumes"]);
    parameters(m, 8, &operation["parameters"]);
    m.message(9, |m| {
        m.named_members(1, &operation["responses"], |m, response| {
            m.message(1, |m| {
                m.text(1, &response["description"]);
                if let Some(schema) = response.get("schema") {
                    m.message(2, |m| m.message(1, |m| self::schema(m, schema)));
                }
            });
        });
    });
    m.texts(10, &operation["schemes"]);
    m.extensions(13, operation);
}

fn parameters(m: &mut Message, number: u32, parameters: &Value) {
    for parameter in elements(parameters) {
        m.message(number, |m| match parameter.get("$ref") {
            Some(reference) => m.message(2, |m| m.text(1, reference)),
            None => m.message(1, |m| self::parameter(m, parameter)),
        });
    }
}

fn parameter(m: &mut Message, parameter: &Value) {
    let description = &parameter["description"];
    match parameter["in"].as_str() {
        Some("body") => m.message(1, |m| {
            m.text(1, description);
            m.text(2, &parameter["name"]);
            m.text(3, &parameter["in"]);
            m.boolean(4, &parameter["required"]);
            m.message(5, |m| schema(m, &parameter["schema"]));
        }),
        place => {
            // The messages for path and query parameters have different field numbers for `type` and
            // `uniqueItems`.
            let (kind, ty, unique) = if place == Some("path") { (4, 5, 19) } else { (3, 6, 20) };
            m.message(2, |m| {
                m.message(kind, |m| {
                    m.boolean(1, &parameter["required"]);
                    m.text(2, &parameter["in"]);
                    m.text(3, description);
                    m.text(4, &parameter["name"]);
                    m.text(ty, &parameter["type"]);
                    m.boolean(unique, &parameter["uniqueItems"]);
                });
            });
        }
    }
}

fn schema(m: &mut Message, schema: &Value) {
    m.text(1, &schema["$ref"]);
    m.text(2, &schema["format"]);
    m.text(4, &schema["description"]);
    m.double(7, &schema["maximum"]);
    m.double(9, &schema["minimum"]);
    m.texts(19, &schema["required"]);
    for value in elements(&schema["enum"]) {
        m.message(20, |m| m.yaml(value));
    }
    if let Some(values) = schema.get("additionalProperties") {
        m.message(21, |m| m.message(1, |m| self::schema(m, values)));
    }
    if let Some(ty) = schema.get("type") {
        m.message(22, |m| m.text(1, ty));
    }
    if let Some(items) = schema.get("items") {
        m.message(23, |m| m.message(1, |m| self::schema(m, items)));
    }
    if let Some(properties) = schema.get("properties") {
        m.message(25, |m| m.named_members(1, properties, self::schema));
    }
    m.extensions(31, schema);
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::super::tests::check;
    use super::*;

    #[test]
    fn reference_has_own_message() {
        let list = json!([{ "$ref": "#/p" }]);
        check(|m| parameters(m, 8, &list), b"\x42\x07\x12\x05\x0a\x03#/p");
    }

    #[test]
    fn path_and_query_parameters_are_different_messages() {
        let query = json!({ "in": "query", "name": "q", "type": "string", "uniqueItems": true });
        check(|m| parameter(m, &query), b"\x12\x17\x1a\x15\x12\x05query\x22\x01q\x32\x06string\xa0\x01\x01");
        let path = json!({ "in": "path", "name": "p", "type": "string", "required": true });
        check(|m| parameter(m, &path), b"\x12\x15\x22\x13\x08\x01\x12\x04path\x22\x01p\x2a\x06string");
    }

    #[test]
    fn enum_values_and_extensions_are_yaml() {
        let value = json!({ "enum": ["", "A"], "x-y": [{ "k": 1 }] });
        let expected = b"\xa2\x01\x05\x12\x03\"\"\n\xa2\x01\x04\x12\x02A\n\xfa\x01\x10\x0a\x03x-y\x12\x09\x12\x07- k: 1\n";
        check(|m| schema(m, &value), expected);
    }
}
