//! Members read where they are: for a reader that wants a few members of an object and not a tree of
//! all of it, such as a row of a table. Nothing is allocated, and what is not asked for is not read.
//!
//! What is read says the same as the tree of [`decode`](super::decode), or [`Irregular`]. Bytes must be
//! canonical, as stored objects are: fields in ascending order, structs once, maps sorted.

use std::cmp::Ordering;

use apimachinery::time::UnixTime;

use super::index::entry;
use super::wire::{BYTES, Reader};
use super::{Error, decode};
use crate::object::Object;
use crate::table::{Cardinality, Field, Member, Message, Shape, Type};
use value::{element, one, own_wire_type, skip, text};

/// Bytes that cannot be read in place: they are broken, not canonical, no UTF-8, or of one of the rarer
/// types. [`decode`](super::decode) knows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read in place")]
pub struct NotInPlace;

impl From<Error> for NotInPlace {
    fn from(_: Error) -> NotInPlace {
        NotInPlace
    }
}

/// The value of a member, borrowed from the object's bytes. A member that a tree would not have, or
/// would have as `null`, is `Absent`.
// A tag of one word keeps what follows it aligned: members are copied by whole words.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub enum MemberRef<'a> {
    /// Nothing, or the zero value of a field that cannot tell zero from absent.
    Absent,
    /// Text.
    Text(&'a str),
    /// Bytes; in a tree they are base64.
    Bytes(&'a [u8]),
    /// A boolean.
    Bool(bool),
    /// An integer of either width.
    Int(i64),
    /// A sound quantity, as it was written, which need not be its canonical text.
    Quantity(&'a str),
    /// A time that RFC 3339 can say.
    Time(UnixTime),
    /// Such a time, of which JSON has six fraction digits.
    MicroTime(UnixTime),
    /// A struct, which may be one that says no more than none does: see [`MessageRef::is_set`].
    Message(MessageRef<'a>),
    /// A list, not empty.
    List(ListRef<'a>),
    /// A map, not empty.
    Map(MapRef<'a>),
}

/// A struct inside an object's bytes, or the object itself.
// Reading a member is inlined, takes the struct by reference, and takes apart what calls return instead of passing it
// on: so members stay in registers. A processor that loads by other widths what it has just stored waits for it.
#[derive(Debug, Clone, Copy)]
pub struct MessageRef<'a> {
    message: &'static Message,
    raw: &'a [u8],
    empty: Empty,
}

/// What an empty struct says. It takes a word so that all of a [`MessageRef`] is words, which are copied faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Empty {
    /// That it is there.
    Set,
    /// No more than none would.
    Unset,
}

/// A list inside an object's bytes.
#[derive(Debug, Clone, Copy)]
pub struct ListRef<'a>(Entries<'a>);

/// A map inside an object's bytes.
#[derive(Debug, Clone, Copy)]
pub struct MapRef<'a>(Entries<'a>);

/// A field's occurrences, which stand together.
#[derive(Debug, Clone, Copy)]
struct Entries<'a> {
    field: &'static Field,
    region: &'a [u8],
    count: usize,
}

