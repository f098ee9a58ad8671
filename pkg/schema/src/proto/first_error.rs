//! Finds the error that upstream would report. gogo reads a message from front to back and descends at once;
//! the readers here scan a level first. So after a failure this walk finds gogo's first error.

use super::index::check_wire_type;
use super::wire::{BYTES, Reader};
use super::{DEPTH_MAX, Error};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// The first error in wire order, if gogo would report one.
#[cold]
pub(super) fn first(message: &'static Message, raw: &[u8]) -> Option<Error> {
    check(message, raw).err()
}

/// Checks that gogo would accept the bytes.
///
/// # Errors
/// The first error in wire order.
#[cold]
pub(crate) fn check(message: &'static Message, raw: &[u8]) -> Result<(), Error> {
    walk(message, raw, 1)
}

fn walk(message: &'static Message, raw: &[u8], depth: usize) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let mut reader = Reader::new(raw);
    while !reader.done() {
        let key = reader.key(message)?;
        match message.field_by_number(key.number) {
            None => reader.skip(key.wire_type)?,
            Some(field) => {
                check_wire_type(field, key)?;
                match field.cardinality {
                    Cardinality::Map => entry(field, reader.bytes()?, depth)?,
                    _ => value(message, field, key.wire_type, &mut reader, depth)?,
                }
            }
        }
    }
    Ok(())
}

fn value(
    message: &'static Message,
    field: &'static Field,
    wire_type: u8,
    reader: &mut Reader,
    depth: usize,
) -> Result<(), Error> {
    if wire_type != BYTES {
        return reader.skip(wire_type);
    }
    let payload = reader.bytes()?;
    match field.ty {
        Type::Message(inner) => walk(inner, payload, depth + 1),
        Type::String if message.shape == Shape::Quantity => {
            apimachinery::quantity::canonicalize(&String::from_utf8_lossy(payload))?;
            Ok(())
        }
        Type::Bool | Type::Int32 | Type::Int64 => {
            let mut packed = Reader::new(payload);
            while !packed.done() {
                packed.varint()?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn entry(field: &'static Field, raw: &[u8], depth: usize) -> Result<(), Error> {
    let mut reader = Reader::new(raw);
    while !reader.done() {
        let key = reader.entry_key()?;
        match (key.number, field.ty) {
            (2, Type::Message(inner)) => walk(inner, reader.bytes()?, depth + 1)?,
            (1 | 2, _) => {
                reader.bytes()?;
            }
            _ => reader.skip(key.wire_type)?,
        }
    }
    Ok(())
}
