//! Objects in their stored form, read where they lie: only what an expression asks for is read, and nothing is
//! copied but the few texts that JSON has and bytes do not.
//!
//! An expression sees what it would see of the object's JSON: zero members that Go writes are present.

use std::cell::{Cell, OnceCell};
use std::fmt::Display;

use apimachinery::quantity::canonicalize;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::proto::inplace::{Irregular, ListRef, MapRef, MemberRef, MessageRef};

use super::map::key_order;
use super::{List, Map, Value};
use crate::arena::Arena;

/// An object in its stored form.
#[derive(Debug)]
pub struct Stored<'a> {
    object: MessageRef<'a>,
    api_version: &'a str,
    kind: &'a str,
    arena: &'a Arena,
    irregular: Cell<bool>,
}

/// A struct or a map inside an object's bytes.
#[derive(Clone, Copy, Debug)]
pub struct StoredMap<'a> {
    stored: &'a Stored<'a>,
    members: Members<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Members<'a> {
    /// The object: `kind` and `apiVersion` are not in its bytes.
    Object(MessageRef<'a>),
    Struct(MessageRef<'a>),
    Entries(MapRef<'a>),
}

/// A list inside an object's bytes.
#[derive(Debug)]
pub struct StoredList<'a> {
    stored: &'a Stored<'a>,
    list: ListRef<'a>,
    /// Its elements, once one is asked for: to find one takes a walk over those before it.
    elements: OnceCell<&'a [Value<'a>]>,
}

const IRREGULAR: &str = "the stored object cannot be read in place";

impl<'a> Stored<'a> {
    /// An object: the message inside its envelope, and what the envelope says.
    pub fn new(object: MessageRef<'a>, api_version: &'a str, kind: &'a str, arena: &'a Arena) -> Self {
        Self { object, api_version, kind, arena, irregular: Cell::new(false) }
    }

    /// The object as a value.
    pub fn value(&'a self) -> Value<'a> {
        self.map(Members::Object(self.object))
    }

    /// Whether an evaluation met something that cannot be read in place. Then its outcome is worth nothing, and
    /// the object has to be decoded and evaluated as a tree.
    pub fn is_irregular(&self) -> bool {
        self.irregular.get()
    }

    /// What was read, or a note that it could not be.
    fn certain<T>(&self, read: Result<T, Irregular>) -> Option<T> {
        self.irregular.set(self.irregular.get() || read.is_err());
        read.ok()
    }

    fn map(&'a self, members: Members<'a>) -> Value<'a> {
        match self.arena.keep(StoredMap { stored: self, members }) {
            Ok(map) => Value::Map(Map::Stored(map)),
            Err(_) => self.refuse(),
        }
    }

    fn refuse(&self) -> Value<'a> {
        self.irregular.set(true);
        Value::Error(IRREGULAR)
    }

    fn text(&self, text: impl Display) -> Value<'a> {
        self.arena.string(&text.to_string()).unwrap_or_else(|_| self.refuse())
    }

    fn member(&'a self, member: MemberRef<'a>) -> Value<'a> {
        match member {
            MemberRef::Absent => Value::Null,
            MemberRef::Text(text) => Value::String(text),
            MemberRef::Bool(flag) => Value::Bool(flag),
            MemberRef::Int(number) => Value::Int(number),
            MemberRef::Message(message) => self.map(Members::Struct(message)),
            MemberRef::Map(map) => self.map(Members::Entries(map)),
            MemberRef::List(list) => {
                let list = StoredList { stored: self, list, elements: OnceCell::new() };
                self.arena.keep(list).map_or_else(|_| self.refuse(), |list| Value::List(List::Stored(list)))
            }
            MemberRef::Bytes(bytes) => self.text(STANDARD.encode(bytes)),
            MemberRef::Quantity(text) => match canonicalize(text) {
                Ok(canonical) if *canonical == *text => Value::String(text),
                Ok(canonical) => self.text(canonical),
                Err(_) => self.refuse(),
            },
            MemberRef::Time(time) => self.text(time.rfc3339()),
            MemberRef::MicroTime(time) => self.text(time.rfc3339_micro()),
        }
    }
}

impl<'a> StoredMap<'a> {
    /// The value at a key.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let stored = self.stored;
        let member = match (self.members, name) {
            (Members::Object(_), "kind") => return head(stored.kind),
            (Members::Object(_), "apiVersion") => return head(stored.api_version),
            (Members::Object(message) | Members::Struct(message), name) => message.written(name),
            (Members::Entries(map), name) => map.find(name),
        };
        match stored.certain(member) {
            Some(member) => member.map(|member| stored.member(member)),
            None => Some(Value::Error(IRREGULAR)),
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        match self.members {
            Members::Entries(map) => map.len(),
            _ => self.iter().count(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members with their names.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + 'a> {
        let Self { stored, members } = *self;
        let entry = move |name: &'a str, member| (Value::String(name), stored.member(member));
        let whole = |message: MessageRef<'a>| {
            message
                .all_written()
                .filter_map(move |member| stored.certain(member).map(|(name, member)| entry(name, member)))
        };
        match members {
            Members::Entries(map) => {
                Box::new(map.iter().filter_map(move |member| {
                    stored.certain(member).map(|(name, member)| entry(name, member))
                }))
            }
            Members::Struct(message) => Box::new(whole(message)),
            Members::Object(message) => {
                let heads = [("apiVersion", stored.api_version), ("kind", stored.kind)];
                let heads =
                    heads.into_iter().filter_map(|(name, text)| Some((Value::String(name), head(text)?)));
                let mut all: Vec<_> = heads.chain(whole(message)).collect();
                all.sort_by(|(a, _), (b, _)| key_order(*a, *b));
                Box::new(all.into_iter())
            }
        }
    }
}

/// The value of `kind` or `apiVersion`.
fn head(text: &str) -> Option<Value<'_>> {
    (!text.is_empty()).then_some(Value::String(text))
}

impl<'a> StoredList<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never; an empty list is absent.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// An element.
    pub fn get(&self, place: usize) -> Option<Value<'a>> {
        self.elements.get_or_init(|| self.read()).get(place).copied()
    }

    fn read(&self) -> &'a [Value<'a>] {
        let stored = self.stored;
        let Ok(mut values) = stored.arena.values(self.list.len()) else {
            stored.refuse();
            return &[];
        };
        for element in self.list.iter() {
            values.push(match stored.certain(element) {
                Some(element) => stored.member(element),
                None => Value::Error(IRREGULAR),
            });
        }
        values.into_bump_slice()
    }
}

#[cfg(test)]
mod tests;
