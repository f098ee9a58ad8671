//! Where the fields of a message are: one scan that every reader of whole messages begins with.
//!
//! Wire order is not JSON order, a field may come twice, and structs that come twice are merged.
//! Scanning first settles all that before anything is written. Slots live on one stack for the
//! whole walk, so a message costs no allocation.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::names::field_name;
use super::wire::{BYTES, Key, Reader};
use super::{DEPTH_MAX, Error, SIZE_MAX};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Where a field's occurrences are in its message, as offsets.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Slot {
    /// How often the field was found.
    pub(crate) count: u32,
    /// The first occurrence, key included.
    first: u32,
    /// Value of the last occurrence, without key and length.
    start: u32,
    /// End of the last occurrence.
    end: u32,
}

impl Slot {
    /// The value of the last occurrence; empty when there is none.
    #[inline]
    pub(crate) fn value<'a>(&self, raw: &'a [u8]) -> &'a [u8] {
        raw.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// From the first occurrence to the end of the last; other fields may stand between them.
    #[inline]
    pub(crate) fn region<'a>(&self, raw: &'a [u8]) -> &'a [u8] {
        raw.get(self.first as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of a message field. To merge messages is to join their bytes; times are replaced.
    #[inline]
    pub(crate) fn message<'a>(&self, field: &'static Field, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        match self.count {
            0 | 1 => Ok(Cow::Borrowed(self.value(raw))),
            _ => self.merged(field, raw),
        }
    }

    #[cold]
    fn merged<'a>(&self, field: &'static Field, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        if matches!(field.ty, Type::Message(Message { shape: Shape::Time | Shape::MicroTime, .. })) {
            return Ok(Cow::Borrowed(self.value(raw)));
        }
        let mut joined = Vec::new();
        each(field, self.region(raw), |reader, _| {
            joined.extend_from_slice(reader.bytes()?);
            Ok::<(), Error>(())
        })?;
        Ok(Cow::Owned(joined))
    }
}

/// The slots of the messages that a walk is inside of, outermost first.
#[derive(Default)]
pub(crate) struct Slots {
    stack: SmallVec<[Slot; 160]>,
    depth: usize,
}

/// A message's slots in [`Slots`].
#[derive(Clone, Copy)]
pub(crate) struct Frame(usize);

impl Slots {
    /// Scans a message and keeps where its fields are until [`Slots::leave`].
    #[inline]
    pub(crate) fn enter(&mut self, message: &'static Message, raw: &[u8]) -> Result<Frame, Error> {
        if self.depth == DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        if raw.len() > SIZE_MAX {
            return Err(Error::TooLarge);
        }
        self.depth += 1;
        let frame = Frame(self.stack.len());
        self.stack.resize(frame.0 + message.fields.len(), Slot::default());
        scan(message, raw, self.stack.get_mut(frame.0..).unwrap_or_default())?;
        Ok(frame)
    }

    #[inline]
    pub(crate) fn get(&self, frame: Frame, field: usize) -> Slot {
        self.stack.get(frame.0 + field).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn leave(&mut self, frame: Frame) {
        self.depth -= 1;
        self.stack.truncate(frame.0);
    }
}

fn scan(message: &'static Message, raw: &[u8], slots: &mut [Slot]) -> Result<(), Error> {
    let mut reader = Reader::new(raw);
    while !reader.done() {
        let first = reader.at() as u32;
        let key = reader.key(message)?;
        let at = usize::from(message.by_number.get(key.number as usize).copied().unwrap_or_default());
        let (Some(field), Some(slot)) = (message.fields.get(at.wrapping_sub(1)), slots.get_mut(at.wrapping_sub(1))) else {
            reader.skip(key.wire_type)?;
            continue;
        };
        check_wire_type(field, key)?;
        slot.start = reader.at() as u32;
        if key.wire_type == BYTES {
            let len = reader.bytes()?.len();
            slot.start = (reader.at() - len) as u32;
        } else {
            reader.skip(key.wire_type)?;
        }
        if slot.count == 0 {
            slot.first = first;
        }
        slot.count += 1;
        slot.end = reader.at() as u32;
    }
    Ok(())
}

/// A field comes with its own wire type; lists of numbers may also be packed.
#[inline]
pub(crate) fn check_wire_type(field: &'static Field, key: Key) -> Result<(), Error> {
    let own = (field.tag & 7) as u8;
    match key.wire_type == own || field.cardinality == Cardinality::List && key.wire_type == BYTES {
        true => Ok(()),
        false => Err(Error::WrongWireType { wire_type: key.wire_type, field: field_name(field) }),
    }
}

/// Calls `f` with the reader at each value of a field, and with the value's wire type. `f` must read
/// the value. The region must have been scanned.
#[inline]
pub(crate) fn each<'a, E: From<Error>>(
    field: &'static Field,
    region: &'a [u8],
    mut f: impl FnMut(&mut Reader<'a>, u8) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(region);
    while !reader.done() {
        let key = reader.entry_key()?;
        match key.number == field.number {
            true => f(&mut reader, key.wire_type)?,
            false => reader.skip(key.wire_type)?,
        }
    }
    Ok(())
}

/// Key and value of a map entry; a missing half is empty. gogo does not look at the wire types here,
/// and no type of the tables has a map to anything but text, bytes and messages.
#[inline]
pub(crate) fn entry(raw: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let mut reader = Reader::new(raw);
    let (mut name, mut value) = (&[][..], &[][..]);
    while !reader.done() {
        let key = reader.entry_key()?;
        match key.number {
            1 => name = reader.bytes()?,
            2 => value = reader.bytes()?,
            _ => reader.skip(key.wire_type)?,
        }
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn maps_of_the_wire_hold_text_bytes_and_messages() {
        let all = builtin::ALL.iter().flat_map(|m| m.fields);
        for field in all.filter(|f| f.cardinality == Cardinality::Map && f.number > 0) {
            assert!(matches!(field.ty, Type::String | Type::Bytes | Type::Message(_)), "{}", field.name);
        }
    }
}
