//! Canonical protobuf encoder. It writes backwards, so that lengths are known when they are written, and
//! nothing is sized, copied or allocated twice.

use apimachinery::time::{UnixTime, parse_duration, parse_shown};
use base64::prelude::{BASE64_STANDARD, Engine};
use jsontree::{Lookup, Value};

use super::reverse::Reverse;
use super::{DEPTH_MAX, Error};
use crate::object::{Object, null_is_set};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Appends the canonical bytes of a message, identical to the output of gogo's generated code. Unknown
/// members are omitted, including `kind` and `apiVersion`.
///
/// # Errors
/// A member has the wrong type, or messages are nested too deeply; `out` is then unchanged.
pub fn encode(message: &'static Message, object: &Object, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut reverse = Reverse::new(out);
    match fields(message, &Lookup::new(object), &mut reverse, 1) {
        Ok(()) => {
            reverse.finish();
            Ok(())
        }
        Err(error) => {
            reverse.abandon();
            Err(error)
        }
    }
}

fn fields(
    message: &'static Message,
    object: &Lookup<'_>,
    out: &mut Reverse,
    depth: usize,
) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    for &at in message.wire_order.iter().rev() {
        let Some(field) = message.fields.get(usize::from(at)) else { continue };
        if let (true, Type::Message(inner)) = (field.inlined(), field.ty) {
            inlined(field, inner, object, out, depth)?;
            continue;
        }
        let value = object.get(field.name);
        if value.is_some_and(Value::is_raw) {
            return Err(Error::TooDeep);
        }
        match field.cardinality {
            Cardinality::One => one(field, value, out, depth)?,
            Cardinality::List => list(field, value, out, depth)?,
            Cardinality::Map => map(field, value, out, depth)?,
        }
    }
    Ok(())
}

/// An inlined struct; one behind a pointer is present if one of its members is.
fn inlined(
    field: &Field,
    inner: &'static Message,
    object: &Lookup<'_>,
    out: &mut Reverse,
    depth: usize,
) -> Result<(), Error> {
    if field.pointer && !inner.members.iter().any(|m| object.get(m.name).is_some()) {
        return Ok(());
    }
    let mark = out.len();
    fields(inner, object, out, depth + 1)?;
    out.close(field.tag, mark);
    Ok(())
}

fn one(field: &'static Field, value: Option<&Value>, out: &mut Reverse, depth: usize) -> Result<(), Error> {
    let mark = out.len();
    match field.ty {
        Type::Message(inner) => {
            // A named slice may be nil, like a pointer.
            let optional = field.pointer || inner.shape == Shape::Wrapper;
            match value {
                None if optional => return Ok(()),
                Some(Value::Null) if optional && !null_is_set(inner.shape) => return Ok(()),
                value => message(field, inner, value.unwrap_or(&Value::Null), out, depth + 1)?,
            }
            out.close(field.tag, mark);
        }
        Type::Bytes => {
            if let Some(value) = value.filter(|v| !v.is_null()) {
                scalar_value(field, value, out)?;
                out.put_varint(u64::from(field.tag));
            }
        }
        _ => {
            let value = match (value.filter(|v| !v.is_null()), field.pointer) {
                (None, true) => return Ok(()),
                (value, _) => value.unwrap_or(&Value::Null),
            };
            scalar_value(field, value, out)?;
            out.put_varint(u64::from(field.tag));
        }
    }
    Ok(())
}

fn list(field: &'static Field, value: Option<&Value>, out: &mut Reverse, depth: usize) -> Result<(), Error> {
    let values = match value {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(tree_error(field, "a list")),
    };
    for value in values.iter().rev() {
        let mark = out.len();
        match field.ty {
            Type::Message(inner) => {
                message(field, inner, value, out, depth + 1)?;
                out.close(field.tag, mark);
            }
            _ => {
                scalar_value(field, value, out)?;
                out.put_varint(u64::from(field.tag));
            }
        }
    }
    Ok(())
}

