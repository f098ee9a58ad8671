//! Typed decoder. It recurses only along the schema and up to a maximum depth.
//!
//! Like upstream's library, the decoder reads rejected items to their end and reports the first error. A
//! duplicate key or an unknown field ends its map and overrides the map's earlier errors.

use std::borrow::Cow;

use apimachinery::go_quote::quote;
use jsontree::Value;

use super::decoder::{Decoder, ExpectedEncoding};
use super::errors::Error;
use super::keys::{EntryError, Key, SeenKeys, find, repeated};
use super::scalar::type_error;
use super::scan::{Major, Remaining, Scanner, too_deep};
use super::{TREE_DEPTH_MAX, leaf};
use crate::json::path::{ValuePosition, go_type};
use crate::json::typed::zero;
use crate::memory::{BudgetExceeded, DecodeBudget, complete};
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// A decoded object, and its strict validation error.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The decoded tree.
    pub object: Object,
    /// The first unknown field; upstream stops there.
    pub strict: Option<Error>,
}

/// Decodes an object of a type. `kind` and `apiVersion` are taken from the bytes.
///
/// # Errors
/// Upstream's errors for invalid or unaccepted CBOR, duplicate keys, values of the wrong type, and invalid
/// texts of leaf types.
pub fn decode(message: &'static Message, bytes: &[u8]) -> Result<Decoded, Error> {
    decode_within(message, bytes, DecodeBudget::UNLIMITED)
}

