//! Typed decoder: one pass over the text, with recursion only along the schema.
//!
//! As in Go, decoding continues after a value of the wrong type and the first such error is reported at the
//! end. The error of a type with a custom decoder (a quantity, a time) ends decoding at once. Invalid syntax
//! anywhere overrides both.

use std::borrow::Cow;

use jsontree::{Key, Value, push_null};

use super::decoder::Decoder;
use super::errors::{Error, StrictError, StrictKind};
use super::path::{Step, ValuePosition, go_type, kind_of, type_meta_member};
use super::scan::Scanner;
use super::seen_members::{MEMBERS_MAX, SeenMembers};
use super::slot::Slot;
use super::unquote::RawString;
use crate::memory::{DecodeBudget, STRUCT_MEMBERS, complete};
use crate::object::Object;
use crate::table::{Cardinality, Field, Member, Message, Shape, Type, Word};

/// A decoded object, and its strict validation errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The decoded tree.
    pub object: Object,
    /// In the order of the text, unique, at most [`super::STRICT_ERRORS_MAX`].
    pub strict: Vec<StrictError>,
}

/// Decodes an object of a type. `kind` and `apiVersion` are taken from the text.
///
/// # Errors
/// Upstream's errors for invalid syntax, values of the wrong type, and invalid texts of leaf types.
pub fn decode(message: &'static Message, text: &[u8]) -> Result<Decoded, Error> {
    decode_within(message, text, DecodeBudget::UNLIMITED)
}

/// Decodes an object within a memory budget.
///
/// # Errors
/// As for [`decode`], or [`Error::BudgetExceeded`].
pub fn decode_within(message: &'static Message, text: &[u8], budget: DecodeBudget) -> Result<Decoded, Error> {
    decode_with(message, Decoder { budget, path: Vec::with_capacity(USUAL_DEPTH), ..Decoder::new(text) })
}

/// Decodes the text of a decoder.
pub(super) fn decode_with(message: &'static Message, mut decoder: Decoder<'_>) -> Result<Decoded, Error> {
    let text = decoder.scan.text();
    match decoder.top(message) {
        Ok(object) => decoder.finish(object).map(|(object, strict)| Decoded { object, strict }),
        Err(error) if error.is_syntax() => Err(error),
        Err(error) => {
            // Invalid syntax in the rest of the text takes precedence.
            let mut rest = Scanner::new(text);
            rest.skip()?;
            rest.end()?;
            Err(error)
        }
    }
}

/// Decodes `text` as one value of a non-struct type.
///
/// # Errors
/// As for [`decode`].
pub(crate) fn leaf(
    message: &'static Message,
    field: &'static Field,
    text: &[u8],
) -> Result<Option<Value>, Error> {
    let mut decoder = Decoder::new(text);
    let start = decoder.scan.value_start()?;
    let mut value = Value::Null;
    let is_present = decoder.shaped(message, field, start, Slot::new(&mut value))?;
    decoder.finish(is_present).map(|(is_present, _)| is_present.then_some(value))
}

/// Decodes one value of a field's element type on its own, like its decoder in Go.
///
/// # Errors
/// The errors of [`decode`], without a field path.
pub(crate) fn decode_leaf(
    field: &'static Field,
    position: ValuePosition,
    text: &[u8],
) -> Result<Option<Value>, Error> {
    let mut decoder = Decoder::new(text);
    let start = decoder.scan.value_start()?;
    let mut value = Value::Null;
    let is_present = decoder.one(field, position, start, Slot::new(&mut value))?;
    decoder.finish(is_present).map(|(is_present, _)| is_present.then_some(value))
}

/// Usual nesting depth: the probe of a Deployment's container is at eight.
const USUAL_DEPTH: usize = 12;
/// Capacity of a list's first allocation, as for vectors.
const FIRST_ITEMS: usize = 4;

