//! Decoding steered by the tables: one pass over the text, recursion only along the schema.
//!
//! As in Go, a value of the wrong type is remembered and decoding goes on; the first such error is
//! reported at the end, unless a type with its own decoder (a quantity, a time) refuses its text,
//! which ends decoding at once. Bad syntax anywhere wins over both.

use std::borrow::Cow;

use jsontree::{Key, Value};

use super::complaint::{Place, Step, go_type, kind_of, type_meta_member};
use super::errors::{Error, StrictError, StrictKind};
use super::scan::Scanner;
use super::seen::{MEMBERS_MAX, Seen};
use crate::object::Object;
use crate::room::{Room, complete};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// An object and what strict validation has to say about its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The tree.
    pub object: Object,
    /// In the order of the text, without repetition, at most [`super::STRICT_ERRORS_MAX`].
    pub strict: Vec<StrictError>,
}

/// Decodes an object of a type. `kind` and `apiVersion` are taken as they stand in the text.
///
/// # Errors
/// Upstream's errors for bad syntax, values of the wrong type, and texts that a leaf type refuses.
pub fn decode(message: &'static Message, text: &[u8]) -> Result<Decoded, Error> {
    decode_within(message, text, Room::UNLIMITED)
}

/// Decodes an object that may take so much memory.
///
/// # Errors
/// As [`decode`], or [`Error::NoRoom`].
pub fn decode_within(message: &'static Message, text: &[u8], room: Room) -> Result<Decoded, Error> {
    let mut decoder = Decoder { room, ..Decoder::new(text) };
    match decoder.top(message) {
        Ok(object) => decoder.finish(object).map(|(object, strict)| Decoded { object, strict }),
        Err(error) if error.is_syntax() => Err(error),
        Err(error) => {
            // The syntax of what was not read yet counts for more.
            let mut rest = Scanner::new(text);
            rest.skip()?;
            rest.end()?;
            Err(error)
        }
    }
}

/// Decodes one value of a type that is no struct, which is all of `text`.
///
/// # Errors
/// As [`decode`].
pub(crate) fn leaf(
    message: &'static Message,
    field: &'static Field,
    text: &[u8],
) -> Result<Option<Value>, Error> {
    let mut decoder = Decoder::new(text);
    let start = decoder.scan.value_start()?;
    let value = decoder.shaped(message, field, start, None)?;
    decoder.finish(value).map(|(value, _)| value)
}

/// Decodes one value of a field's element type on its own, as its decoder in Go would.
///
/// # Errors
/// Those of [`decode`]; they name no field.
pub(crate) fn decode_leaf(field: &'static Field, place: Place, text: &[u8]) -> Result<Option<Value>, Error> {
    let mut decoder = Decoder::new(text);
    let start = decoder.scan.value_start()?;
    let value = decoder.one(field, place, start, None)?;
    decoder.finish(value).map(|(value, _)| value)
}

