//! Objects in their stored form, read in place. Only accessed members are read, and nothing is copied except
//! a few strings that exist only in JSON.
//!
//! An expression sees the members of the object's JSON: zero members that Go writes are present.

use std::cell::{Cell, OnceCell};
use std::fmt::Display;

use apimachinery::quantity::canonicalize;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::proto::inplace::{ListRef, MapRef, MemberRef, MessageRef, NotInPlace};

use super::map::key_order;
use super::{List, Map, Value};
use crate::arena::{Arena, Outcome};

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
    /// Elements, read on first access: locating one requires a scan over the previous ones.
    elements: OnceCell<&'a [Value<'a>]>,
}

const IRREGULAR: &str = "the stored object cannot be read in place";

impl<'a> Stored<'a> {
    /// Wraps a message with the `apiVersion` and `kind` of its envelope.
    pub fn new(object: MessageRef<'a>, api_version: &'a str, kind: &'a str, arena: &'a Arena) -> Self {
        Self { object, api_version, kind, arena, irregular: Cell::new(false) }
    }

    /// Returns the object as a value.
    pub fn value(&'a self) -> Value<'a> {
        self.map(Members::Object(self.object)).unwrap_or_else(|_| self.mark_irregular())
    }

    /// Returns true if the evaluation accessed something that cannot be read in place. Its result is then
    /// invalid, and the object must be decoded and evaluated as a tree.
    pub fn is_irregular(&self) -> bool {
        self.irregular.get()
    }

    /// Returns the result of a read, and records a failure.
    #[inline(always)]
    fn record_irregular<T>(&self, read: Result<T, NotInPlace>) -> Option<T> {
        if read.is_err() {
            self.irregular.set(true);
        }
        read.ok()
    }

    #[inline(always)]
    fn map(&'a self, members: Members<'a>) -> Outcome<'a> {
        Ok(Value::Map(Map::Stored(self.arena.alloc(StoredMap { stored: self, members })?)))
    }

    #[inline(always)]
    fn list(&'a self, list: ListRef<'a>) -> Outcome<'a> {
        let list = StoredList { stored: self, list, elements: OnceCell::new() };
        Ok(Value::List(List::Stored(self.arena.alloc(list)?)))
    }

    #[inline(never)]
    fn text(&self, text: impl Display) -> Outcome<'a> {
        self.arena.string(&text.to_string())
    }

    #[inline(never)]
    fn quantity(&self, text: &'a str) -> Result<Value<'a>, NotInPlace> {
        let canonical = canonicalize(text).map_err(|_| NotInPlace)?;
        if *canonical == *text {
            Ok(Value::String(text))
        } else {
            self.text(canonical).map_err(|_| NotInPlace)
        }
    }

    /// Returns a placeholder for an unreadable value and records the failure.
    #[inline(always)]
    fn mark_irregular(&self) -> Value<'a> {
        self.irregular.set(true);
        Value::Error(IRREGULAR)
    }

    /// Converts a member to a value. Inlined into its callers so that members stay in registers (see
    /// [`MessageRef`]).
    #[inline(always)]
    fn member(&'a self, member: MemberRef<'a>) -> Value<'a> {
        let value = match member {
            MemberRef::Absent => Some(Value::Null),
            MemberRef::Text(text) => Some(Value::String(text)),
            MemberRef::Bool(flag) => Some(Value::Bool(flag)),
            MemberRef::Int(number) => Some(Value::Int(number)),
            MemberRef::Message(message) => self.map(Members::Struct(message)).ok(),
            MemberRef::Map(map) => self.map(Members::Entries(map)).ok(),
            MemberRef::List(list) => self.list(list).ok(),
            MemberRef::Bytes(bytes) => self.text(STANDARD.encode(bytes)).ok(),
            MemberRef::Quantity(text) => self.quantity(text).ok(),
            MemberRef::Time(time) => self.text(time.rfc3339()).ok(),
            MemberRef::MicroTime(time) => self.text(time.rfc3339_micro()).ok(),
        };
        value.unwrap_or_else(|| self.mark_irregular())
    }

    /// Converts an optional member to a value.
    #[inline(always)]
    fn member_if_any(&'a self, read: Result<Option<MemberRef<'a>>, NotInPlace>) -> Option<Value<'a>> {
        match read {
            Ok(Some(member)) => Some(self.member(member)),
            Ok(None) => None,
            Err(NotInPlace) => Some(self.mark_irregular()),
        }
    }
}

impl<'a> StoredMap<'a> {
    /// Returns the value at a key.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let stored = self.stored;
        match &self.members {
            Members::Object(_) if name == "kind" => head(stored.kind),
            Members::Object(_) if name == "apiVersion" => head(stored.api_version),
            Members::Object(message) | Members::Struct(message) => {
                stored.member_if_any(message.encoded_member(name))
            }
            Members::Entries(map) => stored.member_if_any(map.find(name)),
        }
    }

    /// Returns the number of members in the object's JSON; linear time for a struct.
    pub fn len(&self) -> usize {
        match self.members {
            Members::Entries(map) => map.len(),
            _ => self.iter().count(),
        }
    }

    /// Returns true if the object's JSON has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members with their names.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + 'a> {
        let Self { stored, members } = *self;
        let entry = move |name: &'a str, member| (Value::String(name), stored.member(member));
        let entries_of = |message: MessageRef<'a>| {
            message.json_members().filter_map(move |member| {
                stored.record_irregular(member).map(|(name, member)| entry(name, member))
            })
        };
        match members {
            Members::Entries(map) => Box::new(map.iter().filter_map(move |member| {
                stored.record_irregular(member).map(|(name, member)| entry(name, member))
            })),
            Members::Struct(message) => Box::new(entries_of(message)),
            Members::Object(message) => {
                let heads = [("apiVersion", stored.api_version), ("kind", stored.kind)];
                let heads =
                    heads.into_iter().filter_map(|(name, text)| Some((Value::String(name), head(text)?)));
                let mut all: Vec<_> = heads.chain(entries_of(message)).collect();
                all.sort_by(|(a, _), (b, _)| key_order(*a, *b));
                Box::new(all.into_iter())
            }
        }
    }
}

/// Returns the value of `kind` or `apiVersion`.
fn head(text: &str) -> Option<Value<'_>> {
    (!text.is_empty()).then_some(Value::String(text))
}

impl<'a> StoredList<'a> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Always false, because an empty list is absent.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the element at an index.
    pub fn get(&self, place: usize) -> Option<Value<'a>> {
        self.elements.get_or_init(|| self.read()).get(place).copied()
    }

    fn read(&self) -> &'a [Value<'a>] {
        let stored = self.stored;
        let Ok(mut values) = stored.arena.values(self.list.len()) else {
            stored.mark_irregular();
            return &[];
        };
        for element in self.list.iter() {
            values.push(match stored.record_irregular(element) {
                Some(element) => stored.member(element),
                None => Value::Error(IRREGULAR),
            });
        }
        values.into_bump_slice()
    }
}

#[cfg(test)]
mod tests;
