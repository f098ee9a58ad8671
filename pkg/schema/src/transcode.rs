//! Converts protobuf to JSON without an intermediate tree: stored built-in objects are served this way.
//!
//! The output is identical to that of Go's `encoding/json` for the decoded struct. Each message is scanned
//! once to find its fields, then written in the order of the struct; values are copied from the input, never
//! collected.

mod shapes;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::json_write;
use crate::json_write::typed::member;
use crate::json_write::{write_double, write_string};
use crate::proto::index::{Slot, Slots, each, entry};
use crate::proto::wire::{BYTES, Reader};
use crate::proto::{self, TypeMetaHead, first_error};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Reason for an object that cannot be served as JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The bytes are not a valid message.
    #[error(transparent)]
    Wire(#[from] proto::Error),
    /// The object has a value that JSON cannot represent.
    #[error(transparent)]
    Json(#[from] json_write::Error),
}

/// Appends the JSON of the message `raw`, without a trailing newline.
///
/// `head` is the object's `kind` and `apiVersion`; list items of built-in kinds have none. If
/// `resource_version` is given, it replaces the one in the root's `metadata`.
///
/// # Errors
/// The bytes are not a valid message, or contain a value that JSON cannot represent; `out` is then unchanged.
pub fn to_json(
    message: &'static Message,
    raw: &[u8],
    head: Option<TypeMetaHead>,
    resource_version: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let begin = out.len();
    // A pod's JSON is 1.6 times as long as its protobuf.
    out.reserve(raw.len() / 4 * 7);
    let mut writer = Writer { slots: Slots::default(), out };
    let result = writer.root(message, raw, head, resource_version.map_or(Version::Elsewhere, Version::Root));
    if result.is_err() {
        out.truncate(begin);
    }
    result
}

struct Writer<'o> {
    slots: Slots,
    out: &'o mut Vec<u8>,
}