pub(crate) struct Decoder<'a> {
    pub(super) scan: Scanner<'a>,
    pub(super) path: Vec<Step<'a>>,
    pub(super) strict: Vec<StrictError>,
    pub(super) saved: Option<Error>,
    /// Length of `path` at the outermost value whose type decodes itself with a decoder of its own,
    /// which is not strict and whose errors are named after the struct around it.
    pub(super) nested_at: Option<usize>,
    /// What the rest of the tree may take.
    pub(super) room: Room,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Decoder {
            scan: Scanner::new(text),
            path: Vec::new(),
            strict: Vec::new(),
            saved: None,
            nested_at: None,
            room: Room::UNLIMITED,
        }
    }

    /// What was decoded and the strict errors, or the error that was put off.
    pub(super) fn finish<T>(self, decoded: T) -> Result<(T, Vec<StrictError>), Error> {
        match self.saved {
            Some(error) => Err(error),
            None => Ok((decoded, self.strict)),
        }
    }

    fn top(&mut self, message: &'static Message) -> Result<Object, Error> {
        let object = match self.scan.value_start()? {
            b'{' => self.object(message, Object::new())?,
            b'n' => {
                self.scan.word()?;
                Object::new()
            }
            c => {
                self.mismatch(kind_of(c), message.go_name.into());
                self.scan.skip()?;
                Object::new()
            }
        };
        self.scan.end()?;
        Ok(object)
    }

    /// Decodes a struct into `object`, which holds members already if the text repeats itself.
    pub(super) fn object(&mut self, message: &'static Message, mut object: Object) -> Result<Object, Error> {
        self.scan.open()?;
        self.room.structure()?;
        let mut seen = Seen { inherited: !object.is_empty(), ..Seen::default() };
        let mut first = true;
        while let Some(name) = self.scan.next_member(first)? {
            first = false;
            self.member(message, name.text(), &mut object, &mut seen)?;
        }
        Ok(object)
    }

    fn member(
        &mut self,
        message: &'static Message,
        name: Cow<'a, str>,
        object: &mut Object,
        seen: &mut Seen,
    ) -> Result<(), Error> {
        if let Some((at, member)) = message.find_member(&name) {
            let again = seen.met.set(at);
            if again {
                self.report(StrictKind::DuplicateField, &name);
            }
            let prior = if again || seen.inherited { object.remove(member.name) } else { None };
            seen.held.clear(at);
            if let (Cardinality::One, Type::String) = (member.field.cardinality, member.field.ty)
                && self.scan.value_start()? == b'"'
            {
                // Most members are texts, and no error of a text names the path.
                let text = self.scan.string()?.text().into_owned();
                seen.put(object, at, &member.field.member, Value::String(text));
                return Ok(());
            }
            self.path.push(Step::Field(message, member.name));
            let value = self.field(member.field, prior)?;
            self.path.pop();
            if let Some(value) = value {
                seen.put(object, at, &member.field.member, value);
            }
            return Ok(());
        }
        match type_meta_member(message, &name) {
            Some((index, name)) => self.type_meta(message, MEMBERS_MAX + index, name, object, seen),
            None if message.open => self.any_member(name, object),
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
        seen: &mut Seen,
    ) -> Result<(), Error> {
        if seen.met.set(index) {
            self.report(StrictKind::DuplicateField, name);
        }
        self.path.push(Step::Field(message, name));
        match self.scan.value_start()? {
            b'"' => {
                let text = self.scan.string()?.text();
                object.insert(Key::const_new(name), Value::String(text.into_owned()));
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

    /// Decodes the value of a field; `None` for Go's zero value. `prior` is what an earlier
    /// occurrence of the member left; Go decodes into it.
    pub(super) fn field(
        &mut self,
        field: &'static Field,
        prior: Option<Value>,
    ) -> Result<Option<Value>, Error> {
        let start = self.scan.value_start()?;
        match (field.cardinality, start) {
            (Cardinality::One, _) => self.one(field, Place::Field, start, prior),
            (_, b'n') => {
                self.scan.word()?;
                Ok(None)
            }
            (Cardinality::List, b'[') => self.list(field, prior).map(Some),
            (Cardinality::Map, b'{') => self.map(field, prior).map(Some),
            (_, c) => {
                self.mismatch(kind_of(c), go_type(field, Place::Field));
                self.scan.skip()?;
                Ok(prior)
            }
        }
    }

    pub(super) fn list(&mut self, field: &'static Field, prior: Option<Value>) -> Result<Value, Error> {
        let mut prior = match prior {
            Some(Value::Array(items)) => items.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut items = Vec::new();
        self.scan.open()?;
        while self.scan.next_item(items.is_empty())? {
            self.room.items(1)?;
            self.path.push(Step::Index(items.len()));
            let start = self.scan.value_start()?;
            let item = self.one(field, Place::Item, start, prior.next())?;
            items.push(item.unwrap_or_else(|| zero(field.ty)));
            self.path.pop();
        }
        Ok(complete(items))
    }

    fn map(&mut self, field: &'static Field, prior: Option<Value>) -> Result<Value, Error> {
        let mut entries = Object::new();
        let mut first = true;
        self.scan.open()?;
        while let Some(key) = self.scan.next_member(first)? {
            first = false;
            let key = key.text();
            if entries.contains_key(&*key) {
                self.report(StrictKind::DuplicateField, &key);
            }
            self.room.entry(entries.len())?;
            self.path.push(Step::Key(key));
            let start = self.scan.value_start()?;
            let value = self.one(field, Place::Item, start, None)?;
            if let Some(Step::Key(key)) = self.path.pop() {
                entries.insert(key, value.unwrap_or_else(|| zero(field.ty)));
            }
        }
        if let Some(Value::Object(mut merged)) = prior {
            merged.extend(entries);
            entries = merged;
        }
        Ok(Value::Object(entries))
    }

    /// Decodes one value of the field's element type, beginning with `start`.
    fn one(
        &mut self,
        field: &'static Field,
        place: Place,
        start: u8,
        prior: Option<Value>,
    ) -> Result<Option<Value>, Error> {
        if start == b'n' && (field.pointer || !matches!(field.ty, Type::Message(_))) {
            self.scan.word()?;
            let kept = !field.pointer && !matches!(field.ty, Type::Bytes | Type::Any);
            return Ok(if kept { prior } else { None });
        }
        match (field.ty, start) {
            (Type::String, b'"') => Ok(Some(Value::String(self.scan.string()?.text().into_owned()))),
            (Type::Bool, b't' | b'f') => {
                self.scan.word()?;
                Ok(Some(Value::Bool(start == b't')))
            }
            (Type::Int32 | Type::Int64 | Type::Double, b'-' | b'0'..=b'9') => self.number(field, place),
            (Type::Bytes, b'"' | b'[') => self.bytes(start),
            (Type::Any, _) => self.any().map(Some),
            (Type::Message(message), _) => self.message(message, field, place, start, prior),
            (_, c) => {
                self.mismatch(kind_of(c), go_type(field, place));
                self.scan.skip()?;
                Ok(prior)
            }
        }
    }

    fn message(
        &mut self,
        message: &'static Message,
        field: &'static Field,
        place: Place,
        start: u8,
        prior: Option<Value>,
    ) -> Result<Option<Value>, Error> {
        match (message.shape, start) {
            (Shape::Struct, b'{') => {
                let prior = match prior {
                    Some(Value::Object(object)) => object,
                    _ => Object::new(),
                };
                self.object(message, prior).map(|object| Some(Value::Object(object)))
            }
            (Shape::Wrapper, b'[') => match message.fields.first() {
                Some(items) => self.list(items, prior).map(Some),
                None => self.scan.skip().map(|_| None),
            },
            (Shape::Struct, b'n') => {
                self.scan.word()?;
                Ok(prior)
            }
            (Shape::Wrapper, b'n') => {
                self.scan.word()?;
                Ok(None)
            }
            (Shape::Struct | Shape::Wrapper, c) => {
                self.mismatch(kind_of(c), go_type(field, place));
                self.scan.skip()?;
                Ok(prior)
            }
            _ => self.shaped(message, field, start, prior),
        }
    }

    /// Decodes as a type with a decoder of its own would: not strict, and its first error final.
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

/// Go's zero value where it cannot be left out.
pub(crate) fn zero(ty: Type) -> Value {
    match ty {
        Type::String | Type::Bytes => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 => Value::from(0),
        Type::Double => Value::from(0.0),
        Type::Any => Value::Null,
        Type::Message(message) => match message.shape {
            Shape::Struct => Value::Object(Object::new()),
            Shape::Quantity => Value::String("0".to_owned()),
            Shape::IntOrString => Value::from(0),
            _ => Value::Null,
        },
    }
}
