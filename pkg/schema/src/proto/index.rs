//! Where the fields of a message are: one scan that every reader of whole messages begins with.
//!
//! Wire order is not JSON order, a field may come twice, and structs that come twice are merged.
//! Scanning first settles all that before anything is written. Slots live on one stack for the
//! whole walk, so a message costs no allocation.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::names::field_name;
use super::wire::{BYTES, Key, Reader, VARINT};
use super::{DEPTH_MAX, Error, SIZE_MAX};
use crate::memory::DecodeBudget;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Where a field's occurrences are in its message, as offsets. Two words, so that a slot travels in
/// registers; as four halves it would be read back from memory before it has been written.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Slot {
    /// How often the field was found, and in the upper half where first, key included.
    found: u64,
    /// Where the last value begins, without key and length, and in the upper half where it ends.
    last: u64,
}

/// Copied from, as a block, when slots are set up.
const EMPTY: [Slot; 64] = [Slot { found: 0, last: 0 }; 64];

impl Slot {
    /// How often the field was found.
    #[inline]
    pub(crate) fn count(self) -> usize {
        self.found as u32 as usize
    }

    #[inline]
    fn first(self) -> usize {
        (self.found >> 32) as usize
    }

    #[inline]
    fn end(self) -> usize {
        (self.last >> 32) as usize
    }

    /// The slot after one more occurrence: where its key, its value and its end are.
    #[inline]
    fn and(self, key: usize, start: usize, end: usize) -> Slot {
        let found = if self.found == 0 { (key as u64) << 32 | 1 } else { self.found + 1 };
        Slot { found, last: (end as u64) << 32 | start as u64 }
    }

    /// The value of the last occurrence; empty when there is none.
    #[inline]
    pub(crate) fn value(self, raw: &[u8]) -> &[u8] {
        raw.get(self.last as u32 as usize..self.end()).unwrap_or_default()
    }

    /// From the first occurrence to the end of the last; other fields may stand between them.
    #[inline]
    pub(crate) fn region(self, raw: &[u8]) -> &[u8] {
        raw.get(self.first()..self.end()).unwrap_or_default()
    }

    /// The bytes of a message field. To merge messages is to join their bytes; times are replaced.
    #[inline]
    pub(crate) fn message<'a>(self, field: &'static Field, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        match self.count() {
            0 | 1 => Ok(Cow::Borrowed(self.value(raw))),
            _ => self.merged(field, raw),
        }
    }

    #[cold]
    fn merged<'a>(self, field: &'static Field, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
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
    /// What the tree may take that is made of the message.
    pub(super) room: DecodeBudget,
}

/// A message's slots in [`Slots`].
#[derive(Clone, Copy)]
pub(crate) struct Frame(usize);

impl Slots {
    /// Slots for a walk that makes a tree.
    pub(super) fn within(room: DecodeBudget) -> Self {
        Slots { room, ..Slots::default() }
    }

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
        let mut missing = message.fields.len();
        while missing > 0 {
            let some = EMPTY.get(..missing).unwrap_or(&EMPTY);
            self.stack.extend_from_slice(some);
            missing -= some.len();
        }
        scan(message, raw, self.stack.get_mut(frame.0..).unwrap_or_default())?;
        Ok(frame)
    }

    #[inline]
    pub(crate) fn get(&self, frame: Frame, field: usize) -> Slot {
        self.stack.get(frame.0 + field).copied().unwrap_or_default()
    }

    /// Where it is now, to come [back to](Self::back_to) from messages that were entered and not left.
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.depth, self.stack.len())
    }

    pub(crate) fn back_to(&mut self, (depth, slots): (usize, usize)) {
        self.depth = depth;
        self.stack.truncate(slots);
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
        let before = reader.at();
        let key = reader.key(message)?;
        let at = usize::from(message.by_number.get(key.number as usize).copied().unwrap_or_default());
        let (Some(field), Some(slot)) =
            (message.fields.get(at.wrapping_sub(1)), slots.get_mut(at.wrapping_sub(1)))
        else {
            reader.skip(key.wire_type)?;
            continue;
        };
        check_wire_type(field, key)?;
        let mut start = reader.at();
        match key.wire_type {
            BYTES => {
                let len = reader.bytes()?.len();
                start = reader.at() - len;
            }
            VARINT => {
                reader.varint()?;
            }
            other => reader.skip(other)?,
        }
        *slot = slot.and(before, start, reader.at());
    }
    Ok(())
}

/// A field comes with its own wire type; lists of numbers may also be packed.
#[inline]
pub(crate) fn check_wire_type(field: &'static Field, key: Key) -> Result<(), Error> {
    let own = (field.tag & 7) as u8;
    if key.wire_type == own || field.cardinality == Cardinality::List && key.wire_type == BYTES {
        Ok(())
    } else {
        Err(Error::WrongWireType { wire_type: key.wire_type, field: field_name(field) })
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
        if key.number == field.number {
            f(&mut reader, key.wire_type)?
        } else {
            reader.skip(key.wire_type)?
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
