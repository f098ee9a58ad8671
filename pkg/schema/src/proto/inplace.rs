//! Members read where they are: for a reader that wants a few members of an object and not a tree of
//! all of it, such as a row of a table. Nothing is allocated, and what is not asked for is not read.
//!
//! What is read says the same as the tree of [`decode`](super::decode), or [`Irregular`]. Bytes must be
//! canonical, as stored objects are: fields in ascending order, structs once, maps sorted.

use std::cmp::Ordering;

use apimachinery::quantity::canonicalize;
use apimachinery::time::UnixTime;

use super::index::entry;
use super::wire::{BYTES, Reader, VARINT};
use super::{Error, decode};
use crate::object::Object;
use crate::scalar;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Bytes that cannot be read in place: they are broken, not canonical, no UTF-8, or of one of the rarer
/// types. [`decode`](super::decode) knows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read in place")]
pub struct Irregular;

impl From<Error> for Irregular {
    fn from(_: Error) -> Irregular {
        Irregular
    }
}

/// The value of a member, borrowed from the object's bytes. A member that a tree would not have, or
/// would have as `null`, is `Absent`.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy)]
pub struct MessageRef<'a> {
    message: &'static Message,
    raw: &'a [u8],
    /// An empty one is as good as none.
    plain: bool,
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
        MessageRef { message, raw, plain: false }
    }

    /// Whether a tree would have the struct: not where it is empty and its field is no pointer.
    ///
    /// # Errors
    /// What it holds is irregular.
    pub fn is_set(self) -> Result<bool, Irregular> {
        Ok(!self.plain || !self.is_empty()?)
    }

    /// The member with a JSON name.
    ///
    /// # Errors
    /// The way to it is irregular.
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, Irregular> {
        // For names that differ in length mostly, in tables this small, faster than a binary search.
        let member = self.message.members.iter().find(|member| member.name == name);
        member.map_or(Ok(MemberRef::Absent), |member| self.value(name, member.field))
    }

    /// The value of a member's field, which may be one of an inlined struct.
    fn value(self, name: &str, field: &'static Field) -> Result<MemberRef<'a>, Irregular> {
        if self.has(field) {
            return self.field(field);
        }
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
    pub fn each_struct(self, visit: &mut dyn FnMut(&'static str, MessageRef<'a>)) -> Result<(), Irregular> {
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            let field =
                self.message.field_by_number(key.number).filter(|f| f.cardinality == Cardinality::One);
            match field.map(|field| (field, field.ty)) {
                Some((field, Type::Message(inner))) if inner.shape == Shape::Struct => {
                    if key.wire_type != BYTES {
                        return Err(Irregular);
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
    fn has(self, field: &'static Field) -> bool {
        self.message.field_by_number(field.number).is_some_and(|own| std::ptr::eq(own, field))
    }

    /// Looks for a field up to where the fields of higher number begin.
    fn field(self, field: &'static Field) -> Result<MemberRef<'a>, Irregular> {
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
                    return Err(Irregular);
                }
                if field.cardinality == Cardinality::One {
                    return one(field, &mut reader);
                }
                first = if count == 0 { before } else { first };
                count += 1;
            }
            skip(&mut reader, key.wire_type)?;
            end = reader.at();
        }
        let region = self.raw.get(first..end).unwrap_or_default();
        let entries = Entries { field, region, count };
        Ok(match field.cardinality {
            _ if count == 0 => MemberRef::Absent,
            Cardinality::Map => MemberRef::Map(MapRef(entries)),
            _ => MemberRef::List(ListRef(entries)),
        })
    }

    /// Whether a tree of this struct would have no members.
    fn is_empty(self) -> Result<bool, Irregular> {
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            let Some(field) = self.message.field_by_number(key.number) else {
                reader.skip(key.wire_type)?;
                continue;
            };
            if key.wire_type != own_wire_type(field) {
                return Err(Irregular);
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

    /// The text in the first field, of which wire types such as Quantity consist.
    fn first_text(self, default: &'static str) -> Result<&'a str, Irregular> {
        let Some(field) = self.message.fields.first() else { return Err(Irregular) };
        let mut reader = Reader::new(self.raw);
        if reader.done() {
            return Ok(default);
        }
        let key = reader.key(self.message)?;
        match (key.number == field.number, key.wire_type) {
            (true, BYTES) => text(reader.bytes()?),
            _ => Err(Irregular),
        }
    }

    /// The numbers in fields 1 and 2, and the text in field 3; zero and empty where they are missing.
    fn numbers_and_text(self) -> Result<(u64, u64, &'a str), Irregular> {
        let mut found = (0, 0, "");
        let mut reader = Reader::new(self.raw);
        while !reader.done() {
            let key = reader.key(self.message)?;
            match (key.number, key.wire_type) {
                (1, VARINT) => found.0 = reader.varint()?,
                (2, VARINT) => found.1 = reader.varint()?,
                (3, BYTES) => found.2 = text(reader.bytes()?)?,
                _ => return Err(Irregular),
            }
        }
        Ok(found)
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
    pub fn iter(self) -> impl Iterator<Item = Result<MemberRef<'a>, Irregular>> + use<'a> {
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
    pub fn get(self, name: &str) -> Result<MemberRef<'a>, Irregular> {
        Ok(self.find(name)?.unwrap_or(MemberRef::Absent))
    }

    /// The value of a key, if the map has it, which takes a walk over the entries.
    ///
    /// # Errors
    /// The map is irregular up to there.
    pub fn find(self, name: &str) -> Result<Option<MemberRef<'a>>, Irregular> {
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
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a str, MemberRef<'a>), Irregular>> + use<'a> {
        self.pairs().map(move |pair| {
            let (key, value) = pair?;
            Ok((text(key)?, element(self.0.field.ty, value)?))
        })
    }

    fn pairs(self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), Irregular>> + use<'a> {
        let mut before: Option<&[u8]> = None;
        self.0.iter().map(move |payload| {
            let (key, value) = entry(payload?)?;
            match before.replace(key).is_some_and(|before| before >= key) {
                true => Err(Irregular),
                false => Ok((key, value)),
            }
        })
    }
}

impl<'a> Entries<'a> {
    /// The values, which have a length each.
    #[inline]
    fn iter(self) -> impl Iterator<Item = Result<&'a [u8], Irregular>> + use<'a> {
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
            Some(value.map_err(Irregular::from))
        })
    }
}

/// As [`Reader::skip`], which is not to be called for what nearly all values are.
#[inline(always)]
fn skip(reader: &mut Reader<'_>, wire_type: u8) -> Result<(), Error> {
    match wire_type {
        BYTES => reader.bytes().map(drop),
        VARINT => reader.varint().map(drop),
        other => reader.skip(other),
    }
}

fn own_wire_type(field: &Field) -> u8 {
    (field.tag & 7) as u8
}

/// The value of a field that holds one, with the reader behind its key.
#[inline]
fn one<'a>(field: &'static Field, reader: &mut Reader<'a>) -> Result<MemberRef<'a>, Irregular> {
    let value = match field.ty {
        Type::String => MemberRef::Text(text(reader.bytes()?)?),
        Type::Bool => MemberRef::Bool(reader.varint()? != 0),
        Type::Int32 => MemberRef::Int(i64::from(reader.varint()? as i32)),
        Type::Int64 => MemberRef::Int(reader.varint()? as i64),
        Type::Bytes | Type::Message(_) => element(field.ty, reader.bytes()?)?,
        Type::Double | Type::Any => return Err(Irregular),
    };
    if field.pointer {
        return Ok(value);
    }
    Ok(match value {
        MemberRef::Text("") | MemberRef::Bool(false) | MemberRef::Int(0) => MemberRef::Absent,
        MemberRef::Quantity(text) if canonicalize(text).map_err(|_| Irregular)? == "0" => MemberRef::Absent,
        MemberRef::Message(message) => MemberRef::Message(MessageRef { plain: true, ..message }),
        value => value,
    })
}

/// A value with a length.
#[inline]
fn element<'a>(ty: Type, payload: &'a [u8]) -> Result<MemberRef<'a>, Irregular> {
    let message = match ty {
        Type::String => return Ok(MemberRef::Text(text(payload)?)),
        Type::Bytes => return Ok(MemberRef::Bytes(payload)),
        Type::Message(message) => message,
        Type::Bool | Type::Int32 | Type::Int64 | Type::Double | Type::Any => return Err(Irregular),
    };
    let inner = MessageRef::new(message, payload);
    Ok(match message.shape {
        Shape::Struct => MemberRef::Message(inner),
        Shape::Time | Shape::MicroTime => time(inner)?,
        Shape::Quantity => {
            let text = inner.first_text("0")?;
            canonicalize(text).map_err(|_| Irregular)?;
            MemberRef::Quantity(text)
        }
        Shape::IntOrString => match inner.numbers_and_text()? {
            (0, int, _) => MemberRef::Int(i64::from(int as i32)),
            (1, _, text) => MemberRef::Text(text),
            _ => return Err(Irregular),
        },
        _ => return Err(Irregular),
    })
}

fn time(instant: MessageRef<'_>) -> Result<MemberRef<'_>, Irregular> {
    if instant.raw.is_empty() {
        return Ok(MemberRef::Absent);
    }
    let (seconds, nanos, _) = instant.numbers_and_text()?;
    let time = match instant.message.shape {
        Shape::MicroTime => scalar::micro_time(seconds as i64, nanos as i32),
        _ => UnixTime::from_seconds(seconds as i64),
    };
    match (scalar::reads_back(time), instant.message.shape) {
        _ if time.is_go_zero() => Ok(MemberRef::Absent),
        (true, Shape::MicroTime) => Ok(MemberRef::MicroTime(time)),
        (true, _) => Ok(MemberRef::Time(time)),
        (false, _) => Err(Irregular),
    }
}

#[inline]
fn text(bytes: &[u8]) -> Result<&str, Irregular> {
    std::str::from_utf8(bytes).map_err(|_| Irregular)
}

mod written;

#[cfg(test)]
mod tests;
