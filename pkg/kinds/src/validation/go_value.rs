//! Struct values in upstream's errors: the JSON of its internal Go structs. These have no tags, so members
//! have Go's field names and none is omitted. Types of apimachinery have tags and are printed as served.

mod layout;

use apimachinery::field::BadValue;
use jsontree::Value;
use layout::{go_name, order};
use schema::json_write;
use schema::object::Object;
use schema::table::{Cardinality, Field, Message, Shape, Type};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Converts an object of a built-in type to the value of an error.
pub(crate) fn go_value(message: &'static Message, object: &Object) -> BadValue {
    BadValue::Plain(go_json(message, object))
}

/// Converts a list of objects of a built-in type to the value of an error.
pub(crate) fn go_values(message: &'static Message, list: Option<&Value>) -> BadValue {
    let Some(items) = list.and_then(Value::as_array) else { return BadValue::Plain("null".to_owned()) };
    let items: Vec<String> =
        items.iter().filter_map(Value::as_object).map(|item| go_json(message, item)).collect();
    BadValue::Plain(format!("[{}]", items.join(",")))
}

/// Converts a field that holds a schema or another value to the value of an error.
pub(crate) fn go_field_value(message: &'static Message, name: &str, object: &Object) -> BadValue {
    let mut out = Vec::new();
    if let (Some(field), Some(value)) = (message.member(name), object.get(name)) {
        element(field.ty, value, &mut out);
    }
    BadValue::Plain(String::from_utf8(out).unwrap_or_default())
}

/// Returns the compact JSON of an object of a built-in type.
pub(crate) fn go_json(message: &'static Message, object: &Object) -> String {
    let mut out = Vec::new();
    structure(message, object, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the JSON of an object of a built-in type on several lines, indented by one space per level.
/// Upstream compares this text line by line.
pub(crate) fn go_lines(message: &'static Message, object: &Object) -> String {
    lines(&go_json(message, object))
}

/// Returns the same for a list of objects.
pub(crate) fn go_list_lines(message: &'static Message, list: &[&Object]) -> String {
    let items: Vec<String> = list.iter().map(|item| go_json(message, item)).collect();
    lines(&format!("[{}]", items.join(",")))
}

fn lines(compact: &str) -> String {
    let mut indented = Vec::new();
    json_write::indent(compact.as_bytes(), &mut indented);
    let indented = String::from_utf8(indented).unwrap_or_default();
    let half = |line: &str| line.len().saturating_sub(line.trim_start_matches(' ').len()) / 2;
    let lines: Vec<&str> = indented.lines().map(|line| line.get(half(line)..).unwrap_or(line)).collect();
    lines.join("\n")
}

fn structure(message: &'static Message, object: &Object, out: &mut Vec<u8>) {
    if message.name.starts_with("io.k8s.apimachinery.") {
        // Fails only for values that no decoder accepts.
        let _ = json_write::encode(message, object, out);
        return;
    }
    out.push(b'{');
    members(message, object, out);
    out.push(b'}');
}

fn members(message: &'static Message, object: &Object, out: &mut Vec<u8>) {
    let Some(names) = order(message.name) else {
        for field in message.fields {
            member(message, field, object, out);
        }
        return;
    };
    for name in names {
        if let Some(known_member) = message.members.iter().find(|member| member.name == *name) {
            member(message, known_member.field, object, out);
        }
    }
}

fn member(message: &'static Message, field: &'static Field, object: &Object, out: &mut Vec<u8>) {
    match field.ty {
        Type::Message(inner) if field.name.is_empty() => return members(inner, object, out),
        Type::Message(inner) if inner.name == OBJECT_META && field.cardinality == Cardinality::One => {
            // Embedded in the internal type.
            let empty = Object::new();
            let meta = api::tree::child(object, field.name).unwrap_or(&empty);
            let mut text = Vec::new();
            structure(inner, meta, &mut text);
            let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
            if !inside.is_empty() {
                comma(out);
                out.extend_from_slice(inside);
            }
            return;
        }
        _ => {}
    }
    key(&go_name(message.name, field.name), out);
    let value = object.get(field.name).unwrap_or(&Value::Null);
    match (field.cardinality, value) {
        (Cardinality::One, Value::Null) if field.pointer => out.extend_from_slice(b"null"),
        (Cardinality::One, value) => element(field.ty, value, out),
        (Cardinality::List, Value::Array(items)) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                element(field.ty, item, out);
            }
            out.push(b']');
        }
        (Cardinality::Map, Value::Object(entries)) => {
            out.push(b'{');
            for (name, value) in entries {
                comma(out);
                json_write::write_string(name.as_bytes(), out);
                out.push(b':');
                element(field.ty, value, out);
            }
            out.push(b'}');
        }
        _ => out.extend_from_slice(b"null"),
    }
}

/// Writes a value that is not a nil pointer; `null` is the zero value.
fn element(ty: Type, value: &Value, out: &mut Vec<u8>) {
    match (ty, value) {
        (Type::Message(message), value) => message_value(message, value, out),
        (Type::String, Value::Null) => out.extend_from_slice(b"\"\""),
        (Type::Bool, Value::Null) => out.extend_from_slice(b"false"),
        (Type::Int32 | Type::Int64 | Type::Double, Value::Null) => out.push(b'0'),
        (_, value) => leaf(value, out),
    }
}

fn message_value(message: &'static Message, value: &Value, out: &mut Vec<u8>) {
    match (message.shape, value) {
        (Shape::Struct, Value::Object(object)) => structure(message, object, out),
        (Shape::Struct, _) => structure(message, &Object::new(), out),
        (Shape::Quantity, Value::Null) => out.extend_from_slice(b"\"0\""),
        (Shape::IntOrString, Value::Null) => out.push(b'0'),
        (Shape::Duration, Value::Null) => out.extend_from_slice(b"\"0s\""),
        (Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray, value) => {
            alternatives(message, value, out);
        }
        (shape, Value::String(text)) if shape.is_raw_json() => {
            let _ = json_write::compact(text.as_bytes(), out);
        }
        (_, value) => leaf(value, out),
    }
}

/// Writes a schema or its alternative; in Go each has a field.
fn alternatives(message: &'static Message, value: &Value, out: &mut Vec<u8>) {
    let schema = api::semantic::schema_of(message);
    let (names, is_bool) = match message.shape {
        Shape::SchemaOrBool => (["Allows", "Schema"], true),
        Shape::SchemaOrArray => (["Schema", "JSONSchemas"], false),
        _ => (["Schema", "Property"], false),
    };
    out.push(b'{');
    for name in names {
        key(name, out);
        match (name, value, schema) {
            ("Allows", value, _) => leaf(&Value::Bool(is_bool && value != &Value::Bool(false)), out),
            ("Schema", Value::Object(object), Some(schema)) => structure(schema, object, out),
            ("JSONSchemas", Value::Array(items), Some(schema)) if !items.is_empty() => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    message_value(schema, item, out);
                }
                out.push(b']');
            }
            ("Property", value @ Value::Array(_), _) => leaf(value, out),
            _ => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

fn leaf(value: &Value, out: &mut Vec<u8>) {
    // Fails only for numbers that no decoder accepts.
    let _ = json_write::untyped(value, out);
}

fn key(name: &str, out: &mut Vec<u8>) {
    comma(out);
    json_write::write_string(name.as_bytes(), out);
    out.push(b':');
}

/// Separates members; no value ends in an opening brace.
fn comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