/// Decodes an object within a memory budget.
///
/// # Errors
/// As for [`decode`], or [`Error::BudgetExceeded`].
pub fn decode_within(
    message: &'static Message,
    bytes: &[u8],
    budget: DecodeBudget,
) -> Result<Decoded, Error> {
    let scan = Scanner::checked(bytes)?;
    match Decoder::new(scan, true, 0).with_budget(budget).decode_root(message) {
        Ok(object) => Ok(Decoded { object, strict: None }),
        Err(unknown @ Error::UnknownField(_)) => {
            let object = Decoder::new(scan, false, 0).with_budget(budget).decode_root(message)?;
            Ok(Decoded { object, strict: Some(unknown) })
        }
        Err(error) => Err(error),
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn decode_root(&mut self, message: &'static Message) -> Result<Object, Error> {
        let object = self.structure(message, message.go_name.into())?;
        match self.afterwards.take() {
            Some(error) => Err(error),
            None => Ok(object),
        }
    }

    /// Decodes a struct; null is an empty struct.
    fn structure(&mut self, message: &'static Message, go_type: Cow<'static, str>) -> Result<Object, Error> {
        self.untagged(|decoder, major| match major {
            Major::Map => decoder.deeper(|decoder| {
                decoder.charge(DecodeBudget::structure)?;
                decoder.members(message)
            }),
            Major::Array => {
                decoder.scan.skip()?;
                let detail = "cannot decode CBOR array to struct without toarray option";
                Err(type_error(major, go_type, detail.to_owned()))
            }
            _ => decoder.skip_mismatch(go_type).map(|()| Object::new()),
        })
    }

    /// Decodes the entries of a map as the members of a struct.
    fn members(&mut self, message: &'static Message) -> Result<Object, Error> {
        let mut object = Object::new();
        let mut seen = SeenKeys::default();
        let mut first = None;
        let mut entries = self.scan.open()?;
        let mut at = 0;
        while self.scan.has_more(&mut entries)? {
            match self.member(message, at, &mut object, &mut seen) {
                Ok(()) => {}
                Err(EntryError::Saved(error)) => {
                    first.get_or_insert(error);
                }
                Err(EntryError::Final(error)) => {
                    self.skip_entries(&mut entries)?;
                    return Err(error);
                }
            }
            at += 1;
        }
        first.map_or(Ok(object), Err)
    }

    fn member(
        &mut self,
        message: &'static Message,
        at: u64,
        object: &mut Object,
        seen: &mut SeenKeys<'a>,
    ) -> Result<(), EntryError> {
        let key = match self.key() {
            Ok(key) => key,
            Err(error) => {
                self.scan.skip()?;
                return Err(EntryError::Saved(error));
            }
        };
        let member_field = match &key {
            Key::Text(name) => std::str::from_utf8(name).ok().and_then(|name| find(message, name)),
            Key::Int(_) => None,
        };
        let Some((name, field)) = member_field else {
            if let (true, Key::Text(name)) = (message.open, &key) {
                let name = String::from_utf8_lossy(name).into_owned();
                seen.mark(key, at)?;
                self.charge(|budget| budget.entry(object.len()))?;
                object.insert(name, self.any()?);
                return Ok(());
            }
            self.scan.skip()?;
            return if self.strict {
                Err(EntryError::Final(Error::UnknownField(at)))
            } else {
                seen.mark(key, at)
            };
        };
        if let Err(repeated) = seen.mark(key, at) {
            self.scan.skip()?;
            return Err(repeated);
        }
        let value = match field {
            Some(field) => self.field(field),
            None => self.text("string".into()).map(|text| text.map(Value::from)),
        };
        if let Some(value) = value.map_err(|error| error.in_field(message.go_name, name))? {
            object.insert(name, value);
        }
        Ok(())
    }

    fn skip_entries(&mut self, entries: &mut Remaining) -> Result<(), Error> {
        while self.scan.has_more(entries)? {
            self.scan.skip()?;
            self.scan.skip()?;
        }
        Ok(())
    }

    /// Decodes the value of a field; `None` for Go's zero value.
    pub(super) fn field(&mut self, field: &'static Field) -> Result<Option<Value>, Error> {
        match field.cardinality {
            Cardinality::One => self.one(field, ValuePosition::Field),
            Cardinality::List => self.list(field, go_type(field, ValuePosition::Field)),
            Cardinality::Map => self.map(field),
        }
    }

    /// Decodes a list of a field's items.
    pub(super) fn list(
        &mut self,
        field: &'static Field,
        go_type: Cow<'static, str>,
    ) -> Result<Option<Value>, Error> {
        self.untagged(|decoder, major| match major {
            Major::Array => decoder.deeper(|decoder| {
                let mut items = Vec::new();
                let mut first = None;
                let mut remaining = decoder.scan.open()?;
                while decoder.scan.has_more(&mut remaining)? {
                    match decoder.item(|decoder| decoder.one(field, ValuePosition::Item)) {
                        Ok(item) => items.push(item.unwrap_or_else(|| empty(field.ty))),
                        Err(error) => {
                            first.get_or_insert(error);
                        }
                    }
                }
                first.map_or(Ok(Some(complete(items))), Err)
            }),
            _ => decoder.skip_mismatch(go_type).map(|()| None),
        })
    }

    fn map(&mut self, field: &'static Field) -> Result<Option<Value>, Error> {
        // The library resets its variable between entries only if its type can contain pointers.
        let initial =
            (!matches!(field.ty, Type::Message(_) | Type::Any | Type::Bytes)).then(|| empty(field.ty));
        let keeps = initial.is_some();
        let value = move |decoder: &mut Self| {
            let value = decoder.one(field, ValuePosition::Item)?;
            Ok(value.or_else(|| (!keeps).then(|| empty(field.ty))))
        };
        self.untagged(|decoder, major| match major {
            Major::Map => decoder.entries(initial, value).map(|entries| Some(Value::Object(entries))),
            _ => decoder.skip_mismatch(go_type(field, ValuePosition::Field)).map(|()| None),
        })
    }

    /// Decodes the entries of a map with text keys. The library reuses its variables: a null key repeats the
    /// previous key, and a null value repeats the previous value, which is initially `kept`, if set.
    pub(super) fn entries(
        &mut self,
        mut previous: Option<Value>,
        mut value: impl FnMut(&mut Self) -> Result<Option<Value>, Error>,
    ) -> Result<Object, Error> {
        self.deeper(|decoder| {
            let mut object = Object::new();
            let mut first = None;
            let mut key = String::new();
            let mut entries = decoder.scan.open()?;
            let mut at = 0_u64;
            while decoder.scan.has_more(&mut entries)? {
                let decoded = match decoder.text("string".into()) {
                    Ok(text) => {
                        key = text.unwrap_or(key);
                        decoder.charge(|budget| budget.entry(object.len())).and_then(|()| value(decoder))
                    }
                    Err(error) => decoder.scan.skip().and(Err(error)),
                };
                match decoded {
                    Ok(value) => {
                        if previous.is_some() && value.is_some() {
                            previous.clone_from(&value);
                        }
                        let value = value.or_else(|| previous.clone()).unwrap_or(Value::Null);
                        if object.insert(key.clone(), value).is_some() {
                            decoder.skip_entries(&mut entries)?;
                            return Err(repeated(&quote(&key), at));
                        }
                    }
                    Err(error) => {
                        first.get_or_insert(error);
                    }
                }
                at += 1;
            }
            first.map_or(Ok(object), Err)
        })
    }

    /// Decodes one value of the field's element type.
    fn one(&mut self, field: &'static Field, position: ValuePosition) -> Result<Option<Value>, Error> {
        if field.pointer && self.scan.at_nil() {
            return self.scan.skip().map(|_| None);
        }
        let named = || go_type(field, position);
        match field.ty {
            Type::String => Ok(self.text(named())?.map(Value::from)),
            Type::Bytes => self.untagged(Self::bytes),
            Type::Bool => self.untagged(|decoder, _| match decoder.scan.peek()? {
                byte @ (0xf4 | 0xf5) => decoder.scan.skip().map(|_| Some(Value::Bool(byte == 0xf5))),
                _ => decoder.skip_mismatch(named()).map(|()| None),
            }),
            Type::Int32 => self.integer(i64::from(i32::MIN)..=i64::from(i32::MAX), named()),
            Type::Int64 => self.integer(i64::MIN..=i64::MAX, named()),
            Type::Double => self.untagged(|decoder, major| decoder.double(major, named())),
            Type::Any => self.any().map(Some),
            Type::Message(message) => match message.shape {
                Shape::Struct => self.structure(message, named()).map(|object| Some(Value::Object(object))),
                Shape::Wrapper => match message.fields.first() {
                    Some(items) => self.list(items, named()),
                    None => self.scan.skip().map(|_| None),
                },
                _ => leaf::decode(self, message, field),
            },
        }
    }

    /// Consumes the tags of the next item and calls `decode` with its major type.
    pub(super) fn untagged<T>(
        &mut self,
        decode: impl FnOnce(&mut Self, Major) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outer_encodings = self.expected_encodings.len();
        let decoded = match self.tags() {
            Ok(()) => {
                let major = self.scan.major()?;
                decode(self, major)
            }
            Err(error) => {
                self.scan.skip()?;
                Err(error)
            }
        };
        self.expected_encodings.truncate(outer_encodings);
        decoded
    }

    fn tags(&mut self) -> Result<(), Error> {
        self.scan.check_tags()?;
        while self.scan.major()? == Major::Tag {
            self.tag()?;
        }
        Ok(())
    }

    pub(super) fn tag(&mut self) -> Result<u64, Error> {
        let tag = self.scan.head()?.value;
        match tag {
            21 => self.expected_encodings.push(ExpectedEncoding::Base64Url),
            22 => self.expected_encodings.push(ExpectedEncoding::Base64),
            23 => self.expected_encodings.push(ExpectedEncoding::Base16),
            _ => {}
        }
        Ok(tag)
    }

    /// Charges the memory budget for the next item, or skips the item.
    fn charge(
        &mut self,
        take: impl FnOnce(&mut DecodeBudget) -> Result<(), BudgetExceeded>,
    ) -> Result<(), Error> {
        match take(&mut self.budget) {
            Ok(()) => Ok(()),
            Err(full) => self.scan.skip().and(Err(full.into())),
        }
    }

    pub(super) fn item<T>(&mut self, decode: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.charge(|budget| budget.items(1))?;
        decode(self)
    }

    /// Decodes one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= TREE_DEPTH_MAX {
            self.scan.skip()?;
            return Err(too_deep(TREE_DEPTH_MAX));
        }
        self.depth += 1;
        let decoded = decode(self);
        self.depth -= 1;
        decoded
    }
}

/// Go's zero value where it cannot be absent; nil bytes differ from empty bytes.
fn empty(ty: Type) -> Value {
    if matches!(ty, Type::Bytes) { Value::Null } else { zero(ty) }
}
