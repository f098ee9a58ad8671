//! Converts a tree to its JSON value, as if its JSON text were decoded, but without the text.
//!
//! The result matches [`json_write::encode`]: the same members are omitted, the same zero values are added,
//! the same trees are rejected.

use jsontree::Value;

use super::Error;
use crate::json::{self, TREE_DEPTH_MAX};
use crate::json_write::{self, Error as WriteError, is_nil, left_out};
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// The JSON value of an object, with verbatim JSON as values.
///
/// # Errors
/// [`Error::DoesNotApply`]: with its verbatim JSON, the object is nested deeper than [`TREE_DEPTH_MAX`].
/// [`Error::TooLarge`]: a verbatim value would take too much memory. Invalid verbatim JSON, or values of the
/// wrong type.
pub fn expand(message: &'static Message, object: &Object) -> Result<Value, Error> {
    structure(message, object, 1).map_err(Error::from)
}

/// Converts an object at a level; the outermost has level 1.
pub(crate) fn structure(
    message: &'static Message,
    object: &Object,
    level: usize,
) -> Result<Value, WriteError> {
    let level = within(level)?;
    let mut members: Vec<(jsontree::Key, Value)> = Vec::with_capacity(object.len() + 4);
    // Both sides are sorted by name.
    let mut present = object.iter().peekable();
    for member in message.members {
        let precedes = |(name, _): &(&jsontree::Key, &Value)| name.as_str() < member.name;
        while present.next_if(precedes).is_some() {}
        let value = present.next_if(|(name, _)| name.as_str() == member.name).map(|(_, value)| value);
        if !left_out(member.field, value) {
            members.push((member.field.member.clone(), field_value(member.field, value, level)?));
        }
    }
    if message.type_meta {
        for name in ["kind", "apiVersion"] {
            match object.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(value @ Value::String(_)) => {
                    members.push((jsontree::Key::const_new(name), value.clone()))
                }
                Some(_) => return Err(WriteError::Tree { field: name, expected: "a string" }),
            }
        }
    }
    if message.open {
        for (name, value) in object.iter().filter(|(name, _)| !message.names(name)) {
            members.push((name.clone(), any(value)?));
        }
    }
    Ok(Value::Object(members.into_iter().collect()))
}

fn within(level: usize) -> Result<usize, WriteError> {
    if level > TREE_DEPTH_MAX { Err(WriteError::TooDeep) } else { Ok(level) }
}

/// Converts a member of an object at `level`.
fn field_value(field: &'static Field, value: Option<&Value>, level: usize) -> Result<Value, WriteError> {
    Ok(match (field.cardinality, value) {
        (_, Some(raw @ Value::Raw(_))) => raw.clone(),
        (Cardinality::One, value) if field.pointer && is_nil(field, value) => Value::Null,
        (Cardinality::One, value) => element(field, value.unwrap_or(&Value::Null), level)?,
        (_, None | Some(Value::Null)) => Value::Null,
        (Cardinality::List, Some(Value::Array(items))) => {
            let level = within(level + 1)?;
            list(items, |item| element(field, item, level))?
        }
        (Cardinality::Map, Some(Value::Object(members))) => {
            let level = within(level + 1)?;
            let member =
                |(name, value): (&jsontree::Key, &Value)| Ok((name.clone(), element(field, value, level)?));
            Value::Object(members.iter().map(member).collect::<Result<_, WriteError>>()?)
        }
        (Cardinality::List, _) => return Err(tree_error(field, "a list")),
        (Cardinality::Map, _) => return Err(tree_error(field, "an object")),
    })
}

/// Converts a list with an exact capacity; collecting results would not be able to reserve it.
fn list(
    items: &[Value],
    mut make: impl FnMut(&Value) -> Result<Value, WriteError>,
) -> Result<Value, WriteError> {
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        list.push(make(item)?);
    }
    Ok(Value::Array(list))
}

/// A value of a field's element type; `null` is its zero value.
fn element(field: &'static Field, value: &Value, level: usize) -> Result<Value, WriteError> {
    match (field.ty, value) {
        (_, Value::Raw(_)) => Ok(value.clone()),
        (Type::Message(inner), value) => message(field, inner, value, level),
        (Type::Any, value) => any(value),
        (Type::String, Value::Null) => Ok(Value::from("")),
        (Type::Bytes, Value::Null) => Ok(Value::Null),
        (Type::Bool, Value::Null) => Ok(Value::Bool(false)),
        (Type::Int32 | Type::Int64 | Type::Double, Value::Null) => Ok(Value::from(0)),
        (Type::Double, Value::Number(number)) => double(number.as_f64().unwrap_or(f64::NAN)),
        (Type::String | Type::Bytes, Value::String(_)) | (Type::Bool, Value::Bool(_)) => Ok(value.clone()),
        (Type::Int32 | Type::Int64, Value::Number(number)) if number.is_i64() => Ok(value.clone()),
        _ => Err(tree_error(field, "a value of its type")),
    }
}

