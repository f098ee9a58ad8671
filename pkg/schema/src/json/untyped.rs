//! JSON without a schema: custom resources and patches.

use std::borrow::Cow;
use std::ops::Range;

use apimachinery::strconv::parse_int;
use jsontree::{Value, push_null};

use super::complaint::Step;
use super::errors::{Error, StrictError, StrictKind};
use super::leaf::float64;
use super::scan::Scanner;
use super::slot::Slot;
use super::typed::Decoder;
use crate::memory::{DecodeBudget, complete};
use crate::object::Object;

/// A value and what strict validation has to say about its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Untyped {
    /// The value; numbers are `i64` where they are whole and fit, else `f64`.
    pub value: Value,
    /// Repeated members, in the order of the text.
    pub strict: Vec<StrictError>,
}

/// Decodes any JSON value, in the room that its text may ask for. Of a repeated member the last counts.
///
/// # Errors
/// Bad syntax, a number beyond the range of a double, or [`Error::NoRoom`].
pub fn decode_untyped(text: &[u8]) -> Result<Untyped, Error> {
    decode_untyped_within(text, DecodeBudget::of_body(text.len()))
}

/// Decodes a value that may take so much memory.
///
/// # Errors
/// As [`decode_untyped`].
pub fn decode_untyped_within(text: &[u8], room: DecodeBudget) -> Result<Untyped, Error> {
    Decoder { room, ..Decoder::new(text) }.decode_all()
}

/// What [`decode_outline`] reads of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The value. In the place of an object that was left stands its number among those.
    pub value: Value,
    /// Where the objects are in the text that were left, in order.
    pub left: Vec<Range<usize>>,
}

/// Decodes a value that was read before, but leaves the objects in members that have one of these names, wherever they
/// are. For who wants little of a text of which most is in such members: only their braces are looked at, so what is no
/// JSON may end anywhere. A number in such a member, which would be taken for one of ours, becomes null.
///
/// # Errors
/// As [`decode_untyped`]; within what is left, that it does not end.
pub fn decode_outline(text: &[u8], names: &'static [&'static str]) -> Result<Outline, Error> {
    let outline = Some(SkippedObjects { names, left: Vec::new() });
    let (scan, room) = (Scanner::for_skipping(text), DecodeBudget::of_body(text.len()));
    let mut decoder = Decoder { room, outline, ..Decoder::at(scan) };
    let value = decoder.read_all()?;
    let left = decoder.outline.take().map(|outline| outline.left).unwrap_or_default();
    decoder.finish(value).map(|(value, _)| Outline { value, left })
}

/// Which objects are not decoded.
pub(super) struct SkippedObjects {
    /// They are in members with these names.
    names: &'static [&'static str],
    /// Where those are that were met.
    left: Vec<Range<usize>>,
}

impl<'a> Decoder<'a> {
    /// Decodes the one value that is all of the text.
    fn decode_all(mut self) -> Result<Untyped, Error> {
        let value = self.read_all()?;
        self.finish(value).map(|(value, strict)| Untyped { value, strict })
    }

    fn read_all(&mut self) -> Result<Value, Error> {
        let mut value = Value::Null;
        self.any(&mut value)?;
        self.scan.end()?;
        Ok(value)
    }

    /// Decodes the value that comes next as Go decodes into an empty interface. What was in the slot is lost.
    pub(super) fn any(&mut self, slot: &mut Value) -> Result<(), Error> {
        *slot = match self.scan.value_start()? {
            b'{' => return Slot::new(slot).into_object().map_or(Ok(()), |object| self.any_object(object)),
            b'[' => self.any_list()?,
            b'"' => Value::String(self.scan.string()?.into_text()),
            b'n' => self.scan.word().map(|()| Value::Null)?,
            start @ (b't' | b'f') => self.scan.word().map(|()| Value::Bool(start == b't'))?,
            _ => self.any_number()?,
        };
        Ok(())
    }

    fn any_object(&mut self, object: &mut Object) -> Result<(), Error> {
        self.scan.open()?;
        let mut first = true;
        while let Some(name) = self.scan.next_member(first)? {
            first = false;
            self.untyped_member(name.text(), object)?;
        }
        if object.is_empty() {
            self.room.structure()?;
        }
        Ok(())
    }

    /// Decodes the value of a member that no schema knows into `object`.
    pub(super) fn untyped_member(&mut self, name: Cow<'a, str>, object: &mut Object) -> Result<(), Error> {
        self.room.entry(object.len())?;
        let (slot, there) = object.slot(&*name);
        if there {
            self.report(StrictKind::DuplicateField, &name);
        }
        let outline = self.outline.as_mut().filter(|outline| outline.names.contains(&&*name));
        let is_leaving = outline.is_some();
        if let Some(outline) = outline
            && self.scan.value_start()? == b'{'
        {
            *slot = Value::from(outline.left.len());
            outline.left.push(self.scan.object()?);
            return Ok(());
        }
        self.path.push(Step::Key(name));
        self.any(slot)?;
        self.path.pop();
        if is_leaving && slot.is_number() {
            *slot = Value::Null;
        }
        Ok(())
    }

    fn any_list(&mut self) -> Result<Value, Error> {
        self.scan.open()?;
        let mut items = Vec::new();
        while self.scan.next_item(items.is_empty())? {
            self.room.items(1)?;
            self.path.push(Step::Index(items.len()));
            self.any(push_null(&mut items))?;
            self.path.pop();
        }
        Ok(complete(items))
    }

    fn any_number(&mut self) -> Result<Value, Error> {
        let text = self.scan.number()?;
        if let Ok(whole) = parse_int(text) {
            return Ok(Value::from(whole));
        }
        let value = float64(text);
        if value.is_none() {
            self.mismatch(format!("number {text}"), Cow::Borrowed("float64"));
        }
        Ok(value.unwrap_or(Value::Null))
    }
}
