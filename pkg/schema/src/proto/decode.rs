//! Protobuf decoder, with gogo's tolerance and gogo's errors.

use apimachinery::time::{UnixTime, format_duration};
use base64::prelude::{BASE64_STANDARD, Engine};
use jsontree::{Number, Value, push_null};

use super::index::{Slot, Slots, each, entry};
use super::wire::{BYTES, Reader};
use super::{Error, first_error};
use crate::memory::DecodeBudget;
use crate::object::Object;
use crate::scalar;
use crate::table::{Cardinality, Field, Message, Shape, Type};
use crate::text::go_text;

/// Decodes the bytes of a message. They do not contain `kind` and `apiVersion` (see
/// [`Envelope`](super::Envelope)). Each invalid UTF-8 byte becomes U+FFFD.
///
/// # Errors
/// The bytes are not a valid message, with gogo's texts; the message is nested too deeply or too large.
pub fn decode(message: &'static Message, bytes: &[u8]) -> Result<Object, Error> {
    decode_within(message, bytes, DecodeBudget::UNLIMITED)
}

/// Decodes a message within a memory budget.
///
/// # Errors
/// As for [`decode`], or [`Error::BudgetExceeded`].
pub fn decode_within(message: &'static Message, bytes: &[u8], budget: DecodeBudget) -> Result<Object, Error> {
    let mut object = Object::new();
    let mut slots = Slots::with_budget(budget);
    match slots.open().and_then(|()| fields(message, bytes, &mut object, &mut slots)) {
        Ok(()) => Ok(object),
        Err(error @ Error::BudgetExceeded(_)) => Err(error),
        Err(error) => Err(first_error::first(message, bytes).unwrap_or(error)),
    }
}

fn fields(
    message: &'static Message,
    raw: &[u8],
    object: &mut Object,
    slots: &mut Slots,
) -> Result<(), Error> {
    slots.budget.structure()?;
    let frame = slots.enter(message, raw)?;
    for (at, field) in message.fields.iter().enumerate() {
        let slot = slots.get(frame, at);
        if slot.count() == 0 {
            continue;
        }
        if let (Cardinality::One, Type::Message(inner)) = (field.cardinality, field.ty)
            && field.inlined()
            && inner.shape == Shape::Struct
        {
            fields(inner, &slot.message(field, raw)?, object, slots)?;
            continue;
        }
        if !field.pointer && is_absent(field, slot.value(raw)) {
            continue;
        }
        // Created in place: moving a value up the stack takes longer than decoding most values.
        let (place, _) = object.slot(field.member.clone());
        match (field.cardinality, field.ty) {
            (Cardinality::One, Type::Message(inner)) => {
                element(inner, &slot.message(field, raw)?, slots, place)?;
            }
            (Cardinality::One, ty) => one(ty, &mut Reader::new(slot.value(raw)), slot.value(raw), place)?,
            (Cardinality::List, _) => *place = list(field, slot, raw, slots)?,
            (Cardinality::Map, _) => *place = map(field, slot, raw, slots)?,
        }
        if !field.pointer && is_zero(field, place) {
            object.remove(&field.member);
        }
    }
    slots.leave(frame);
    Ok(())
}

/// True if the bytes of a scalar are zero in the usual encoding.
#[inline]
fn is_absent(field: &Field, value: &[u8]) -> bool {
    match (field.cardinality, field.ty) {
        (Cardinality::One, Type::String) => value.is_empty(),
        (Cardinality::One, Type::Bool | Type::Int32 | Type::Int64) => value == [0],
        _ => false,
    }
}

