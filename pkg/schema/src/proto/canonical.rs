//! Checks if bytes are canonical (equal to this encoder's output) in a single scan, without a tree.
//!
//! The store keeps canonical bytes unchanged. Upstream's no-op detection compares bytes, so true must mean
//! that decoding and encoding would not change them.

use apimachinery::time::UnixTime;

use super::wire::{FIXED64, Key, Reader, VARINT, varint_len};
use super::{DEPTH_MAX, Error};
use crate::scalar;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// True if `raw` equals the [`encode`](super::encode)d result of [`decode`](super::decode): known fields
/// only, ascending, all mandatory fields present, shortest varints, map keys ascending, canonical quantities
/// and times, valid UTF-8.
pub fn is_canonical(message: &'static Message, raw: &[u8]) -> bool {
    matches!(fields(message, raw, 1), Ok(true))
}

/// Steps through the fields in ascending number.
struct Cursor {
    message: &'static Message,
    next: usize,
}

impl Cursor {
    /// The field with this number, if no mandatory field comes before it. A list or map may occur repeatedly.
    fn advance_to(&mut self, number: u32) -> Option<&'static Field> {
        loop {
            let field = self.field()?;
            if field.number > number || field.number < number && always_written(field) {
                return None;
            }
            self.next += usize::from(field.number < number || field.cardinality == Cardinality::One);
            if field.number == number {
                return Some(field);
            }
        }
    }

    /// True if no mandatory field is left.
    fn at_end(mut self) -> bool {
        while let Some(field) = self.field() {
            if always_written(field) {
                return false;
            }
            self.next += 1;
        }
        true
    }

    fn field(&self) -> Option<&'static Field> {
        let at = *self.message.wire_order.get(self.next)?;
        self.message.fields.get(usize::from(at))
    }
}

fn always_written(field: &Field) -> bool {
    let nil_able = match field.ty {
        Type::Bytes => true,
        Type::Message(inner) => inner.shape == Shape::Wrapper,
        _ => false,
    };
    field.cardinality == Cardinality::One && !field.pointer && !nil_able
}

fn fields(message: &'static Message, raw: &[u8], depth: usize) -> Result<bool, Error> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let mut reader = Reader::new(raw);
    let mut cursor = Cursor { message, next: 0 };
    let mut key_before: Option<(u32, &[u8])> = None;
    while !reader.done() {
        let Some(key) = shortest(&mut reader)? else { return Ok(false) };
        let Key { number, wire_type } = Key { number: (key >> 3) as u32, wire_type: (key & 7) as u8 };
        let Some(field) = cursor.advance_to(number) else { return Ok(false) };
        if u64::from(field.tag) != key {
            return Ok(false);
        }
        let ok = match (field.cardinality, wire_type) {
            (Cardinality::Map, _) => {
                let Some(raw) = delimited(&mut reader)? else { return Ok(false) };
                let Some((name, ok)) = entry(field, raw, depth)? else { return Ok(false) };
                let ascending =
                    key_before.is_none_or(|(number_before, key)| number_before != number || key < name);
                key_before = Some((number, name));
                ok && ascending
            }
            (_, VARINT) => number_is_canonical(field, &mut reader)?,
            (_, FIXED64) => reader.double()?.is_finite(),
            _ => match delimited(&mut reader)? {
                Some(payload) => value(field, payload, depth)?,
                None => false,
            },
        };
        if !ok {
            return Ok(false);
        }
    }
    Ok(cursor.at_end())
}

/// Reads a varint; `None` if it is not the shortest form, or has bits above the 64th in a tenth byte.
fn shortest(reader: &mut Reader) -> Result<Option<u64>, Error> {
    let from = reader.at();
    let value = reader.varint()?;
    let len = reader.at() - from;
    let surplus_bits = len == 10 && reader.byte_before() != Some(1);
    Ok((len == varint_len(value) && !surplus_bits).then_some(value))
}

/// Reads bytes; `None` if their length is not in its shortest form.
fn delimited<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Error> {
    let from = reader.at();
    let bytes = reader.bytes()?;
    Ok((reader.at() - from == varint_len(bytes.len() as u64) + bytes.len()).then_some(bytes))
}

fn number_is_canonical(field: &Field, reader: &mut Reader) -> Result<bool, Error> {
    let Some(value) = shortest(reader)? else { return Ok(false) };
    Ok(match field.ty {
        Type::Bool => value <= 1,
        Type::Int32 => i64::from(value as i32) as u64 == value,
        _ => true,
    })
}

