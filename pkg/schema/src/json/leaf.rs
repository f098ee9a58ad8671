//! Types with a custom text form: numbers, bytes, quantities, times, verbatim JSON, and the schema types with
//! alternative forms.

use std::borrow::Cow;

use apimachinery::quantity;
use apimachinery::strconv::parse_int;
use apimachinery::time::{
    GO_ZERO_TIME_TEXT, format_duration, is_shown, parse_duration, parse_micro_time, parse_time,
};
use jsontree::{Number, Value};

use super::base64;
use super::decoder::Decoder;
use super::errors::Error;
use super::path::{ValuePosition, go_type, kind_of};
use super::slot::Slot;
use crate::table::{Cardinality, Field, Message, Shape, Type};
use crate::text::go_text;

impl Decoder<'_> {
    /// Decodes a number into the field's integer or floating-point type.
    pub(super) fn number(
        &mut self,
        field: &'static Field,
        position: ValuePosition,
        slot: Slot<'_>,
    ) -> Result<bool, Error> {
        let range = match field.ty {
            Type::Int32 => Some(i64::from(i32::MIN)..=i64::from(i32::MAX)),
            Type::Int64 => Some(i64::MIN..=i64::MAX),
            _ => None,
        };
        if let Some(number) = range.and_then(|range| self.scan.short_integer(&range)) {
            return Ok(slot.put(Value::from(number)));
        }
        let text = self.scan.number()?;
        let value = match field.ty {
            Type::Int32 => int32(text),
            Type::Int64 => parse_int(text).ok().map(Value::from),
            _ => float64(text),
        };
        match value {
            Some(value) => Ok(slot.put(value)),
            None => {
                self.mismatch(format!("number {text}"), go_type(field, position));
                Ok(false)
            }
        }
    }

    /// Decodes bytes: base64, or an array of numbers because Go's bytes are a slice.
    pub(super) fn bytes(&mut self, start: u8, slot: Slot<'_>) -> Result<bool, Error> {
        if start == b'[' {
            return self.byte_list().map(|bytes| slot.put(bytes));
        }
        let text = self.scan.string()?.text();
        match base64::canonicalize(&text) {
            Ok(canonical) => Ok(slot.put(Value::from(canonical))),
            Err(at) => {
                self.save(Error::Value(format!("illegal base64 data at input byte {at}")));
                Ok(false)
            }
        }
    }

    fn byte_list(&mut self) -> Result<Value, Error> {
        let mut bytes = Vec::new();
        self.scan.open()?;
        while self.scan.next_item(bytes.is_empty())? {
            let byte = match self.scan.value_start()? {
                b'n' => self.scan.word().map(|()| 0)?,
                b'-' | b'0'..=b'9' => {
                    let text = self.scan.number()?;
                    text.parse().unwrap_or_else(|_| {
                        self.mismatch(format!("number {text}"), "uint8".into());
                        0
                    })
                }
                c => {
                    self.scan.skip()?;
                    self.mismatch(kind_of(c), "uint8".into());
                    0
                }
            };
            bytes.push(byte);
        }
        Ok(Value::from(base64::encode(&bytes)))
    }

    /// Decodes a type with a custom decoder in Go; its errors end decoding.
    pub(super) fn shaped(
        &mut self,
        message: &'static Message,
        field: &'static Field,
        start: u8,
        slot: Slot<'_>,
    ) -> Result<bool, Error> {
        match message.shape {
            Shape::Quantity => self.quantity(start, slot),
            Shape::IntOrString => self.int_or_string(start, slot),
            Shape::Time | Shape::MicroTime => self.time(message.shape, field.pointer, start, slot),
            Shape::Duration => self.duration(start, slot),
            Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray => {
                self.schema_or(message, start, slot)
            }
            _ => {
                let raw = self.scan.skip()?;
                Ok(if raw == b"null" { slot.keep_old() } else { slot.put(Value::from(go_text(raw))) })
            }
        }
    }

    fn quantity(&mut self, start: u8, slot: Slot<'_>) -> Result<bool, Error> {
        if start == b'"'
            && let Some(text) = self.scan.plain_string()
        {
            return canonical_quantity(text, slot);
        }
        // Upstream strips the quotes and parses the text in between without unescaping it.
        let raw = go_text(self.scan.skip()?);
        if raw == "null" {
            return Ok(false);
        }
        canonical_quantity(raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(&raw), slot)
    }

    fn int_or_string(&mut self, start: u8, mut slot: Slot<'_>) -> Result<bool, Error> {
        match start {
            b'"' => Ok(slot.put(Value::String(self.scan.string()?.into_text()))),
            b'n' => {
                self.scan.word()?;
                Ok(slot.prior().is_some_and(|prior| prior.is_number()))
            }
            b'-' | b'0'..=b'9' => {
                let text = self.scan.number()?;
                let number = int32(text);
                match number {
                    Some(number) => Ok(slot.put(number)),
                    None => Err(self.type_error(format!("number {text}").into(), "int32".into())),
                }
            }
            c => Err(self.type_error(kind_of(c).into(), "int32".into())),
        }
    }

    /// The text of a value that must be a string; otherwise a type error for Go's `string`.
    fn must_be_string(&mut self, start: u8) -> Result<Cow<'_, str>, Error> {
        match start {
            b'"' => Ok(self.scan.string()?.text()),
            b'n' => self.scan.word().map(|()| Cow::Borrowed("")),
            c => Err(self.type_error(kind_of(c).into(), "string".into())),
        }
    }

    fn time(&mut self, shape: Shape, pointer: bool, start: u8, slot: Slot<'_>) -> Result<bool, Error> {
        if start == b'n' {
            self.scan.word()?;
            return Ok(false);
        }
        let text = self.must_be_string(start)?;
        // Most times are already in their canonical form.
        if shape == Shape::Time && is_shown(&text) && text != GO_ZERO_TIME_TEXT {
            return Ok(slot.put(text.into()));
        }
        let parsed = if shape == Shape::Time { parse_time(&text) } else { parse_micro_time(&text) };
        let time = parsed.map_err(|error| Error::Value(error.to_string()))?;
        if time.is_go_zero() {
            return Ok(pointer && slot.put(Value::Null));
        }
        Ok(slot.put(match shape {
            Shape::Time => time.rfc3339().into(),
            _ => time.rfc3339_micro().into(),
        }))
    }

    fn duration(&mut self, start: u8, slot: Slot<'_>) -> Result<bool, Error> {
        let text = self.must_be_string(start)?;
        let nanos = parse_duration(&text).map_err(|error| Error::Value(error.to_string()))?;
        Ok(slot.put(Value::from(format_duration(nanos))))
    }

    fn schema_or(&mut self, message: &'static Message, start: u8, slot: Slot<'_>) -> Result<bool, Error> {
        let slot = slot.into_value();
        match (message.shape, start) {
            (_, b'{') => {
                let schema = message.fields.iter().find_map(schema_of);
                let Some(schema) = schema else { return self.scan.skip().map(|_| false) };
                let Some(object) = Slot::new(slot).into_object() else { return Ok(false) };
                self.nested(|decoder| decoder.object(schema, object))?;
            }
            (Shape::SchemaOrBool, b't' | b'f') => {
                self.scan.word()?;
                *slot = Value::Bool(start == b't');
            }
            (Shape::SchemaOrBool, _) => {
                return Err(Error::Value("boolean or JSON schema expected".to_owned()));
            }
            (_, b'[') => match message.fields.iter().find(|field| field.cardinality == Cardinality::List) {
                Some(items) => {
                    self.nested(|decoder| decoder.list(items, Slot::new(slot)))?;
                    *slot = null_if_empty(slot.take());
                }
                None => return self.scan.skip().map(|_| false),
            },
            // Upstream decodes other types as an empty value, which it encodes as null.
            _ => {
                self.scan.skip()?;
                *slot = Value::Null;
            }
        }
        Ok(true)
    }
}

fn canonical_quantity(text: &str, slot: Slot<'_>) -> Result<bool, Error> {
    match quantity::canonicalize(text.trim()) {
        Ok(text) => Ok(slot.put(Value::from(text))),
        Err(error) => Err(Error::Value(error.to_string())),
    }
}

/// Without a schema an empty list looks like an empty value, which upstream encodes as null.
pub(crate) fn null_if_empty(list: Value) -> Value {
    match list {
        Value::Array(items) if items.is_empty() => Value::Null,
        list => list,
    }
}

/// The type of the field's schema, if it contains one.
pub(crate) fn schema_of(field: &Field) -> Option<&'static Message> {
    match (field.cardinality, field.ty) {
        (Cardinality::One, Type::Message(schema)) => Some(schema),
        _ => None,
    }
}

fn int32(text: &str) -> Option<Value> {
    let number = parse_int(text).ok()?;
    i32::try_from(number).ok().map(Value::from)
}

/// A double; `None` if it is out of range.
pub(super) fn float64(text: &str) -> Option<Value> {
    text.parse().ok().and_then(Number::from_f64).map(Value::Number)
}
