//! In-place access to members, for readers that need a few members of an object and no tree, such as a row of
//! a table. Nothing is allocated, and other members are not decoded.
//!
//! Results match the tree of [`decode`](super::decode), or are [`NotInPlace`]. Bytes must be canonical, as in
//! stored objects: fields in ascending order, structs once, maps sorted.

use std::cmp::Ordering;

use apimachinery::time::UnixTime;

use super::index::entry;
use super::wire::{BYTES, Reader};
use super::{Error, decode};
use crate::object::Object;
use crate::table::{Cardinality, Field, Member, Message, Shape, Type};
use value::{element, one, own_wire_type, skip, text};

/// The bytes cannot be read in place: they are malformed, not canonical, not UTF-8, or of a rare type.
/// [`decode`](super::decode) handles these cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read in place")]
pub struct NotInPlace;

impl From<Error> for NotInPlace {
    fn from(_: Error) -> NotInPlace {
        NotInPlace
    }
}

/// The value of a member, borrowed from the object's bytes. A member that is missing or `null` in a tree is
/// `Absent`.
// A tag of one word keeps the following data aligned: members are copied by whole words.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub enum MemberRef<'a> {
    /// Absent, or the zero value of a field that does not distinguish the two.
    Absent,
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes; base64 in a tree.
    Bytes(&'a [u8]),
    /// A boolean.
    Bool(bool),
    /// An integer of either width.
    Int(i64),
    /// A valid quantity as written, which may not be its canonical text.
    Quantity(&'a str),
    /// A time within the range of RFC 3339.
    Time(UnixTime),
    /// Such a time, with six fraction digits in JSON.
    MicroTime(UnixTime),
    /// A struct, which may be equivalent to an absent one: see [`MessageRef::is_set`].
    Message(MessageRef<'a>),
    /// A list, not empty.
    List(ListRef<'a>),
    /// A map, not empty.
    Map(MapRef<'a>),
}

impl MemberRef<'_> {
    /// True if both are absent, or are structs, lists or maps with the same bytes. False for single values, which are
    /// cheaper to compare as such.
    pub fn has_bytes_of(self, other: MemberRef<'_>) -> bool {
        match (self, other) {
            (MemberRef::Absent, MemberRef::Absent) => true,
            (MemberRef::Message(own), MemberRef::Message(other)) => own.raw == other.raw,
            (MemberRef::List(ListRef(own)), MemberRef::List(ListRef(other)))
            | (MemberRef::Map(MapRef(own)), MemberRef::Map(MapRef(other))) => own.region == other.region,
            _ => false,
        }
    }
}

/// A struct inside an object's bytes, or the object itself.
// Performance: reading a member is inlined, takes the struct by reference, and destructures the results of
// calls. So members stay in registers. A load of another width than the preceding store would stall.
#[derive(Debug, Clone, Copy)]
pub struct MessageRef<'a> {
    message: &'static Message,
    raw: &'a [u8],
    empty: Empty,
}

/// The meaning of an empty struct. It has the size of a word so that [`MessageRef`] consists of words, which
/// are copied faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Empty {
    /// The struct is present.
    Set,
    /// The struct is equivalent to an absent one.
    Unset,
}

/// A list inside an object's bytes.
#[derive(Debug, Clone, Copy)]
pub struct ListRef<'a>(Entries<'a>);

/// A map inside an object's bytes.
#[derive(Debug, Clone, Copy)]
pub struct MapRef<'a>(Entries<'a>);

/// A field's occurrences, which must be adjacent.
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

    /// True if a tree would contain the struct: an empty one is omitted if its field is not a pointer.
    ///
    /// # Errors
    /// The content is irregular.
    pub fn is_set(self) -> Result<bool, NotInPlace> {
        Ok(self.empty == Empty::Set || !self.is_empty()?)
    }

    /// The member with a JSON name.
    ///
    /// # Errors
    /// The bytes up to the member are irregular.
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, NotInPlace> {
        self.field_named(name).map_or(Ok(MemberRef::Absent), |field| self.value(name, field))
    }

    /// The field of the member with a JSON name. Most names differ in length or in their last byte: in small
    /// tables comparing these is faster than a binary search.
    #[inline]
    fn field_named(&self, name: &str) -> Option<&'static Field> {
        let last = name.as_bytes().last();
        let is_named = |member: &&Member| {
            member.name.len() == name.len() && member.name.as_bytes().last() == last && member.name == name
        };
        self.message.members.iter().find(is_named).map(|member| member.field)
    }

    /// The value of a member's field, which may belong to an inlined struct.
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

    /// Calls `visit` for every member that is a set struct, including those of inlined structs.
    ///
    /// # Errors
    /// The object's content is irregular; `visit` may have been called before.
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

    /// Decodes the struct to a tree.
    ///
    /// # Errors
    /// See [`decode`](super::decode).
    pub fn tree(self) -> Result<Object, Error> {
        decode(self.message, self.raw)
    }

    /// True if the field belongs to this struct itself, not to an inlined one.
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

    /// Finds the value of a single-valued field; stops at fields of higher number.
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

    /// Finds the entries of a list or a map; stops at fields of higher number.
    #[inline(never)]
    fn repeated(&self, field: &'static Field) -> Result<Entries<'a>, NotInPlace> {
        let mut reader = Reader::new(self.raw);
        let mut count = 0;
        let mut first = 0;
        let mut end = 0;
        while !reader.done() {
            let begin = reader.at();
            let key = reader.key(self.message)?;
            if key.number > field.number {
                break;
            }
            if key.number == field.number {
                if key.wire_type != own_wire_type(field) {
                    return Err(NotInPlace);
                }
                first = if count == 0 { begin } else { first };
                count += 1;
            }
            skip(&mut reader, key.wire_type)?;
            end = reader.at();
        }
        let region = self.raw.get(first..end).unwrap_or_default();
        Ok(Entries { field, region, count })
    }

    /// True if a tree of this struct would have no members.
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
            // A pointer to a zero time is a null member.
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

    /// Always false; an empty list is absent.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// Iterates over the items; ends after an irregular one.
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

    /// Always false; an empty map is absent.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The value of a key, or `Absent`; see [`find`](Self::find).
    ///
    /// # Errors
    /// The map is irregular up to the key.
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, NotInPlace> {
        Ok(self.find(name)?.unwrap_or(MemberRef::Absent))
    }

    /// The value of a key, if present. Scans the entries.
    ///
    /// # Errors
    /// The map is irregular up to the key.
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

    /// The entries, sorted by key. An unsorted entry is irregular.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a str, MemberRef<'a>), NotInPlace>> + use<'a> {
        self.pairs().map(move |pair| {
            let (key, value) = pair?;
            Ok((text(key)?, element(self.0.field.ty, value)?))
        })
    }

    fn pairs(self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), NotInPlace>> + use<'a> {
        let mut previous: Option<&[u8]> = None;
        self.0.iter().map(move |payload| {
            let (key, value) = entry(payload?)?;
            if previous.replace(key).is_some_and(|previous| previous >= key) {
                Err(NotInPlace)
            } else {
                Ok((key, value))
            }
        })
    }
}

impl<'a> Entries<'a> {
    /// The length-delimited values.
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

mod encoded_member;
mod value;

#[cfg(test)]
mod tests;