/// True if an absent member is equivalent to this value of a non-pointer field.
fn is_zero(field: &Field, value: &Value) -> bool {
    match (field.ty, value) {
        (_, Value::Null | Value::Bool(false)) => true,
        // Bytes and raw values distinguish empty from absent.
        (Type::Bytes, Value::String(_)) => false,
        (Type::Message(m), Value::String(s)) => match m.shape {
            Shape::Quantity => s == "0",
            Shape::Duration => s == "0s",
            _ => false,
        },
        (_, Value::String(s)) => s.is_empty(),
        (_, Value::Number(n)) => n.as_i64() == Some(0) || n.as_f64().is_some_and(|f| f.to_bits() == 0),
        (_, Value::Array(a)) => a.is_empty(),
        (_, Value::Object(o)) => o.is_empty(),
        (_, Value::Bool(true) | Value::Raw(_)) => false,
    }
}

fn list(field: &'static Field, slot: Slot, raw: &[u8], slots: &mut Slots) -> Result<Value, Error> {
    slots.open()?;
    slots.budget.items(slot.count())?;
    let mut values = Vec::with_capacity(slot.count());
    each(field, slot.region(raw), |reader, wire_type| {
        match field.ty {
            Type::Message(inner) => {
                let item = push_null(&mut values);
                element(inner, reader.bytes()?, slots, item)?;
                if let (Some(head), Value::Object(item)) = (field.info.item_head, item) {
                    item.insert("apiVersion", head.api_version.into());
                    item.insert("kind", head.kind.into());
                }
            }
            Type::String | Type::Bytes => {
                let bytes = reader.bytes()?;
                one(field.ty, reader, bytes, push_null(&mut values))?;
            }
            ty if wire_type == BYTES => {
                let mut packed = Reader::new(reader.bytes()?);
                while !packed.done() {
                    slots.budget.items(1)?;
                    one(ty, &mut packed, &[], push_null(&mut values))?;
                }
            }
            ty => one(ty, reader, &[], push_null(&mut values))?,
        }
        Ok::<(), Error>(())
    })?;
    slots.close();
    Ok(Value::Array(values))
}

fn map(field: &'static Field, slot: Slot, raw: &[u8], slots: &mut Slots) -> Result<Value, Error> {
    slots.open()?;
    let mut members = Object::new();
    each(field, slot.region(raw), |reader, _| {
        let (name, value) = entry(reader.bytes()?)?;
        slots.budget.entry(members.len())?;
        let (place, _) = members.slot(go_text(name));
        match field.ty {
            Type::Message(inner) => element(inner, value, slots, place)?,
            ty => one(ty, &mut Reader::new(&[]), value, place)?,
        }
        Ok::<(), Error>(())
    })?;
    slots.close();
    Ok(Value::Object(members))
}

/// Decodes a scalar into a place: text and bytes from `bytes`, numbers from the reader.
#[inline]
fn one(ty: Type, reader: &mut Reader, bytes: &[u8], place: &mut Value) -> Result<(), Error> {
    *place = match ty {
        Type::String => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => go_text(bytes).into(),
        },
        Type::Bytes => Value::from(BASE64_STANDARD.encode(bytes)),
        Type::Bool => Value::Bool(reader.varint()? != 0),
        Type::Int32 => Value::from(reader.varint()? as i32),
        Type::Int64 => Value::from(reader.varint()? as i64),
        Type::Double => {
            let number = Number::from_f64(reader.double()?);
            Value::Number(number.ok_or(Error::NotANumber)?)
        }
        Type::Any | Type::Message(_) => Value::Null,
    };
    Ok(())
}

/// Decodes a message into a place; `null` if its JSON is null.
fn element(
    message: &'static Message,
    payload: &[u8],
    slots: &mut Slots,
    place: &mut Value,
) -> Result<(), Error> {
    *place = match message.shape {
        Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown => {
            raw_json(message, payload, slots)?
        }
        Shape::Time | Shape::MicroTime => time(message, payload, slots)?,
        Shape::Quantity => quantity(message, payload, slots)?,
        Shape::Struct => {
            slots.open()?;
            *place = Value::Object(Object::new());
            let Value::Object(members) = place else { return Ok(()) };
            fields(message, payload, members, slots)?;
            slots.close();
            return Ok(());
        }
        shape => {
            let mut members = Object::new();
            fields(message, payload, &mut members, slots)?;
            shaped(message, shape, members)?
        }
    };
    Ok(())
}

