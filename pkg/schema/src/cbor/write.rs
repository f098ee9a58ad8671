//! CBOR encoder for trees. The output is identical to that of upstream's deterministic encoder for the
//! corresponding struct.

use jsontree::{Lookup, Value};
use smallvec::SmallVec;

use super::{SELF_DESCRIBED, TREE_DEPTH_MAX};
use crate::json::{self, base64};
use crate::json_write::typed::tree_error;
use crate::json_write::{self, DEPTH_MAX};
use crate::json_write::{is_nil, left_out};
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
/// The tag before bytes: expected conversion to base64.
const BASE64_LATER: u8 = 0xc0 | 22;

/// Reason for a value that cannot be encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// The reasons are the same as for JSON.
    #[error(transparent)]
    Value(#[from] json_write::Error),
    /// A raw value that is not valid JSON.
    #[error("{type_name} holds no JSON: {reason}")]
    Raw {
        /// The Go type that holds the value.
        type_name: &'static str,
        /// The error of the JSON decoder.
        #[source]
        reason: json::Error,
    },
}

type Error = json_write::Error;

/// Appends an object with the self-describing tag, like upstream's serializer.
///
/// # Errors
/// As for [`item`].
pub fn encode(message: &'static Message, object: &Object, out: &mut Vec<u8>) -> Result<(), WriteError> {
    out.extend_from_slice(&SELF_DESCRIBED);
    item(message, object, out)
}

/// Appends an object as a part of another object.
///
/// # Errors
/// A member has the wrong type, a raw value is not valid JSON, or structs are nested too deeply. The part
/// that was appended remains.
pub fn item(message: &'static Message, object: &Object, out: &mut Vec<u8>) -> Result<(), WriteError> {
    structure(message, object, out, 1)
}

/// Appends a value without a schema.
///
/// # Errors
/// The value is nested too deeply, or contains a number that is not finite.
pub fn untyped(value: &Value, out: &mut Vec<u8>) -> Result<(), WriteError> {
    any(value, out, 0)
}

/// Appends the CBOR of a JSON text, with the self-describing tag.
///
/// # Errors
/// The text is not valid JSON, or is nested too deeply.
pub fn from_json(text: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
    out.extend_from_slice(&SELF_DESCRIBED);
    raw("interface {}", text, out)
}

/// Appends the head of a map of this many entries.
pub fn put_map(entries: usize, out: &mut Vec<u8>) {
    head(MAP, entries as u64, out);
}

/// Appends the head of an array of this many items.
pub fn put_array(items: usize, out: &mut Vec<u8>) {
    head(ARRAY, items as u64, out);
}

/// Appends a string as a byte string, like all strings of the output.
pub fn put_text(text: &str, out: &mut Vec<u8>) {
    bytes(text.as_bytes(), out);
}

fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let bytes = argument.to_be_bytes();
    let (info, len) = match argument {
        0..24 => return out.push(major | argument as u8),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major | info);
    out.extend(bytes.iter().skip(8 - len));
}

fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    head(BYTES, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn integer(number: i64, out: &mut Vec<u8>) {
    match u64::try_from(number) {
        Ok(number) => head(UNSIGNED, number, out),
        Err(_) => head(NEGATIVE, !number as u64, out),
    }
}

/// Appends the shortest form that keeps the value.
fn double(number: f64, out: &mut Vec<u8>) -> Result<(), WriteError> {
    if !number.is_finite() {
        return Err(Error::UnsupportedValue(if number.is_nan() { "NaN" } else { "Inf" }).into());
    }
    let single = number as f32;
    if f64::from(single) != number {
        out.push(0xfb);
        out.extend_from_slice(&number.to_be_bytes());
    } else if let Some(half) = half(single) {
        out.push(0xf9);
        out.extend_from_slice(&half.to_be_bytes());
    } else {
        out.push(0xfa);
        out.extend_from_slice(&single.to_be_bytes());
    }
    Ok(())
}

/// The half-precision float of the same value, if there is one.
fn half(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    let mantissa = bits & 0x7f_ffff;
    let (retained, dropped) = match exponent {
        -127 if mantissa == 0 => return Some(sign),
        -14..=15 => (((exponent + 15) as u32) << 10 | mantissa >> 13, mantissa & 0x1fff),
        // Subnormal: the implicit leading one becomes explicit.
        -24..=-15 => {
            let mantissa = mantissa | 0x80_0000;
            let shift = (-1 - exponent) as u32;
            (mantissa >> shift, mantissa & ((1 << shift) - 1))
        }
        _ => return None,
    };
    (dropped == 0).then_some(sign | retained as u16)
}

/// An encoded member of a struct.
enum Entry<'t> {
    TypeMeta(&'static str, &'t str),
    Field(&'static Field, Option<&'t Value>),
    /// An unknown member of an open type.
    Any(&'t str, &'t Value),
}

