//! Converts a JSON value to an object of a type, after a strategic merge patch.
//!
//! Upstream does not decode here but assigns values to Go fields by reflection. The rules differ: an integral
//! float is valid for an integer, and an integer that is too large loses its upper bits. Paths contain no map
//! keys, and errors contain no field. Unknown members are reported in the order of their names.

use jsontree::{Number, Value};

use super::go_format::kind_name;
use crate::json::{self, StrictKind, ValuePosition, base64};
use crate::json_write;
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Error of a conversion to a type, in upstream's wording.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConvertError {
    /// A value of the wrong type.
    #[error("{0}")]
    Type(String),
    /// A value of a type with its own decoder.
    #[error(transparent)]
    Decode(#[from] json::Error),
    /// A value that cannot be written as JSON.
    #[error(transparent)]
    Encode(#[from] json_write::Error),
}

/// The object for a value, and the strict errors for unknown members.
///
/// # Errors
/// Upstream's error for the first invalid value, in the order of Go's fields.
pub fn object(message: &'static Message, value: Object) -> Result<(Object, Vec<String>), ConvertError> {
    let mut converter = Converter { path: String::new(), unknown: Vec::new() };
    let object = converter.structure(message, value)?;
    converter.unknown.sort_unstable();
    Ok((object, converter.unknown))
}

struct Converter {
    /// The current path, without map keys.
    path: String,
    unknown: Vec<String>,
}

impl Converter {
    fn structure(&mut self, message: &'static Message, mut source: Object) -> Result<Object, ConvertError> {
        let mut object = Object::new();
        if message.type_meta {
            for name in ["kind", "apiVersion"] {
                match source.remove(name) {
                    None | Some(Value::Null) => {}
                    Some(value) => drop(object.insert(name, string(value, "string")?)),
                }
            }
        }
        self.fields(message, &mut source, &mut object)?;
        for name in source.keys() {
            let kind = StrictKind::UnknownField;
            let dot = if self.path.is_empty() { "" } else { "." };
            self.unknown.push(format!("{kind} \"{}{dot}{name}\"", self.path));
        }
        Ok(object)
    }

    /// Moves known members of the type from one object to the other.
    fn fields(
        &mut self,
        message: &'static Message,
        source: &mut Object,
        object: &mut Object,
    ) -> Result<(), ConvertError> {
        for field in message.fields {
            match field.ty {
                Type::Message(inlined) if field.inlined() => self.fields(inlined, source, object)?,
                _ => {
                    let Some(value) = source.remove(field.name).filter(|value| !value.is_null()) else {
                        continue;
                    };
                    let outer = self.path.len();
                    if outer > 0 {
                        self.path.push('.');
                    }
                    self.path.push_str(field.name);
                    if let Some(value) = self.field(field, value)? {
                        object.insert(field.member.clone(), value);
                    }
                    self.path.truncate(outer);
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &'static Field, value: Value) -> Result<Option<Value>, ConvertError> {
        match (field.cardinality, value) {
            (Cardinality::One, value) => self.one(field, ValuePosition::Field, value),
            (Cardinality::List, value) => self.list(field, value).map(Some),
            (Cardinality::Map, Value::Object(members)) => {
                let mut entries = Object::new();
                for (key, value) in members {
                    entries.insert(key, self.item(field, value)?);
                }
                Ok(Some(Value::Object(entries)))
            }
            (Cardinality::Map, other) => {
                Err(ConvertError::Type(format!("cannot restore map from {}", kind_name(&other))))
            }
        }
    }

    fn list(&mut self, field: &'static Field, value: Value) -> Result<Value, ConvertError> {
        let Value::Array(items) = value else {
            return Err(ConvertError::Type(format!("cannot restore slice from {}", kind_name(&value))));
        };
        let outer = self.path.len();
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            list.push(self.item(field, item)?);
            self.path.truncate(outer);
        }
        Ok(Value::Array(list))
    }

    /// An item of a list or a map, where zero values cannot be absent.
    fn item(&mut self, field: &'static Field, value: Value) -> Result<Value, ConvertError> {
        let value = if value.is_null() { None } else { self.one(field, ValuePosition::Item, value)? };
        Ok(value.unwrap_or_else(|| json::zero(field.ty)))
    }

    fn one(
        &mut self,
        field: &'static Field,
        position: ValuePosition,
        value: Value,
    ) -> Result<Option<Value>, ConvertError> {
        match field.ty {
            Type::String => string(value, &json::go_type(field, position)).map(Some),
            Type::Bool if value.is_boolean() => Ok(Some(value)),
            Type::Bool => Err(ConvertError::Type("unrecognized type: bool".to_owned())),
            // Go truncates bits in conversions between integers.
            Type::Int32 => integer(&value, "int32").map(|integer| Some(Value::from(integer as i32))),
            Type::Int64 => integer(&value, "int64").map(|integer| Some(Value::from(integer))),
            Type::Double => match value.as_f64().and_then(Number::from_f64) {
                Some(number) => Ok(Some(Value::Number(number))),
                None => Err(ConvertError::Type("unrecognized type: float64".to_owned())),
            },
            Type::Bytes => bytes(value).map(Some),
            Type::Any => Ok(Some(value)),
            Type::Message(message) => self.message(message, field, position, value),
        }
    }

    fn message(
        &mut self,
        message: &'static Message,
        field: &'static Field,
        position: ValuePosition,
        value: Value,
    ) -> Result<Option<Value>, ConvertError> {
        match (message.shape, value) {
            (Shape::Struct, Value::Object(members)) => {
                self.structure(message, members).map(|object| Some(Value::Object(object)))
            }
            (Shape::Struct, other) => {
                Err(ConvertError::Type(format!("cannot restore struct from: {}", kind_name(&other))))
            }
            (Shape::Wrapper, value) => match message.fields.first() {
                Some(items) => self.list(items, value).map(Some),
                None => Ok(None),
            },
            // Types with a custom decoder get the value as text.
            (_, value) => {
                let mut text = Vec::new();
                json_write::untyped(&value, &mut text)?;
                Ok(json::decode_leaf(field, position, &text)?)
            }
        }
    }
}

fn string(value: Value, go_type: &str) -> Result<Value, ConvertError> {
    match value {
        Value::String(_) => Ok(value),
        Value::Number(number) if !number.is_f64() => {
            Err(ConvertError::Type(format!("cannot convert int64 to {go_type}")))
        }
        _ => Err(ConvertError::Type("unrecognized type: string".to_owned())),
    }
}

fn integer(value: &Value, go_type: &str) -> Result<i64, ConvertError> {
    match (value.as_i64(), value.as_f64()) {
        (Some(integer), _) => Ok(integer),
        (None, Some(float)) if float.fract() == 0.0 => Ok(truncated(float)),
        (None, Some(_)) => Err(ConvertError::Type(format!("cannot convert float64 to {go_type}"))),
        (None, None) => Err(ConvertError::Type(format!("unrecognized type: {go_type}"))),
    }
}

/// Converts an integral float like Go on upstream's platforms: out-of-range values become the least integer.
fn truncated(float: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&float) { float as i64 } else { i64::MIN }
}

/// Converts bytes from base64, or from an array of numbers because Go's bytes are a slice.
fn bytes(value: Value) -> Result<Value, ConvertError> {
    match value {
        Value::String(text) => match base64::canonicalize(&text) {
            Ok(canonical) => Ok(Value::from(canonical)),
            Err(at) => Err(ConvertError::Type(format!(
                "error decoding from json: illegal base64 data at input byte {at}"
            ))),
        },
        Value::Array(items) => {
            let byte = |item: &Value| match item {
                Value::Null => Ok(0),
                item => integer(item, "uint8").map(|whole| whole as u8),
            };
            let bytes = items.iter().map(byte).collect::<Result<Vec<u8>, ConvertError>>()?;
            Ok(Value::from(base64::encode(&bytes)))
        }
        other => Err(ConvertError::Type(format!("cannot restore slice from {}", kind_name(&other)))),
    }
}
