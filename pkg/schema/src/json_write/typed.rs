//! Typed trees: members in the order of the struct, empty ones omitted according to its tags.

use jsontree::{Lookup, Value};

use super::presence::{is_nil, left_out};
use super::{Error, untyped, write_raw, write_string};
use crate::object::Object;
use crate::patch::expand;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Appends an object as Go encodes its struct. `kind` and `apiVersion` come first if both the type and the
/// tree have them; unknown members are omitted. An object of an open type is encoded like a Go map.
///
/// # Errors
/// A member has the wrong type, a raw value is not valid JSON, or structs are nested too deeply.
pub fn encode(message: &'static Message, object: &Object, out: &mut Vec<u8>) -> Result<(), Error> {
    if message.open {
        untyped(&expand::structure(message, object, 1)?, out)
    } else {
        structure(message, object, out, 1)
    }
}

fn structure(
    message: &'static Message,
    object: &Object,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    if depth > super::DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    out.push(b'{');
    let object = Lookup::new(object);
    if message.type_meta {
        for (name, key) in [("kind", &b"\"kind\":"[..]), ("apiVersion", b"\"apiVersion\":")] {
            match object.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => {
                    member(key, out);
                    write_string(text.as_bytes(), out);
                }
                Some(_) => return Err(Error::Tree { field: name, expected: "a string" }),
            }
        }
    }
    members(message, &object, out, depth)?;
    out.push(b'}');
    Ok(())
}

/// Begins a member; the first of an object has no comma. No value ends in an opening brace.
#[inline]
pub(crate) fn member(key: &[u8], out: &mut Vec<u8>) {
    out.reserve(key.len() + 1);
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(key);
}

fn members(
    message: &'static Message,
    object: &Lookup<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    for field in message.fields {
        match field.ty {
            Type::Message(inner) if field.inlined() => members(inner, object, out, depth)?,
            _ => {
                let value = object.get(field.name);
                if !left_out(field, value) {
                    member(field.key.as_bytes(), out);
                    field_value(field, value, out, depth)?;
                }
            }
        }
    }
    Ok(())
}

fn field_value(
    field: &'static Field,
    value: Option<&Value>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    match (field.cardinality, value) {
        (_, Some(Value::Raw(text))) => out.extend_from_slice(text.as_bytes()),
        (Cardinality::One, value) if field.pointer && is_nil(field, value) => out.extend_from_slice(b"null"),
        (Cardinality::One, None | Some(Value::Null)) if matches!(field.ty, Type::Bytes) => {
            out.extend_from_slice(b"null")
        }
        (Cardinality::One, value) => element(field, value.unwrap_or(&Value::Null), out, depth)?,
        (_, None | Some(Value::Null)) => out.extend_from_slice(b"null"),
        (Cardinality::List, Some(Value::Array(items))) => {
            for (at, item) in items.iter().enumerate() {
                out.push(if at == 0 { b'[' } else { b',' });
                element(field, item, out, depth)?;
            }
            out.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
        }
        (Cardinality::Map, Some(Value::Object(members))) => {
            out.push(b'{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(name.as_bytes(), out);
                out.push(b':');
                element(field, value, out, depth)?;
            }
            out.push(b'}');
        }
        (Cardinality::List, _) => return Err(tree_error(field, "a list")),
        (Cardinality::Map, _) => return Err(tree_error(field, "an object")),
    }
    Ok(())
}

/// Appends a value of a field's element type; `null` is its zero value.
pub(crate) fn element(
    field: &'static Field,
    value: &Value,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    match (field.ty, value) {
        (_, Value::Raw(text)) => out.extend_from_slice(text.as_bytes()),
        (Type::Message(inner), value) => return message(field, inner, value, out, depth),
        (Type::Any, value) => return untyped(value, out),
        (Type::String, Value::Null) => out.extend_from_slice(b"\"\""),
        (Type::Bytes, Value::Null) => out.extend_from_slice(b"null"),
        (Type::Bool, Value::Null) => out.extend_from_slice(b"false"),
        (Type::Int32 | Type::Int64 | Type::Double, Value::Null) => out.push(b'0'),
        (Type::String | Type::Bytes, Value::String(text)) => write_string(text.as_bytes(), out),
        (Type::Bool, Value::Bool(value)) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        (Type::Int32 | Type::Int64, Value::Number(number)) if number.is_i64() => {
            super::untyped::number(number, out)?
        }
        (Type::Double, Value::Number(number)) => {
            super::write_double(number.as_f64().unwrap_or(f64::NAN), out)?
        }
        _ => return Err(tree_error(field, "a value of its type")),
    }
    Ok(())
}

fn message(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    match (inner.shape, value) {
        (Shape::Struct, Value::Object(members)) => return structure(inner, members, out, depth + 1),
        (Shape::Struct, Value::Null) => return structure(inner, &Object::new(), out, depth + 1),
        (Shape::Wrapper, value) => {
            let Some(items) = inner.fields.first() else { return Ok(()) };
            return field_value(items, Some(value), out, depth + 1);
        }
        (Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown, Value::String(text)) => {
            let nil = text.is_empty() && inner.shape == Shape::FieldsV1;
            return write_raw(inner, (!nil).then_some(text.as_bytes()), out);
        }
        (Shape::Quantity, Value::Null) => out.extend_from_slice(b"\"0\""),
        (Shape::IntOrString, Value::Null) => out.push(b'0'),
        (Shape::Duration, Value::Null) => out.extend_from_slice(b"\"0s\""),
        (Shape::SchemaOrBool, Value::Null) => out.extend_from_slice(b"false"),
        (_, Value::Null) => out.extend_from_slice(b"null"),
        (Shape::SchemaOrBool, Value::Bool(allows)) => {
            out.extend_from_slice(if *allows { b"true" } else { b"false" })
        }
        (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, value) => {
            return schema_or(field, inner, value, out, depth);
        }
        (Shape::IntOrString, Value::Number(number)) if number.is_i64() => {
            super::untyped::number(number, out)?
        }
        (Shape::Quantity, Value::String(text)) => match apimachinery::quantity::canonicalize(text) {
            Ok(text) => write_string(text.as_bytes(), out),
            Err(_) => return Err(tree_error(field, "a quantity")),
        },
        (Shape::IntOrString | Shape::Duration | Shape::Time | Shape::MicroTime, Value::String(text)) => {
            write_string(text.as_bytes(), out);
        }
        _ => return Err(tree_error(field, "a value of its type")),
    }
    Ok(())
}

/// Appends a schema, or a list of schemas or strings; an empty list counts as absent.
fn schema_or(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    let or_bool = inner.shape == Shape::SchemaOrBool;
    match (value, inner.fields.get(usize::from(or_bool)), inner.fields.get(usize::from(!or_bool))) {
        (Value::Array(items), ..) if items.is_empty() => out.extend_from_slice(b"null"),
        (Value::Object(_), Some(schema), _) => return element(schema, value, out, depth),
        (Value::Array(_), _, Some(items)) if !or_bool => return field_value(items, Some(value), out, depth),
        _ => return Err(tree_error(field, "a schema or its alternative")),
    }
    Ok(())
}

#[cold]
pub(crate) fn tree_error(field: &'static Field, expected: &'static str) -> Error {
    Error::Tree { field: field.name, expected }
}