impl<'t> Entry<'t> {
    fn name(&self) -> &'t str {
        match self {
            Entry::TypeMeta(name, _) | Entry::Any(name, _) => name,
            Entry::Field(field, _) => field.name,
        }
    }
}

fn structure(
    message: &'static Message,
    object: &Object,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), WriteError> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep.into());
    }
    let lookup = Lookup::new(object);
    let mut entries: SmallVec<[Entry; 16]> = SmallVec::new();
    if message.type_meta {
        for name in ["kind", "apiVersion"] {
            match lookup.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => entries.push(Entry::TypeMeta(name, text)),
                Some(_) => return Err(Error::Tree { field: name, expected: "a string" }.into()),
            }
        }
    }
    for member in message.members {
        let value = lookup.get(member.name);
        if !left_out(member.field, value) {
            entries.push(Entry::Field(member.field, value));
        }
    }
    if message.open {
        let unnamed = object.iter().filter(|(name, _)| !message.names(name));
        entries.extend(unnamed.map(|(name, value)| Entry::Any(name, value)));
    }
    entries.sort_unstable_by_key(|entry| key_order(entry.name()));
    head(MAP, entries.len() as u64, out);
    // By reference: a moved list would take half a kilobyte of stack more at each level.
    for entry in &entries {
        put_text(entry.name(), out);
        match *entry {
            Entry::TypeMeta(_, text) => put_text(text, out),
            Entry::Field(field, value) => field_value(field, value, out, depth)?,
            Entry::Any(_, value) => any(value, out, depth)?,
        }
    }
    Ok(())
}

/// Encoded keys are compared bytewise, and they start with their length (RFC 8949, section 4.2.1).
fn key_order(name: &str) -> (usize, &[u8]) {
    (name.len(), name.as_bytes())
}

fn field_value(
    field: &'static Field,
    value: Option<&Value>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), WriteError> {
    match (field.cardinality, value) {
        (_, Some(Value::Raw(_))) => return Err(Error::TooDeep.into()),
        (Cardinality::One, value) if field.pointer && is_nil(field, value) => out.push(NULL),
        (Cardinality::One, value) => element(field, value.unwrap_or(&Value::Null), out, depth)?,
        (_, None | Some(Value::Null)) => out.push(NULL),
        (Cardinality::List, Some(Value::Array(items))) => {
            put_array(items.len(), out);
            for item in items {
                element(field, item, out, depth)?;
            }
        }
        (Cardinality::Map, Some(Value::Object(members))) => {
            sorted(members, out, |value, out| element(field, value, out, depth))?;
        }
        (Cardinality::List, _) => return Err(tree_error(field, "a list").into()),
        (Cardinality::Map, _) => return Err(tree_error(field, "an object").into()),
    }
    Ok(())
}

fn sorted(
    members: &Object,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Value, &mut Vec<u8>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut entries: SmallVec<[(&jsontree::Key, &Value); 16]> = members.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| key_order(name));
    put_map(entries.len(), out);
    for &(name, value) in &entries {
        put_text(name, out);
        write(value, out)?;
    }
    Ok(())
}