/// The custom JSON forms that select a field of the wire form.
fn shaped(message: &'static Message, shape: Shape, mut members: Object) -> Result<Value, Error> {
    let mut take = |at: usize| message.fields.get(at).and_then(|f| members.remove(f.name));
    Ok(match shape {
        Shape::Duration => Value::from(format_duration(take(0).and_then(|v| v.as_i64()).unwrap_or_default())),
        Shape::IntOrString => match take(0).and_then(|v| v.as_i64()).unwrap_or_default() {
            0 => take(1).unwrap_or(Value::from(0)),
            1 => take(2).unwrap_or(Value::from("")),
            _ => return Err(Error::IntOrStringType),
        },
        Shape::SchemaOrBool => match (take(0), take(1)) {
            (_, Some(schema)) => schema,
            (allows, None) => allows.unwrap_or(Value::Bool(false)),
        },
        Shape::SchemaOrArray | Shape::SchemaOrStringArray => match (take(0), take(1)) {
            (_, Some(list)) => list,
            (schema, None) => schema.unwrap_or_default(),
        },
        _ => take(0).unwrap_or_default(),
    })
}

/// Raw JSON text, `null` if there is none.
fn raw_json(message: &'static Message, payload: &[u8], slots: &mut Slots) -> Result<Value, Error> {
    let text = raw_text(message, payload, slots)?;
    Ok(text.map_or(Value::Null, |text| Value::from(go_text(text))))
}

/// The bytes of a raw JSON value; `None` if Go's value is nil, which for `FieldsV1` includes empty.
pub(crate) fn raw_text<'a>(
    message: &'static Message,
    payload: &'a [u8],
    slots: &mut Slots,
) -> Result<Option<&'a [u8]>, Error> {
    let frame = slots.enter(message, payload)?;
    let slot = slots.get(frame, usize::from(message.shape == Shape::Unknown));
    slots.leave(frame);
    let text = slot.value(payload);
    Ok((slot.count() > 0 && !(text.is_empty() && message.shape == Shape::FieldsV1)).then_some(text))
}

/// The canonical text, `0` if there is none.
fn quantity(message: &'static Message, payload: &[u8], slots: &mut Slots) -> Result<Value, Error> {
    let frame = slots.enter(message, payload)?;
    let slot = slots.get(frame, 0);
    slots.leave(frame);
    if slot.count() == 0 {
        return Ok(Value::from("0"));
    }
    Ok(Value::from(apimachinery::quantity::canonicalize(&go_text(slot.value(payload)))?))
}

fn time(message: &'static Message, payload: &[u8], slots: &mut Slots) -> Result<Value, Error> {
    let Some(time) = instant(message, payload, slots)? else { return Ok(Value::Null) };
    Ok(match message.shape {
        Shape::MicroTime => time.rfc3339_micro().into(),
        _ => time.rfc3339().into(),
    })
}

/// The instant of a Time or MicroTime; `None` for Go's zero time.
#[inline]
pub(crate) fn instant(
    message: &'static Message,
    payload: &[u8],
    slots: &mut Slots,
) -> Result<Option<UnixTime>, Error> {
    if payload.is_empty() {
        return Ok(None);
    }
    let frame = slots.enter(message, payload)?;
    let seconds = slots.get(frame, 0);
    let nanos = slots.get(frame, 1);
    slots.leave(frame);
    let number =
        |slot: Slot| if slot.count() == 0 { Ok(0) } else { Reader::new(slot.value(payload)).varint() };
    let seconds = number(seconds)? as i64;
    let nanos = number(nanos)? as i32;
    let time = match message.shape {
        Shape::MicroTime => scalar::micro_time(seconds, nanos),
        _ => UnixTime::from_seconds(seconds),
    };
    Ok((!time.is_go_zero()).then_some(time))
}