fn value(field: &'static Field, payload: &[u8], depth: usize) -> Result<bool, Error> {
    match field.ty {
        Type::Message(inner) => {
            // A named slice without elements decodes to nil, which is not encoded.
            let vanishes =
                inner.shape == Shape::Wrapper && field.cardinality == Cardinality::One && payload.is_empty();
            Ok(!vanishes && message(inner, payload, depth + 1)?)
        }
        Type::String => Ok(std::str::from_utf8(payload).is_ok()),
        Type::Bytes => Ok(true),
        _ => Ok(false),
    }
}

fn entry<'a>(field: &'static Field, raw: &'a [u8], depth: usize) -> Result<Option<(&'a [u8], bool)>, Error> {
    let mut reader = Reader::new(raw);
    if reader.done() || reader.varint()? != 0x0a {
        return Ok(None);
    }
    let Some(name) = delimited(&mut reader)? else { return Ok(None) };
    if reader.done() || shortest(&mut reader)? != Some(0x12) {
        return Ok(None);
    }
    let Some(payload) = delimited(&mut reader)? else { return Ok(None) };
    let ok = match field.ty {
        Type::Message(inner) => message(inner, payload, depth + 1)?,
        _ => value(field, payload, depth)?,
    };
    Ok((std::str::from_utf8(name).is_ok() && reader.done()).then_some((name, ok)))
}

fn message(message: &'static Message, payload: &[u8], depth: usize) -> Result<bool, Error> {
    match message.shape {
        Shape::Struct | Shape::Wrapper | Shape::Duration => fields(message, payload, depth),
        _ if payload.is_empty() => Ok(may_be_empty(message.shape)),
        Shape::Time | Shape::MicroTime => time(message, payload),
        shape => {
            if !fields(message, payload, depth)? {
                return Ok(false);
            }
            Ok(match shape {
                Shape::Quantity => quantity(payload)?,
                Shape::IntOrString => int_or_string(payload)?,
                Shape::FieldsV1 | Shape::RawExtension | Shape::Json => raw_json(shape, payload)?,
                Shape::SchemaOrBool => schema_or_bool(payload)?,
                Shape::SchemaOrArray | Shape::SchemaOrStringArray => one_kind_of_field(payload)?,
                Shape::Unknown => {
                    payload.starts_with(b"\x0a\x04\x0a\x00\x12\x00")
                        && payload.ends_with(b"\x1a\x00\x22\x10application/json")
                        && text_is_utf8(payload, 2)?
                }
                _ => true,
            })
        }
    }
}

fn may_be_empty(shape: Shape) -> bool {
    use Shape::{FieldsV1, Json, MicroTime, RawExtension, SchemaOrArray, SchemaOrStringArray, Time};
    matches!(shape, Time | MicroTime | FieldsV1 | RawExtension | Json | SchemaOrArray | SchemaOrStringArray)
}

/// Both numbers must be in the range of the text form.
fn time(message: &'static Message, payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    if !fields(message, payload, 1)? || reader.varint()? != 0x08 {
        return Ok(false);
    }
    let seconds = reader.varint()? as i64;
    reader.varint()?;
    let nanos = reader.varint()? as i32;
    let nanos_ok = match message.shape {
        Shape::Time => nanos == 0,
        _ => (0..1_000_000_000).contains(&nanos) && nanos % 1000 == 0,
    };
    let time = UnixTime { seconds, nanos: nanos as u32 };
    Ok(nanos_ok && scalar::is_parseable(time) && !time.is_go_zero())
}

fn quantity(payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    reader.varint()?;
    let Ok(text) = std::str::from_utf8(reader.bytes()?) else { return Ok(false) };
    Ok(apimachinery::quantity::canonicalize(text)? == text)
}

/// Type, number, text; the unselected one must be zero.
fn int_or_string(payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    reader.varint()?;
    let kind = reader.varint()?;
    reader.varint()?;
    let int = reader.varint()?;
    reader.varint()?;
    let text = reader.bytes()?;
    Ok(kind == 0 && text.is_empty() || kind == 1 && int == 0)
}

fn raw_json(shape: Shape, payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    reader.varint()?;
    let text = reader.bytes()?;
    Ok(std::str::from_utf8(text).is_ok() && !(text.is_empty() && shape == Shape::FieldsV1))
}

fn text_is_utf8(payload: &[u8], number: u32) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    while !reader.done() {
        let key = reader.entry_key()?;
        let bytes = reader.bytes()?;
        if key.number == number && std::str::from_utf8(bytes).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Without `allows`, the schema has no JSON form.
fn schema_or_bool(payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    reader.varint()?;
    Ok(reader.varint()? == 1 || reader.done())
}

/// Either a schema or a list.
fn one_kind_of_field(payload: &[u8]) -> Result<bool, Error> {
    let mut reader = Reader::new(payload);
    let first = reader.varint()?;
    while !reader.done() {
        reader.bytes()?;
        if !reader.done() && reader.varint()? != first {
            return Ok(false);
        }
    }
    Ok(true)
}