/// Appends a value of a field's element type; `null` is its zero value.
fn element(field: &'static Field, value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), WriteError> {
    match (field.ty, value) {
        (_, Value::Raw(_)) => return Err(Error::TooDeep.into()),
        (Type::Message(inner), value) => return message(field, inner, value, out, depth),
        (Type::Any, value) => return any(value, out, 0),
        (Type::Bytes, Value::Null) => out.push(NULL),
        (Type::String, Value::Null) => put_text("", out),
        (Type::Bool, Value::Null) => out.push(FALSE),
        (Type::Int32 | Type::Int64, Value::Null) => integer(0, out),
        (Type::Double, Value::Null) => double(0.0, out)?,
        (Type::String, Value::String(text)) => put_text(text, out),
        (Type::Bytes, Value::String(text)) => {
            let decoded = base64::decode(text.as_bytes()).map_err(|_| tree_error(field, "base64"))?;
            out.push(BASE64_LATER);
            bytes(&decoded, out);
        }
        (Type::Bool, Value::Bool(value)) => out.push(if *value { TRUE } else { FALSE }),
        (Type::Int32 | Type::Int64, Value::Number(number)) => match number.as_i64() {
            Some(number) => integer(number, out),
            None => return Err(tree_error(field, "an integer").into()),
        },
        (Type::Double, Value::Number(number)) => double(number.as_f64().unwrap_or(f64::NAN), out)?,
        _ => return Err(tree_error(field, "a value of its type").into()),
    }
    Ok(())
}

fn message(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), WriteError> {
    match (inner.shape, value) {
        (Shape::Struct, Value::Object(members)) => return structure(inner, members, out, depth + 1),
        (Shape::Struct, Value::Null) => return structure(inner, &Object::new(), out, depth + 1),
        (Shape::Wrapper, value) => {
            let Some(items) = inner.fields.first() else { return Ok(()) };
            return field_value(items, Some(value), out, depth + 1);
        }
        (Shape::FieldsV1 | Shape::Json, Value::String(text)) if text.is_empty() => out.push(NULL),
        (Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown, Value::String(text)) => {
            return raw(inner.go_name, text.as_bytes(), out);
        }
        (Shape::Quantity, Value::Null) => put_text("0", out),
        (Shape::IntOrString, Value::Null) => integer(0, out),
        (Shape::Duration, Value::Null) => put_text("0s", out),
        (Shape::SchemaOrBool, Value::Null) => out.push(FALSE),
        (_, Value::Null) => out.push(NULL),
        (Shape::SchemaOrBool, Value::Bool(allows)) => out.push(if *allows { TRUE } else { FALSE }),
        (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, value) => {
            return schema_or(field, inner, value, out, depth);
        }
        (Shape::IntOrString, Value::Number(number)) => match number.as_i64() {
            Some(number) => integer(number, out),
            None => return Err(tree_error(field, "an integer").into()),
        },
        (Shape::Quantity, Value::String(text)) => match apimachinery::quantity::canonicalize(text) {
            Ok(text) => put_text(&text, out),
            Err(_) => return Err(tree_error(field, "a quantity").into()),
        },
        (Shape::IntOrString | Shape::Duration | Shape::Time | Shape::MicroTime, Value::String(text)) => {
            put_text(text, out);
        }
        _ => return Err(tree_error(field, "a value of its type").into()),
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
) -> Result<(), WriteError> {
    let or_bool = inner.shape == Shape::SchemaOrBool;
    match (value, inner.fields.get(usize::from(or_bool)), inner.fields.get(usize::from(!or_bool))) {
        (Value::Array(items), ..) if items.is_empty() => out.push(NULL),
        (Value::Object(_), Some(schema), _) => return element(schema, value, out, depth),
        (Value::Array(_), _, Some(items)) if !or_bool => return field_value(items, Some(value), out, depth),
        _ => return Err(tree_error(field, "a schema or its alternative").into()),
    }
    Ok(())
}

/// Appends verbatim JSON as the corresponding CBOR.
fn raw(type_name: &'static str, text: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
    let value = json::decode_verbatim(text, 0).map_err(|reason| WriteError::Raw { type_name, reason })?;
    any(&value, out, 0)
}

fn any(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), WriteError> {
    if depth > TREE_DEPTH_MAX {
        return Err(Error::TooDeep.into());
    }
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::String(text) => put_text(text, out),
        Value::Number(number) => match number.as_i64() {
            Some(number) => integer(number, out),
            None => double(number.as_f64().unwrap_or(f64::NAN), out)?,
        },
        Value::Array(items) => {
            put_array(items.len(), out);
            for item in items {
                any(item, out, depth + 1)?;
            }
        }
        Value::Object(members) => sorted(members, out, |value, out| any(value, out, depth + 1))?,
        Value::Raw(_) => return Err(Error::TooDeep.into()),
    }
    Ok(())
}