impl<'a> MessageRef<'a> {
    /// An object of a type: the message inside its envelope.
    pub fn new(message: &'static Message, raw: &'a [u8]) -> MessageRef<'a> {
        MessageRef { message, raw, empty: Empty::Set }
    }

    /// Whether a tree would have the struct: not where it is empty and its field is no pointer.
    ///
    /// # Errors
    /// What it holds is irregular.
    pub fn is_set(self) -> Result<bool, NotInPlace> {
        Ok(self.empty == Empty::Set || !self.is_empty()?)
    }

    /// The member with a JSON name.
    ///
    /// # Errors
    /// The way to it is irregular.
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, NotInPlace> {
        self.field_named(name).map_or(Ok(MemberRef::Absent), |field| self.value(name, field))
    }

    /// The field of the member with a JSON name. Names differ in length or in their last byte mostly: in tables this
    /// small that is faster than a binary search.
    #[inline]
    fn field_named(&self, name: &str) -> Option<&'static Field> {
        let last = name.as_bytes().last();
        let is_named = |member: &&Member| {
            member.name.len() == name.len() && member.name.as_bytes().last() == last && member.name == name
        };
        self.message.members.iter().find(is_named).map(|member| member.field)
    }

    /// The value of a member's field, which may be one of an inlined struct.
    #[inline(always)]
    fn value(&self, name: &str, field: &'static Field) -> Result<MemberRef<'a>, NotInPlace> {
        if self.has(field) {
            return self.field(field);
        }
        let value = self.value_of_inlined(name, field)?;
        Ok(value) // In registers, see `MessageRef`.
    }

    #[inline(never)]
    fn value_of_inlined(&self, name: &str, field: &'static Field) -> Result<MemberRef<'a>, NotInPlace> {
        for inlined in self.message.fields.iter().filter(|field| field.inlined()) {
            if let Type::Message(inner) = inlined.ty
                && inner.member(name).is_some_and(|member| std::ptr::eq(member, field))
            {
                return match self.field(inlined)? {
                    MemberRef::Message(inner) => inner.get(name),
                    _ => Ok(MemberRef::Absent),
                };
            }
        }
        Ok(MemberRef::Absent)
    }

    /// Shows every member that is a struct and set, those of inlined structs included.
    ///
    /// # Errors
    /// What the object holds is irregular; until then `visit` may have been called.
    pub fn each_struct(self, visit: &mut dyn FnMut(&'static str, MessageRef<'a>)) -> Result<(), NotInPlace> {
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            let field =
                self.message.field_by_number(key.number).filter(|f| f.cardinality == Cardinality::One);
            match field.map(|field| (field, field.ty)) {
                Some((field, Type::Message(inner))) if inner.shape == Shape::Struct => {
                    if key.wire_type != BYTES {
                        return Err(NotInPlace);
                    }
                    match one(field, &mut reader)? {
                        MemberRef::Message(inner) if field.inlined() => inner.each_struct(visit)?,
                        MemberRef::Message(inner) if inner.is_set()? => visit(field.name, inner),
                        _ => {}
                    }
                }
                _ => skip(&mut reader, key.wire_type)?,
            }
        }
        Ok(())
    }

    /// The struct as a tree, whole.
    ///
    /// # Errors
    /// See [`decode`](super::decode).
    pub fn tree(self) -> Result<Object, Error> {
        decode(self.message, self.raw)
    }

    /// Whether a field is one of this struct's own, not of one inlined.
    #[inline]
    fn has(&self, field: &'static Field) -> bool {
        self.message.fields.as_ptr_range().contains(&std::ptr::from_ref(field))
    }

    #[inline(always)]
    fn field(&self, field: &'static Field) -> Result<MemberRef<'a>, NotInPlace> {
        if field.cardinality == Cardinality::One {
            return self.single(field);
        }
        let entries = self.repeated(field)?;
        Ok(match field.cardinality {
            _ if entries.count == 0 => MemberRef::Absent,
            Cardinality::Map => MemberRef::Map(MapRef(entries)),
            _ => MemberRef::List(ListRef(entries)),
        })
    }

    /// Looks for a field that holds one value up to where the fields of higher number begin.
    #[inline(always)]
    fn single(&self, field: &'static Field) -> Result<MemberRef<'a>, NotInPlace> {
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            if key.number == field.number {
                return if key.wire_type == own_wire_type(field) {
                    one(field, &mut reader)
                } else {
                    Err(NotInPlace)
                };
            }
            if key.number > field.number {
                break;
            }
            skip(&mut reader, key.wire_type)?;
        }
        Ok(MemberRef::Absent)
    }

    /// Looks for the entries of a list or a map up to where the fields of higher number begin.
    #[inline(never)]
    fn repeated(&self, field: &'static Field) -> Result<Entries<'a>, NotInPlace> {
        let mut reader = Reader::new(self.raw);
        let (mut count, mut first, mut end) = (0, 0, 0);
        while !reader.done() {
            let before = reader.at();
            let key = reader.key(self.message)?;
            if key.number > field.number {
                break;
            }
            if key.number == field.number {
                if key.wire_type != own_wire_type(field) {
                    return Err(NotInPlace);
                }
                first = if count == 0 { before } else { first };
                count += 1;
            }
            skip(&mut reader, key.wire_type)?;
            end = reader.at();
        }
        let region = self.raw.get(first..end).unwrap_or_default();
        Ok(Entries { field, region, count })
    }

    /// Whether a tree of this struct would have no members.
    fn is_empty(self) -> Result<bool, NotInPlace> {
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            let Some(field) = self.message.field_by_number(key.number) else {
                reader.skip(key.wire_type)?;
                continue;
            };
            if key.wire_type != own_wire_type(field) {
                return Err(NotInPlace);
            }
            // A pointer to a zero time is a member whose value is null.
            if field.cardinality != Cardinality::One || field.pointer && !field.inlined() {
                return Ok(false);
            }
            match one(field, &mut reader)? {
                MemberRef::Absent => {}
                MemberRef::Message(inner) if inner.is_empty()? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl<'a> ListRef<'a> {
    /// The number of items, above 0.
    pub fn len(self) -> usize {
        self.0.count
    }

    /// Never; an empty list is absent.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The items; after an irregular one there are no more.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Result<MemberRef<'a>, NotInPlace>> + use<'a> {
        let ty = self.0.field.ty;
        self.0.iter().map(move |payload| element(ty, payload?))
    }
}

impl<'a> MapRef<'a> {
    /// The number of entries, above 0.
    pub fn len(self) -> usize {
        self.0.count
    }

    /// Never; an empty map is absent.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The value of a key, or `Absent`; see [`find`](Self::find).
    ///
    /// # Errors
    /// The map is irregular up to there.
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, NotInPlace> {
        Ok(self.find(name)?.unwrap_or(MemberRef::Absent))
    }

    /// The value of a key, if the map has it, which takes a walk over the entries.
    ///
    /// # Errors
    /// The map is irregular up to there.
    pub fn find(self, name: &str) -> Result<Option<MemberRef<'a>>, NotInPlace> {
        for pair in self.pairs() {
            let (key, value) = pair?;
            match key.cmp(name.as_bytes()) {
                Ordering::Less => {}
                Ordering::Equal => return element(self.0.field.ty, value).map(Some),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// The entries, sorted by key. One that is out of order is irregular.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a str, MemberRef<'a>), NotInPlace>> + use<'a> {
        self.pairs().map(move |pair| {
            let (key, value) = pair?;
            Ok((text(key)?, element(self.0.field.ty, value)?))
        })
    }

    fn pairs(self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), NotInPlace>> + use<'a> {
        let mut before: Option<&[u8]> = None;
        self.0.iter().map(move |payload| {
            let (key, value) = entry(payload?)?;
            if before.replace(key).is_some_and(|before| before >= key) {
                Err(NotInPlace)
            } else {
                Ok((key, value))
            }
        })
    }
}

impl<'a> Entries<'a> {
    /// The values, which have a length each.
    #[inline]
    fn iter(self) -> impl Iterator<Item = Result<&'a [u8], NotInPlace>> + use<'a> {
        let mut reader = Reader::new(self.region);
        std::iter::from_fn(move || {
            if reader.done() {
                return None;
            }
            let value = match reader.entry_key() {
                Ok(key) if key.number == self.field.number && key.wire_type == BYTES => reader.bytes(),
                _ => Err(Error::UnexpectedEof),
            };
            if value.is_err() {
                reader = Reader::new(&[]);
            }
            Some(value.map_err(NotInPlace::from))
        })
    }
}

mod value;
mod written;

#[cfg(test)]
mod tests;