/// Position of the given resource version.
#[derive(Clone, Copy)]
enum Version<'v> {
    /// None, or not in this message.
    Elsewhere,
    /// This is the root; the version belongs to its `metadata`.
    Root(&'v str),
    /// This is the root's metadata; the version replaces `resourceVersion`.
    Metadata(&'v str),
}

impl Writer<'_> {
    fn root(
        &mut self,
        message: &'static Message,
        raw: &[u8],
        head: Option<TypeMetaHead>,
        version: Version,
    ) -> Result<(), Error> {
        self.out.push(b'{');
        if let Some(head) = head.filter(|_| message.type_meta) {
            for (key, text) in [("\"kind\":", head.kind), ("\"apiVersion\":", head.api_version)] {
                if !text.is_empty() {
                    member(key.as_bytes(), self.out);
                    write_string(text.as_bytes(), self.out);
                }
            }
        }
        self.members(message, raw, version)?;
        self.out.push(b'}');
        Ok(())
    }

    /// Writes the members of a struct, including those of inlined structs.
    fn members(&mut self, message: &'static Message, raw: &[u8], version: Version) -> Result<(), Error> {
        let frame = self.slots.enter(message, raw)?;
        for (at, field) in message.fields.iter().enumerate() {
            let slot = self.slots.get(frame, at);
            match version {
                Version::Metadata(version) if field.name == "resourceVersion" => {
                    member(field.key.as_bytes(), self.out);
                    write_string(version.as_bytes(), self.out);
                }
                Version::Root(version) if field.name == "metadata" => {
                    self.metadata(field, slot, raw, version)?
                }
                _ if slot.count() == 0 => self.absent(field)?,
                _ => self.present(field, slot, raw)?,
            }
        }
        self.slots.leave(frame);
        Ok(())
    }

    fn metadata(
        &mut self,
        field: &'static Field,
        slot: Slot,
        raw: &[u8],
        version: &str,
    ) -> Result<(), Error> {
        let Type::Message(inner) = field.ty else { return Ok(()) };
        member(field.key.as_bytes(), self.out);
        self.out.push(b'{');
        self.members(inner, &slot.message(field, raw)?, Version::Metadata(version))?;
        self.out.push(b'}');
        Ok(())
    }

    /// Writes the zero value of an absent field, unless it is omitted.
    #[inline]
    fn absent(&mut self, field: &'static Field) -> Result<(), Error> {
        // Go's omitempty never omits a struct.
        let nil_able = field.pointer || field.cardinality != Cardinality::One;
        let structured = matches!(field.ty, Type::Message(inner) if inner.shape != Shape::Wrapper);
        if field.omit_zero || field.omit_empty && (nil_able || !structured) {
            return Ok(());
        }
        self.zero(field, nil_able)
    }

    fn zero(&mut self, field: &'static Field, nil_able: bool) -> Result<(), Error> {
        if field.inlined() {
            return match field.ty {
                Type::Message(inner) if !nil_able => self.members(inner, &[], Version::Elsewhere),
                _ => Ok(()),
            };
        }
        member(field.key.as_bytes(), self.out);
        match field.ty {
            _ if nil_able => self.out.extend_from_slice(b"null"),
            Type::String => self.out.extend_from_slice(b"\"\""),
            Type::Bytes | Type::Any => self.out.extend_from_slice(b"null"),
            Type::Bool => self.out.extend_from_slice(b"false"),
            Type::Int32 | Type::Int64 | Type::Double => self.out.push(b'0'),
            Type::Message(inner) => self.message(inner, &[])?,
        }
        Ok(())
    }

    #[inline]
    fn present(&mut self, field: &'static Field, slot: Slot, raw: &[u8]) -> Result<(), Error> {
        match field.cardinality {
            Cardinality::One => match field.ty {
                Type::Message(inner) => self.one_message(field, inner, &slot.message(field, raw)?),
                _ => self.one_scalar(field, slot.value(raw)),
            },
            Cardinality::List => self.list(field, slot.region(raw)),
            Cardinality::Map => {
                member(field.key.as_bytes(), self.out);
                self.map(field, slot.region(raw))
            }
        }
    }

    fn one_scalar(&mut self, field: &'static Field, value: &[u8]) -> Result<(), Error> {
        let omit_zero = field.omit_empty && !field.pointer;
        match field.ty {
            Type::String | Type::Bytes => {
                if !(value.is_empty() && omit_zero) {
                    member(field.key.as_bytes(), self.out);
                    self.text(field.ty, value);
                }
            }
            Type::Double => {
                let value = Reader::new(value).double()?;
                if !(value == 0.0 && omit_zero) {
                    member(field.key.as_bytes(), self.out);
                    write_double(value, self.out)?;
                }
            }
            _ => {
                let value = Reader::new(value).varint()?;
                if !(is_zero(field.ty, value) && omit_zero) {
                    member(field.key.as_bytes(), self.out);
                    self.number(field.ty, value);
                }
            }
        }
        Ok(())
    }

    fn one_message(
        &mut self,
        field: &'static Field,
        inner: &'static Message,
        payload: &[u8],
    ) -> Result<(), Error> {
        if field.inlined() {
            return self.members(inner, payload, Version::Elsewhere);
        }
        let empty = match inner.shape {
            Shape::Wrapper => field.omit_empty && payload.is_empty(),
            Shape::Time | Shape::MicroTime => field.omit_zero && self.instant(inner, payload)?.is_none(),
            _ => false,
        };
        if empty && !field.pointer {
            return Ok(());
        }
        member(field.key.as_bytes(), self.out);
        self.message(inner, payload)
    }

    /// Writes a list that is present. Packed numbers may be empty, and an empty list is nil.
    fn list(&mut self, field: &'static Field, region: &[u8]) -> Result<(), Error> {
        let list_begin = self.out.len();
        member(field.key.as_bytes(), self.out);
        let begin = self.out.len();
        self.elements(field, region)?;
        if self.out.get(begin..) == Some(b"[]") {
            self.out.truncate(list_begin);
            return self.absent(field);
        }
        Ok(())
    }

    /// Writes the elements of a list in brackets.
    fn elements(&mut self, field: &'static Field, region: &[u8]) -> Result<(), Error> {
        self.out.push(b'[');
        let mut first = true;
        each(field, region, |reader, wire_type| {
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            match field.ty {
                Type::Message(inner) => self.element(field, inner, reader.bytes()?)?,
                Type::String | Type::Bytes => self.text(field.ty, reader.bytes()?),
                Type::Double if wire_type != BYTES => write_double(reader.double()?, self.out)?,
                ty if wire_type != BYTES => {
                    let value = reader.varint()?;
                    self.number(ty, value);
                }
                ty => first = self.packed(ty, reader.bytes()?)?,
            }
            Ok::<(), Error>(())
        })?;
        self.out.push(b']');
        Ok(())
    }

    #[inline]
    fn element(
        &mut self,
        field: &'static Field,
        inner: &'static Message,
        payload: &[u8],
    ) -> Result<(), Error> {
        match field.info.item_head {
            Some(_) if inner.type_meta => self.root(inner, payload, field.info.item_head, Version::Elsewhere),
            _ => self.message(inner, payload),
        }
    }

    /// Writes packed numbers, separated by commas; returns true if there are none after the opening bracket.
    fn packed(&mut self, ty: Type, payload: &[u8]) -> Result<bool, Error> {
        let mut packed = Reader::new(payload);
        while !packed.done() {
            match ty {
                Type::Double => write_double(packed.double()?, self.out)?,
                _ => {
                    let value = packed.varint()?;
                    self.number(ty, value);
                }
            }
            self.out.push(b',');
        }
        // The comma after the last number, or one before an empty packed field.
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        Ok(self.out.last() == Some(&b'['))
    }

    /// Writes a map. All known encoders write entries sorted and unique, but this is not required. An entry
    /// that a later one overrides must be a valid message, but need not be representable in JSON.
    fn map(&mut self, field: &'static Field, region: &[u8]) -> Result<(), Error> {
        let start = self.out.len();
        let mut previous: Option<&[u8]> = None;
        let mut ascending = true;
        self.out.push(b'{');
        each(field, region, |reader, _| {
            let (name, value) = entry(reader.bytes()?)?;
            ascending &= previous.is_none_or(|previous| previous < name);
            if ascending {
                if previous.is_some() {
                    self.out.push(b',');
                }
                let mark = self.slots.mark();
                match self.entry(field, name, value) {
                    Err(Error::Json(_)) => {
                        self.slots.rewind(mark);
                        ascending = false;
                    }
                    result => result?,
                }
            }
            previous = Some(name);
            Ok::<(), Error>(())
        })?;
        if !ascending {
            self.out.truncate(start + 1);
            self.unsorted_map(field, region)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Sorts the entries; the last entry of a key wins. The others must be valid messages, too.
    #[cold]
    fn unsorted_map(&mut self, field: &'static Field, region: &[u8]) -> Result<(), Error> {
        let mut entries = std::collections::BTreeMap::new();
        each(field, region, |reader, _| {
            let (name, value) = entry(reader.bytes()?)?;
            if let (Type::Message(inner), Some(overridden)) = (field.ty, entries.insert(name, value)) {
                first_error::check(inner, overridden)?;
            }
            Ok::<(), Error>(())
        })?;
        for (at, (name, value)) in entries.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.entry(field, name, value)?;
        }
        Ok(())
    }

    #[inline]
    fn entry(&mut self, field: &'static Field, name: &[u8], value: &[u8]) -> Result<(), Error> {
        write_string(name, self.out);
        self.out.push(b':');
        match field.ty {
            Type::Message(inner) => self.message(inner, value)?,
            ty => self.text(ty, value),
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, ty: Type, value: &[u8]) {
        match ty {
            Type::Bytes => base64(value, self.out),
            _ => write_string(value, self.out),
        }
    }

    #[inline]
    fn number(&mut self, ty: Type, value: u64) {
        match ty {
            Type::Bool => self.out.extend_from_slice(if value != 0 { b"true" } else { b"false" }),
            Type::Int32 => self.integer(i64::from(value as i32)),
            _ => self.integer(value as i64),
        }
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        json_write::write_integer(value, self.out);
    }
}

fn is_zero(ty: Type, value: u64) -> bool {
    match ty {
        Type::Int32 => value as i32 == 0,
        _ => value == 0,
    }
}

/// Appends bytes as a base64 string.
fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // The buffer has exactly the length of the text.
    let _ = BASE64_STANDARD.encode_slice(bytes, out.get_mut(start..).unwrap_or_default());
    out.push(b'"');
}