impl<'a> Decoder<'a> {
    fn top(&mut self, message: &'static Message) -> Result<Object, Error> {
        let mut object = Object::new();
        match self.scan.value_start()? {
            b'{' => self.object(message, &mut object)?,
            b'n' => self.scan.word()?,
            c => {
                self.mismatch(kind_of(c), message.go_name.into());
                self.scan.skip()?;
            }
        }
        self.scan.end()?;
        Ok(object)
    }

    /// Decodes a struct into `object`, which already has members if the text has a duplicate.
    pub(super) fn object(&mut self, message: &'static Message, object: &mut Object) -> Result<(), Error> {
        self.scan.open()?;
        self.budget.structure()?;
        let mut seen = SeenMembers::of(object);
        let mut first = true;
        while self.scan.next_name(first)? {
            if std::mem::take(&mut first) {
                object.reserve(first_members(message));
            }
            let Some((name, word)) = self.scan.plain_name() else {
                self.coded_member(message, object, &mut seen)?;
                continue;
            };
            self.scan.colon()?;
            match message.find_member(name, word) {
                Some((at, member)) => self.known_member(message, at, member, object, &mut seen)?,
                None => {
                    let text = std::str::from_utf8(name);
                    let name = text.map_or_else(|_| RawString::Coded(name).text(), Cow::from);
                    self.other_member(message, name, object, &mut seen)?;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn known_member(
        &mut self,
        message: &'static Message,
        at: usize,
        member: &'static Member,
        object: &mut Object,
        seen: &mut SeenMembers,
    ) -> Result<(), Error> {
        let again = seen.seen.set(at);
        if again || seen.inherited {
            return self.duplicate_member(message, member, again, object, seen);
        }
        let name = &member.field.member;
        if let Some(text) = self.plain_text(member)? {
            // Most members are such strings.
            seen.insert(object, at, name, || Value::from(text));
            seen.record(at);
            return Ok(());
        }
        let slot = seen.insert(object, at, name, || Value::Null);
        if self.member_value(message, member, Slot::new(slot))? {
            seen.record(at);
        } else {
            object.remove(member.name);
        }
        Ok(())
    }

    /// The value of a member that is a string without escapes. Errors of such a string have no path.
    #[inline(always)]
    fn plain_text(&mut self, member: &'static Member) -> Result<Option<&'a str>, Error> {
        let is_text = matches!((member.field.cardinality, member.field.ty), (Cardinality::One, Type::String));
        Ok(if is_text && self.scan.value_start()? == b'"' { self.scan.plain_string() } else { None })
    }

    /// Decodes a member that may already have a value, because the member or the whole struct is a duplicate.
    #[cold]
    fn duplicate_member(
        &mut self,
        message: &'static Message,
        member: &'static Member,
        again: bool,
        object: &mut Object,
        seen: &mut SeenMembers,
    ) -> Result<(), Error> {
        if again {
            self.report(StrictKind::DuplicateField, member.name);
        }
        seen.invalidate();
        let (slot, exists) = object.slot(member.field.member.clone());
        let slot = if exists { Slot::existing(slot) } else { Slot::new(slot) };
        if !self.member_value(message, member, slot)? {
            object.remove(member.name);
        }
        Ok(())
    }

    #[inline(always)]
    fn member_value(
        &mut self,
        message: &'static Message,
        member: &'static Member,
        slot: Slot<'_>,
    ) -> Result<bool, Error> {
        self.path.push(Step::Field(message, member.name));
        let is_present = self.field(member.field, slot)?;
        self.path.pop();
        Ok(is_present)
    }

    /// Decodes a member whose name has escapes.
    #[cold]
    fn coded_member(
        &mut self,
        message: &'static Message,
        object: &mut Object,
        seen: &mut SeenMembers,
    ) -> Result<(), Error> {
        let name = self.scan.string()?.text();
        self.scan.colon()?;
        match message.find_member(name.as_bytes(), Word::alone(name.as_bytes())) {
            Some((at, member)) => self.known_member(message, at, member, object, seen),
            None => self.other_member(message, name, object, seen),
        }
    }

    /// Decodes an unknown member.
    #[inline(never)]
    fn other_member(
        &mut self,
        message: &'static Message,
        name: Cow<'a, str>,
        object: &mut Object,
        seen: &mut SeenMembers,
    ) -> Result<(), Error> {
        match type_meta_member(message, &name) {
            Some((index, name)) => self.type_meta(message, MEMBERS_MAX + index, name, object, seen),
            None if message.open => self.untyped_member(name, object),
            None => {
                self.report(StrictKind::UnknownField, &name);
                self.scan.skip().map(drop)
            }
        }
    }

    fn type_meta(
        &mut self,
        message: &'static Message,
        index: usize,
        name: &'static str,
        object: &mut Object,
        seen: &mut SeenMembers,
    ) -> Result<(), Error> {
        if seen.seen.set(index) {
            self.report(StrictKind::DuplicateField, name);
        }
        self.path.push(Step::Field(message, name));
        match self.scan.value_start()? {
            b'"' => {
                let text = self.scan.string()?.into_text();
                object.insert(Key::const_new(name), Value::String(text));
            }
            b'n' => self.scan.word()?,
            c => {
                self.scan.skip()?;
                self.mismatch(kind_of(c), "string".into());
            }
        }
        self.path.pop();
        Ok(())
    }

    /// Decodes the value of a field; false for Go's zero value.
    pub(super) fn field(&mut self, field: &'static Field, slot: Slot<'_>) -> Result<bool, Error> {
        let start = self.scan.value_start()?;
        if self.stays_raw(start) {
            return self.raw_value(slot);
        }
        match (field.cardinality, start) {
            (Cardinality::One, _) => self.one(field, ValuePosition::Field, start, slot),
            (_, b'n') => self.scan.word().map(|()| false),
            (Cardinality::List, b'[') => self.list(field, slot),
            (Cardinality::Map, b'{') => self.map(field, slot),
            (_, c) => {
                self.mismatch(kind_of(c), go_type(field, ValuePosition::Field));
                self.scan.skip()?;
                Ok(slot.keep_old())
            }
        }
    }

    pub(super) fn list(&mut self, field: &'static Field, mut slot: Slot<'_>) -> Result<bool, Error> {
        let mut items = match slot.prior().map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let prior = items.len();
        let mut count = 0;
        self.scan.open()?;
        while self.scan.next_item(count == 0)? {
            if items.capacity() == 0 {
                items = Vec::with_capacity(FIRST_ITEMS);
            }
            self.budget.items(1)?;
            self.path.push(Step::Index(count));
            let start = self.scan.value_start()?;
            let exists = match items.get_mut(count) {
                Some(item) if count < prior => {
                    self.one(field, ValuePosition::Item, start, Slot::existing(item))?
                }
                _ => self.one(field, ValuePosition::Item, start, Slot::new(push_null(&mut items)))?,
            };
            if !exists && let Some(item) = items.get_mut(count) {
                *item = zero(field.ty);
            }
            self.path.pop();
            count += 1;
        }
        items.truncate(count);
        Ok(slot.put(complete(items)))
    }

    fn map(&mut self, field: &'static Field, mut slot: Slot<'_>) -> Result<bool, Error> {
        let mut entries = Object::new();
        let mut first = true;
        self.scan.open()?;
        while let Some(key) = self.scan.next_member(first)? {
            first = false;
            let key = key.text();
            self.budget.entry(entries.len())?;
            let (entry, exists) = entries.slot(&*key);
            if exists {
                self.report(StrictKind::DuplicateField, &key);
            }
            self.path.push(Step::Key(key));
            let start = self.scan.value_start()?;
            if !self.one(field, ValuePosition::Item, start, Slot::new(entry))? {
                *entry = zero(field.ty);
            }
            self.path.pop();
        }
        if let Some(Value::Object(prior)) = slot.prior() {
            let mut merged = std::mem::take(prior);
            merged.extend(entries);
            entries = merged;
        }
        Ok(slot.put(Value::Object(entries)))
    }

    /// Decodes one value of the field's element type, beginning with `start`.
    fn one(
        &mut self,
        field: &'static Field,
        position: ValuePosition,
        start: u8,
        slot: Slot<'_>,
    ) -> Result<bool, Error> {
        if self.stays_raw(start) {
            return self.raw_value(slot);
        }
        if start == b'n' && (field.pointer || !matches!(field.ty, Type::Message(_))) {
            self.scan.word()?;
            let retains = !field.pointer && !matches!(field.ty, Type::Bytes | Type::Any);
            return Ok(retains && slot.keep_old());
        }
        match (field.ty, start) {
            (Type::String, b'"') => Ok(slot.put(Value::String(self.scan.string()?.into_text()))),
            (Type::Bool, b't' | b'f') => {
                self.scan.word()?;
                Ok(slot.put(Value::Bool(start == b't')))
            }
            (Type::Int32 | Type::Int64 | Type::Double, b'-' | b'0'..=b'9') => {
                self.number(field, position, slot)
            }
            (Type::Bytes, b'"' | b'[') => self.bytes(start, slot),
            (Type::Any, _) => self.any(slot.into_value()).map(|()| true),
            (Type::Message(message), _) => self.message(message, field, position, start, slot),
            (_, c) => {
                self.mismatch(kind_of(c), go_type(field, position));
                self.scan.skip()?;
                Ok(slot.keep_old())
            }
        }
    }

    fn message(
        &mut self,
        message: &'static Message,
        field: &'static Field,
        position: ValuePosition,
        start: u8,
        slot: Slot<'_>,
    ) -> Result<bool, Error> {
        match (message.shape, start) {
            (Shape::Struct, b'{') => match slot.into_object() {
                Some(object) => self.object(message, object).map(|()| true),
                None => Ok(false),
            },
            (Shape::Wrapper, b'[') => match message.fields.first() {
                Some(items) => self.list(items, slot),
                None => self.scan.skip().map(|_| false),
            },
            (Shape::Struct, b'n') => {
                self.scan.word()?;
                Ok(slot.keep_old())
            }
            (Shape::Wrapper, b'n') => self.scan.word().map(|()| false),
            (Shape::Struct | Shape::Wrapper, c) => {
                self.mismatch(kind_of(c), go_type(field, position));
                self.scan.skip()?;
                Ok(slot.keep_old())
            }
            _ => self.shaped(message, field, start, slot),
        }
    }

    /// Decodes like a type with a custom decoder: not strict, and its first error is final.
    pub(super) fn nested<T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outer = (self.saved.take(), self.nested_at);
        self.nested_at = outer.1.or(Some(self.path.len()));
        let value = decode(self)?;
        if let Some(error) = self.saved.take() {
            return Err(error);
        }
        (self.saved, self.nested_at) = outer;
        Ok(value)
    }
}

/// Capacity of a struct's first allocation: all possible members, but not more than the memory budget
/// ([`DecodeBudget`]) charges.
#[inline]
fn first_members(message: &'static Message) -> usize {
    (message.members.len() + if message.type_meta { 2 } else { 0 }).min(STRUCT_MEMBERS)
}

/// Go's zero value where it cannot be absent.
pub(crate) fn zero(ty: Type) -> Value {
    match ty {
        Type::String | Type::Bytes => Value::from(""),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 => Value::from(0),
        Type::Double => Value::from(0.0),
        Type::Any => Value::Null,
        Type::Message(message) => match message.shape {
            Shape::Struct => Value::Object(Object::new()),
            Shape::Quantity => Value::from("0"),
            Shape::IntOrString => Value::from(0),
            _ => Value::Null,
        },
    }
}