fn map(field: &'static Field, value: Option<&Value>, out: &mut Reverse, depth: usize) -> Result<(), Error> {
    let members = match value {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(tree_error(field, "an object")),
    };
    for (name, value) in members.iter().rev() {
        let entry = out.len();
        match field.ty {
            Type::Message(inner) => {
                message(field, inner, value, out, depth + 1)?;
                out.close(0x12, entry);
            }
            // Nil bytes are the only value that an entry omits.
            Type::Bytes if value.is_null() => {}
            _ => {
                scalar_value(field, value, out)?;
                out.put(&[0x12]);
            }
        }
        out.put(name.as_bytes());
        out.put_varint(name.len() as u64);
        out.put(&[0x0a]);
        out.close(field.tag, entry);
    }
    Ok(())
}

/// A scalar without its key; `null` is zero.
fn scalar_value(field: &'static Field, value: &Value, out: &mut Reverse) -> Result<(), Error> {
    match (field.ty, value) {
        (Type::String | Type::Bytes | Type::Bool | Type::Int32 | Type::Int64, Value::Null) => out.put(&[0]),
        (Type::Double, Value::Null) => out.put(&[0; 8]),
        (Type::String, Value::String(text)) => text_value(text, out),
        (Type::Bytes, Value::String(text)) => {
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| tree_error(field, "base64"))?;
            out.put(&bytes);
            out.put_varint(bytes.len() as u64);
        }
        (Type::Bool, Value::Bool(value)) => out.put(&[u8::from(*value)]),
        (Type::Int32, Value::Number(number)) => {
            let value = number
                .as_i64()
                .and_then(|n| i32::try_from(n).ok())
                .ok_or_else(|| tree_error(field, "an int32"))?;
            out.put_varint(i64::from(value) as u64);
        }
        (Type::Int64, Value::Number(number)) => {
            out.put_varint(number.as_i64().ok_or_else(|| tree_error(field, "an int64"))? as u64);
        }
        (Type::Double, Value::Number(number)) => {
            out.put(&number.as_f64().ok_or_else(|| tree_error(field, "a number"))?.to_le_bytes());
        }
        _ => return Err(tree_error(field, expected(field.ty))),
    }
    Ok(())
}

fn text_value(text: &str, out: &mut Reverse) {
    out.put(text.as_bytes());
    out.put_varint(text.len() as u64);
}

fn text_field(tag: u32, text: &[u8], out: &mut Reverse) {
    out.put(text);
    out.put_varint(text.len() as u64);
    out.put_varint(u64::from(tag));
}

/// The body of a message, without key and length; `null` is its zero value.
fn message(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    out: &mut Reverse,
    depth: usize,
) -> Result<(), Error> {
    match (inner.shape, value) {
        (Shape::Struct, Value::Object(members)) => fields(inner, &Lookup::new(members), out, depth),
        (Shape::Struct, Value::Null) => fields(inner, &Lookup::new(&Object::new()), out, depth),
        (_, Value::Raw(_)) => Err(Error::TooDeep),
        (Shape::Struct, _) => Err(tree_error(field, "an object")),
        (Shape::Wrapper, value) => match inner.fields.first() {
            Some(items) => list(items, Some(value), out, depth),
            None => Ok(()),
        },
        (Shape::Quantity, value) => quantity(field, value, out),
        (Shape::IntOrString, value) => int_or_string(field, value, out),
        (Shape::Time | Shape::MicroTime, value) => time(field, inner.shape, value, out),
        (Shape::Duration, value) => {
            let nanos = match value {
                Value::Null => Some(0),
                value => value.as_str().and_then(|text| parse_duration(text).ok()),
            };
            out.put_varint(nanos.ok_or_else(|| tree_error(field, "a duration"))? as u64);
            out.put(&[0x08]);
            Ok(())
        }
        (Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown, value) => {
            raw_json(field, inner.shape, value, out)
        }
        (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, value) => {
            schema_or(field, inner, value, out, depth)
        }
    }
}

