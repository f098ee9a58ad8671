//! JSON without a schema: custom resources and patches.

use std::borrow::Cow;
use std::ops::Range;

use apimachinery::strconv::parse_int;
use jsontree::{Value, push_null};

use super::decoder::{Decoder, SkippedObjects};
use super::errors::{Error, StrictError, StrictKind};
use super::leaf::float64;
use super::path::Step;
use super::scan::Scanner;
use super::slot::Slot;
use crate::memory::{DecodeBudget, complete};
use crate::object::Object;

/// A decoded value, and its strict validation errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Untyped {
    /// The value; numbers are `i64` if they are integers in range, otherwise `f64`.
    pub value: Value,
    /// Duplicate members, in the order of the text.
    pub strict: Vec<StrictError>,
}

/// Decodes any JSON value within the memory budget of its length. The last duplicate of a member wins.
///
/// # Errors
/// Invalid syntax, a number beyond the range of a double, or [`Error::BudgetExceeded`].
pub fn decode_untyped(text: &[u8]) -> Result<Untyped, Error> {
    decode_untyped_within(text, DecodeBudget::of_body(text.len()))
}

/// Decodes a value within a memory budget.
///
/// # Errors
/// As for [`decode_untyped`].
pub fn decode_untyped_within(text: &[u8], budget: DecodeBudget) -> Result<Untyped, Error> {
    Decoder { budget, ..Decoder::new(text) }.decode_all()
}

/// Decodes verbatim JSON of a typed tree, where it is inside `levels` objects and lists. No defaults will fill
/// it.
///
/// # Errors
/// As for [`decode_untyped`].
pub(crate) fn decode_verbatim(text: &[u8], levels: usize) -> Result<Value, Error> {
    let budget = DecodeBudget::of_body(text.len());
    let decoder = Decoder { budget, defaults: false, ..Decoder::at(Scanner::inside(text, levels)) };
    decoder.decode_all().map(|untyped| untyped.value)
}

/// The result of [`decode_outline`].
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The value. Skipped objects are replaced by their index.
    pub value: Value,
    /// The ranges of the skipped objects in the text, in order.
    pub skipped: Vec<Range<usize>>,
}

/// Decodes a valid text but skips all objects in members with these names. For readers that need little of a
/// text whose largest part is in such members: only their braces are scanned, so the end of invalid JSON is
/// arbitrary. A number in such a member would look like an index and becomes null.
///
/// # Errors
/// As for [`decode_untyped`]; for skipped objects only if they have no end.
pub fn decode_outline(text: &[u8], names: &'static [&'static str]) -> Result<Outline, Error> {
    let outline = Some(SkippedObjects { names, ranges: Vec::new() });
    let scan = Scanner::for_skipping(text);
    let budget = DecodeBudget::of_body(text.len());
    let mut decoder = Decoder { budget, outline, ..Decoder::at(scan) };
    let value = decoder.read_all()?;
    let skipped = decoder.outline.take().map(|outline| outline.ranges).unwrap_or_default();
    decoder.finish(value).map(|(value, _)| Outline { value, skipped })
}

impl<'a> Decoder<'a> {
    /// Decodes the whole text as one value.
    pub(super) fn decode_all(mut self) -> Result<Untyped, Error> {
        let value = self.read_all()?;
        self.finish(value).map(|(value, strict)| Untyped { value, strict })
    }

    fn read_all(&mut self) -> Result<Value, Error> {
        let mut value = Value::Null;
        self.any(&mut value)?;
        self.scan.end()?;
        Ok(value)
    }

    /// Decodes the next value like Go into an empty interface. The old value of the slot is lost.
    pub(super) fn any(&mut self, slot: &mut Value) -> Result<(), Error> {
        let start = self.scan.value_start()?;
        if self.stays_raw(start) {
            return self.raw_value(Slot::new(slot)).map(drop);
        }
        *slot = match start {
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
        if object.is_empty() && self.defaults {
            self.budget.structure()?;
        }
        Ok(())
    }

    /// Decodes the value of an unknown member into `object`.
    pub(super) fn untyped_member(&mut self, name: Cow<'a, str>, object: &mut Object) -> Result<(), Error> {
        self.budget.entry(object.len())?;
        let (slot, exists) = object.slot(&*name);
        if exists {
            self.report(StrictKind::DuplicateField, &name);
        }
        let outline = self.outline.as_mut().filter(|outline| outline.names.contains(&&*name));
        let is_leaving = outline.is_some();
        if let Some(outline) = outline
            && self.scan.value_start()? == b'{'
        {
            *slot = Value::from(outline.ranges.len());
            outline.ranges.push(self.scan.object()?);
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
            self.budget.items(1)?;
            self.path.push(Step::Index(items.len()));
            self.any(push_null(&mut items))?;
            self.path.pop();
        }
        Ok(complete(items))
    }

    fn any_number(&mut self) -> Result<Value, Error> {
        let text = self.scan.number()?;
        if let Ok(integer) = parse_int(text) {
            return Ok(Value::from(integer));
        }
        let value = float64(text);
        if value.is_none() {
            self.mismatch(format!("number {text}"), Cow::Borrowed("float64"));
        }
        Ok(value.unwrap_or(Value::Null))
    }
}
