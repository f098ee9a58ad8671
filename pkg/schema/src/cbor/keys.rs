//! Keys of structs: the lookup of fields, and the detection of duplicates.

use std::borrow::Cow;
use std::collections::BTreeSet;

use apimachinery::go_quote::quote;

use super::decoder::Decoder;
use super::errors::Error;
use super::scalar::{type_error, valid};
use super::scan::Major;
use crate::json::path::type_meta_member;
use crate::table::{Field, Message};
use crate::text::go_text;

impl<'a> Decoder<'a> {
    /// Decodes the key of a struct's entry.
    pub(super) fn key(&mut self) -> Result<Key<'a>, Error> {
        let major = self.scan.major()?;
        match major {
            Major::Bytes => Ok(Key::Text(self.scan.string()?.bytes)),
            Major::Text => valid(self.scan.string()?).map(Key::Text),
            Major::Unsigned => Ok(Key::Int(self.scan.head()?.value as i64)),
            Major::Negative => {
                let value = self.scan.head()?.value;
                let detail = || format!("-1-{value} overflows Go's int64");
                let number = i64::try_from(value).map_err(|_| type_error(major, "int64".into(), detail()))?;
                Ok(Key::Int(!number))
            }
            _ => {
                self.scan.skip()?;
                let name = major.name();
                let detail =
                    format!("map key is of type {name} and cannot be used to match struct field name");
                Err(type_error(major, "string".into(), detail))
            }
        }
    }
}

/// The failure of a struct's entry.
pub(super) enum EntryError {
    /// Decoding continues with the next entry; the first such error is returned.
    Saved(Error),
    /// Decoding stops; this error replaces earlier ones.
    Final(Error),
}

impl From<Error> for EntryError {
    fn from(error: Error) -> Self {
        EntryError::Saved(error)
    }
}

/// A key that can name a field, or at least be compared.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Text(Cow<'a, [u8]>),
    Int(i64),
}

/// The keys seen so far.
#[derive(Default)]
pub(super) struct SeenKeys<'a>(BTreeSet<Key<'a>>);

impl<'a> SeenKeys<'a> {
    /// Marks a key at an index.
    ///
    /// # Errors
    /// The key was marked before.
    pub(super) fn mark(&mut self, key: Key<'a>, at: u64) -> Result<(), EntryError> {
        let name = match &key {
            Key::Text(name) if self.0.contains(&key) => quote(&go_text(name)),
            Key::Int(number) if self.0.contains(&key) => number.to_string(),
            _ => {
                self.0.insert(key);
                return Ok(());
            }
        };
        Err(EntryError::Final(repeated(&name, at)))
    }
}

/// Finds a member of a struct: its name in the tables, and its field (`None` for `TypeMeta`).
pub(super) fn find(message: &'static Message, name: &str) -> Option<(&'static str, Option<&'static Field>)> {
    let at = message.members.binary_search_by(|m| m.name.as_bytes().cmp(name.as_bytes()));
    match at.ok().and_then(|at| message.members.get(at)) {
        Some(member) => Some((member.name, Some(member.field))),
        None => type_meta_member(message, name).map(|(_, name)| (name, None)),
    }
}

/// The error for a duplicate key.
pub(super) fn repeated(key: &str, at: u64) -> Error {
    Error::Invalid(format!("found duplicate map key {key} at map element index {at}"))
}
