//! Positions of the fields of a message: the first scan of every reader of whole messages.
//!
//! Wire order is not JSON order, a field may occur twice, and duplicate structs are merged. The scan resolves
//! this before anything is written. All slots of a walk are on one stack, so a message needs no allocation.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::names::field_name;
use super::wire::{BYTES, Key, Reader, VARINT};
use super::{DEPTH_MAX, Error, SIZE_MAX};
use crate::json::TREE_DEPTH_MAX;
use crate::memory::DecodeBudget;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Offsets of a field's occurrences in its message. Packed into two words, so that a slot is passed in
/// registers; four halves would be stored to memory and read back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Slot {
    /// Number of occurrences, and in the upper half the start of the first one, including its key.
    count_and_start: u64,
    /// Start of the last value, without key and length, and in the upper half its end.
    last: u64,
}

/// Initial slots, copied as a block.
const EMPTY: [Slot; 64] = [Slot { count_and_start: 0, last: 0 }; 64];

impl Slot {
    #[inline]
    pub(crate) fn count(self) -> usize {
        self.count_and_start as u32 as usize
    }

    #[inline]
    fn first(self) -> usize {
        (self.count_and_start >> 32) as usize
    }

    #[inline]
    fn end(self) -> usize {
        (self.last >> 32) as usize
    }

    /// The slot after one more occurrence: the offsets of its key, its value and its end.
    #[inline]
    fn with_occurrence(self, key: usize, start: usize, end: usize) -> Slot {
        let count_and_start =
            if self.count_and_start == 0 { (key as u64) << 32 | 1 } else { self.count_and_start + 1 };
        Slot { count_and_start, last: (end as u64) << 32 | start as u64 }
    }

    /// The value of the last occurrence; empty if there is none.
    #[inline]
    pub(crate) fn value(self, raw: &[u8]) -> &[u8] {
        raw.get(self.last as u32 as usize..self.end()).unwrap_or_default()
    }

    /// From the first occurrence to the end of the last; other fields may be in between.
    #[inline]
    pub(crate) fn region(self, raw: &[u8]) -> &[u8] {
        raw.get(self.first()..self.end()).unwrap_or_default()
    }

    /// The bytes of a message field. Merging messages means joining their bytes; times are replaced.
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

/// The slots of the enclosing messages of a walk, outermost first.
#[derive(Default)]
pub(crate) struct Slots {
    stack: SmallVec<[Slot; 160]>,
    depth: usize,
    /// The remaining memory budget of the tree.
    pub(super) budget: DecodeBudget,
    /// Open objects and lists of the tree.
    levels: usize,
}

/// A message's slots in [`Slots`].
#[derive(Clone, Copy)]
pub(crate) struct Frame(usize);

/// A position to return to.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    depth: usize,
    slots: usize,
}

impl Slots {
    /// Slots for a walk that builds a tree.
    pub(super) fn with_budget(budget: DecodeBudget) -> Self {
        Slots { budget, ..Slots::default() }
    }

    /// Opens an object or a list of the tree. The walk ends with an error, or closes it.
    #[inline]
    pub(super) fn open(&mut self) -> Result<(), Error> {
        if self.levels == TREE_DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        self.levels += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn close(&mut self) {
        self.levels -= 1;
    }

    /// Scans a message and keeps its slots until [`Slots::leave`].
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
            let slots = EMPTY.get(..missing).unwrap_or(&EMPTY);
            self.stack.extend_from_slice(slots);
            missing -= slots.len();
        }
        scan(message, raw, self.stack.get_mut(frame.0..).unwrap_or_default())?;
        Ok(frame)
    }

    #[inline]
    pub(crate) fn get(&self, frame: Frame, field: usize) -> Slot {
        self.stack.get(frame.0 + field).copied().unwrap_or_default()
    }

    /// The current state, for [returning](Self::rewind) from messages that were entered and not left.
    pub(crate) fn mark(&self) -> Mark {
        Mark { depth: self.depth, slots: self.stack.len() }
    }

    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.depth = mark.depth;
        self.stack.truncate(mark.slots);
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
        let begin = reader.at();
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
        *slot = slot.with_occurrence(begin, start, reader.at());
    }
    Ok(())
}

/// Checks a field's wire type; lists of numbers may also be packed.
#[inline]
pub(crate) fn check_wire_type(field: &'static Field, key: Key) -> Result<(), Error> {
    let wire_type = (field.tag & 7) as u8;
    if key.wire_type == wire_type || field.cardinality == Cardinality::List && key.wire_type == BYTES {
        Ok(())
    } else {
        Err(Error::WrongWireType { wire_type: key.wire_type, field: field_name(field) })
    }
}

/// Calls `f` with the reader at each value of a field, and with the value's wire type. `f` must read the
/// value. The region must have been scanned.
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

/// Key and value of a map entry; a missing half is empty. gogo does not check the wire types here, and all
/// maps in the tables have values of text, bytes or messages.
#[inline]
pub(crate) fn entry(raw: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let mut reader = Reader::new(raw);
    let mut name = &[][..];
    let mut value = &[][..];
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
    fn map_values_are_text_bytes_or_messages() {
        let all = builtin::ALL.iter().flat_map(|m| m.fields);
        for field in all.filter(|f| f.cardinality == Cardinality::Map && f.number > 0) {
            assert!(matches!(field.ty, Type::String | Type::Bytes | Type::Message(_)), "{}", field.name);
        }
    }
}