fn message(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    level: usize,
) -> Result<Value, WriteError> {
    match (inner.shape, value) {
        (Shape::Struct, Value::Object(members)) => structure(inner, members, level + 1),
        (Shape::Struct, Value::Null) => structure(inner, &Object::new(), level + 1),
        (Shape::Wrapper, value) => match inner.fields.first() {
            Some(items) => field_value(items, Some(value), level),
            None => Ok(Value::Null),
        },
        (Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown, Value::String(text)) => {
            raw(inner, text, level)
        }
        (Shape::Quantity, Value::Null) => Ok(Value::from("0")),
        (Shape::IntOrString, Value::Null) => Ok(Value::from(0)),
        (Shape::Duration, Value::Null) => Ok(Value::from("0s")),
        (Shape::SchemaOrBool, Value::Null) => Ok(Value::Bool(false)),
        (_, Value::Null) => Ok(Value::Null),
        (Shape::SchemaOrBool, Value::Bool(_)) => Ok(value.clone()),
        (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, value) => {
            schema_or(field, inner, value, level)
        }
        (Shape::IntOrString, Value::Number(number)) if number.is_i64() => Ok(value.clone()),
        (Shape::Quantity, Value::String(text)) => match apimachinery::quantity::canonicalize(text) {
            Ok(text) => Ok(Value::from(text.into_owned())),
            Err(_) => Err(tree_error(field, "a quantity")),
        },
        (Shape::IntOrString | Shape::Duration | Shape::Time | Shape::MicroTime, Value::String(_)) => {
            Ok(value.clone())
        }
        _ => Err(tree_error(field, "a value of its type")),
    }
}

/// A schema, or a list of schemas or strings; an empty list counts as absent.
fn schema_or(
    field: &'static Field,
    inner: &'static Message,
    value: &Value,
    level: usize,
) -> Result<Value, WriteError> {
    let or_bool = inner.shape == Shape::SchemaOrBool;
    match (value, inner.fields.get(usize::from(or_bool)), inner.fields.get(usize::from(!or_bool))) {
        (Value::Array(items), ..) if items.is_empty() => Ok(Value::Null),
        (Value::Object(_), Some(schema), _) => element(schema, value, level),
        (Value::Array(_), _, Some(items)) if !or_bool => field_value(items, Some(value), level),
        _ => Err(tree_error(field, "a schema or its alternative")),
    }
}

/// Decodes verbatim JSON inside an object or list at `level`.
fn raw(message: &'static Message, text: &str, level: usize) -> Result<Value, WriteError> {
    // The raw types for which Go treats empty as nil.
    if text.is_empty() && matches!(message.shape, Shape::FieldsV1 | Shape::Json) {
        return Ok(Value::Null);
    }
    json::decode_verbatim(text.as_bytes(), level).map_err(|error| match error {
        json::Error::BudgetExceeded(error) => error.into(),
        error => {
            let type_name = message.go_name;
            match json_write::compact(text.as_bytes(), &mut Vec::new()) {
                Err(reason) => WriteError::Raw { type_name, reason },
                // The only syntax error in valid JSON is its depth.
                Ok(()) if matches!(error, json::Error::Syntax(_)) => WriteError::TooDeep,
                Ok(()) => WriteError::Decode { type_name, reason: Box::new(error) },
            }
        }
    })
}

/// A value of any type. Integral numbers become integers, as they would by way of text.
fn any(value: &Value) -> Result<Value, WriteError> {
    Ok(match value {
        Value::Number(number) if !number.is_i64() => double(number.as_f64().unwrap_or(f64::NAN))?,
        Value::Array(items) => list(items, any)?,
        Value::Object(members) => {
            let member = |(name, value): (&jsontree::Key, &Value)| Ok((name.clone(), any(value)?));
            Value::Object(members.iter().map(member).collect::<Result<_, WriteError>>()?)
        }
        other => other.clone(),
    })
}

/// A double as decoded from its text: an integer if the text has no point and no exponent.
fn double(value: f64) -> Result<Value, WriteError> {
    let mut text = Vec::new();
    json_write::write_double(value, &mut text)?;
    let whole = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<i64>().ok());
    Ok(whole.map_or_else(|| Value::from(value), Value::from))
}

#[cold]
fn tree_error(field: &'static Field, expected: &'static str) -> WriteError {
    WriteError::Tree { field: field.name, expected }
}