fn quantity(field: &'static Field, value: &Value, out: &mut Reverse) -> Result<(), Error> {
    match value {
        Value::Null => text_field(0x0a, b"0", out),
        Value::String(text) => text_field(0x0a, apimachinery::quantity::canonicalize(text)?.as_bytes(), out),
        _ => return Err(tree_error(field, "a quantity")),
    }
    Ok(())
}

fn int_or_string(field: &'static Field, value: &Value, out: &mut Reverse) -> Result<(), Error> {
    let (kind, int, text) = match value {
        Value::Null => (0, 0, ""),
        Value::String(text) => (1, 0, text.as_str()),
        Value::Number(number) => {
            let int = number.as_i64().and_then(|n| i32::try_from(n).ok());
            (0, int.ok_or_else(|| tree_error(field, "an int32"))?, "")
        }
        _ => return Err(tree_error(field, "an integer or a string")),
    };
    text_field(0x1a, text.as_bytes(), out);
    out.put_varint(i64::from(int) as u64);
    out.put(&[0x08, kind, 0x10]);
    Ok(())
}

fn time(field: &'static Field, shape: Shape, value: &Value, out: &mut Reverse) -> Result<(), Error> {
    if value.is_null() {
        return Ok(());
    }
    let time = value.as_str().and_then(parse_shown).ok_or_else(|| tree_error(field, "a time"))?;
    let nanos = if shape == Shape::MicroTime { time.nanos - time.nanos % 1000 } else { 0 };
    if !(UnixTime { nanos, ..time }).is_go_zero() {
        out.put_varint(u64::from(nanos));
        out.put(&[0x10]);
        out.put_varint(time.seconds as u64);
        out.put(&[0x08]);
    }
    Ok(())
}

fn raw_json(field: &'static Field, shape: Shape, value: &Value, out: &mut Reverse) -> Result<(), Error> {
    let text = match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() && shape == Shape::FieldsV1 => None,
        Value::String(text) => Some(text.as_bytes()),
        _ => return Err(tree_error(field, "raw JSON text")),
    };
    if shape == Shape::Unknown {
        text_field(0x22, b"application/json", out);
        text_field(0x1a, b"", out);
    }
    if let Some(text) = text {
        text_field(if shape == Shape::Unknown { 0x12 } else { 0x0a }, text, out);
    }
    if shape == Shape::Unknown {
        out.put(&[0x0a, 4, 0x0a, 0, 0x12, 0]);
    }
    Ok(())
}

/// A schema or an alternative: the schema is in one field, the alternative in the other.
fn schema_or(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    out: &mut Reverse,
    depth: usize,
) -> Result<(), Error> {
    let or_bool = inner.shape == Shape::SchemaOrBool;
    let schema = inner.fields.get(usize::from(or_bool));
    match (value, schema, inner.fields.get(usize::from(!or_bool))) {
        (Value::Object(_), Some(schema), _) => one(schema, Some(value), out, depth)?,
        (Value::Array(_), _, Some(items)) if !or_bool => list(items, Some(value), out, depth)?,
        (Value::Bool(_), ..) if or_bool => {}
        (Value::Null, ..) => {}
        _ => return Err(tree_error(field, "a schema or its alternative")),
    }
    if or_bool {
        out.put(&[0x08, u8::from(!matches!(value, Value::Null | Value::Bool(false)))]);
    }
    Ok(())
}

#[cold]
fn tree_error(field: &'static Field, expected: &'static str) -> Error {
    Error::Tree { field: field.name, expected }
}

fn expected(ty: Type) -> &'static str {
    match ty {
        Type::String => "a string",
        Type::Bytes => "base64 text",
        Type::Bool => "a boolean",
        Type::Int32 => "an int32",
        Type::Int64 => "an int64",
        Type::Double => "a number",
        Type::Any | Type::Message(_) => "a value of the wire",
    }
}
