//! Decodes single values, with the reader at their first byte.

use apimachinery::quantity::canonicalize;
use apimachinery::time::UnixTime;

use super::{Empty, MemberRef, MessageRef, NotInPlace};
use crate::proto::Error;
use crate::proto::wire::{BYTES, Reader, VARINT};
use crate::scalar;
use crate::table::{Field, Shape, Type};

/// Like [`Reader::skip`], with inlined code for the most frequent wire types.
#[inline(always)]
pub(super) fn skip(reader: &mut Reader<'_>, wire_type: u8) -> Result<(), Error> {
    match wire_type {
        BYTES => reader.bytes().map(drop),
        VARINT => reader.varint().map(drop),
        other => reader.skip(other),
    }
}

pub(super) fn own_wire_type(field: &Field) -> u8 {
    (field.tag & 7) as u8
}

/// The value of a single-valued field, with the reader after its key.
#[inline(always)]
pub(super) fn one<'a>(field: &'static Field, reader: &mut Reader<'a>) -> Result<MemberRef<'a>, NotInPlace> {
    let value = match field.ty {
        Type::String => MemberRef::Text(text(reader.bytes()?)?),
        Type::Bool => MemberRef::Bool(reader.varint()? != 0),
        Type::Int32 => MemberRef::Int(i64::from(reader.varint()? as i32)),
        Type::Int64 => MemberRef::Int(reader.varint()? as i64),
        Type::Message(message) if message.shape == Shape::Struct => {
            let raw = reader.bytes()?;
            let empty = if field.pointer { Empty::Set } else { Empty::Unset };
            return Ok(MemberRef::Message(MessageRef { message, raw, empty }));
        }
        Type::Bytes | Type::Message(_) => other_element(field.ty, reader.bytes()?)?,
        Type::Double | Type::Any => return Err(NotInPlace),
    };
    if field.pointer {
        return Ok(value);
    }
    Ok(match value {
        MemberRef::Text("") | MemberRef::Bool(false) | MemberRef::Int(0) => MemberRef::Absent,
        MemberRef::Quantity(text) if canonicalize(text).map_err(|_| NotInPlace)? == "0" => MemberRef::Absent,
        value => value,
    })
}

/// A length-delimited value.
#[inline(always)]
pub(super) fn element<'a>(ty: Type, payload: &'a [u8]) -> Result<MemberRef<'a>, NotInPlace> {
    match ty {
        Type::Message(message) if message.shape == Shape::Struct => {
            Ok(MemberRef::Message(MessageRef::new(message, payload)))
        }
        ty => {
            let value = other_element(ty, payload)?;
            Ok(value) // In registers, see `MessageRef`.
        }
    }
}

/// A length-delimited value that is not a struct.
#[inline(never)]
fn other_element<'a>(ty: Type, payload: &'a [u8]) -> Result<MemberRef<'a>, NotInPlace> {
    let message = match ty {
        Type::String => return Ok(MemberRef::Text(text(payload)?)),
        Type::Bytes => return Ok(MemberRef::Bytes(payload)),
        Type::Message(message) => message,
        Type::Bool | Type::Int32 | Type::Int64 | Type::Double | Type::Any => return Err(NotInPlace),
    };
    let inner = MessageRef::new(message, payload);
    Ok(match message.shape {
        Shape::Time | Shape::MicroTime => time(inner)?,
        Shape::Quantity => {
            let text = inner.first_text("0")?;
            canonicalize(text).map_err(|_| NotInPlace)?;
            MemberRef::Quantity(text)
        }
        Shape::IntOrString => match inner.numbers_and_text()? {
            (0, int, _) => MemberRef::Int(i64::from(int as i32)),
            (1, _, text) => MemberRef::Text(text),
            _ => return Err(NotInPlace),
        },
        _ => return Err(NotInPlace),
    })
}

fn time(instant: MessageRef<'_>) -> Result<MemberRef<'_>, NotInPlace> {
    if instant.raw.is_empty() {
        return Ok(MemberRef::Absent);
    }
    let (seconds, nanos, _) = instant.numbers_and_text()?;
    let time = match instant.message.shape {
        Shape::MicroTime => scalar::micro_time(seconds as i64, nanos as i32),
        _ => UnixTime::from_seconds(seconds as i64),
    };
    match (scalar::is_parseable(time), instant.message.shape) {
        _ if time.is_go_zero() => Ok(MemberRef::Absent),
        (true, Shape::MicroTime) => Ok(MemberRef::MicroTime(time)),
        (true, _) => Ok(MemberRef::Time(time)),
        (false, _) => Err(NotInPlace),
    }
}

impl<'a> MessageRef<'a> {
    /// The text in the first field, for wire types such as Quantity.
    fn first_text(self, default: &'static str) -> Result<&'a str, NotInPlace> {
        let Some(field) = self.message.fields.first() else { return Err(NotInPlace) };
        let mut reader = Reader::new(self.raw);
        if reader.done() {
            return Ok(default);
        }
        let key = reader.key(self.message)?;
        match (key.number == field.number, key.wire_type) {
            (true, BYTES) => text(reader.bytes()?),
            _ => Err(NotInPlace),
        }
    }

    /// The numbers in fields 1 and 2, and the text in field 3; zero and empty if missing.
    fn numbers_and_text(self) -> Result<(u64, u64, &'a str), NotInPlace> {
        let mut values = (0, 0, "");
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            match (key.number, key.wire_type) {
                (1, VARINT) => values.0 = reader.varint()?,
                (2, VARINT) => values.1 = reader.varint()?,
                (3, BYTES) => values.2 = text(reader.bytes()?)?,
                _ => return Err(NotInPlace),
            }
        }
        Ok(values)
    }
}

#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, NotInPlace> {
    std::str::from_utf8(bytes).map_err(|_| NotInPlace)
}
