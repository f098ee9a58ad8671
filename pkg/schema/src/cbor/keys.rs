//! The keys of structs: which field one names, and whether it was there before.

use std::borrow::Cow;
use std::collections::BTreeSet;

use apimachinery::go_quote::quote;

use super::errors::Error;
use super::scalar::{type_error, valid};
use super::scan::Major;
use super::typed::Decoder;
use crate::json::complaint::type_meta_member;
use crate::table::{Field, Message};
use crate::text::go_text;

impl<'a> Decoder<'a> {
    /// The key of a struct's entry.
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

/// How an entry of a struct fails.
pub(super) enum EntryFailure {
    /// The other entries are read, and this counts if it is the first.
    Saved(Error),
    /// Nothing else counts.
    Final(Error),
}

impl From<Error> for EntryFailure {
    fn from(error: Error) -> Self {
        EntryFailure::Saved(error)
    }
}

/// What can name a field, and what can at least be told apart.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Text(Cow<'a, [u8]>),
    Int(i64),
}

/// The keys that were met.
#[derive(Default)]
pub(super) struct SeenKeys<'a>(BTreeSet<Key<'a>>);

impl<'a> SeenKeys<'a> {
    /// Marks a key at an index.
    ///
    /// # Errors
    /// It was marked before.
    pub(super) fn mark(&mut self, key: Key<'a>, at: u64) -> Result<(), EntryFailure> {
        let name = match &key {
            Key::Text(name) if self.0.contains(&key) => quote(&go_text(name)),
            Key::Int(number) if self.0.contains(&key) => number.to_string(),
            _ => {
                self.0.insert(key);
                return Ok(());
            }
        };
        Err(EntryFailure::Final(repeated(&name, at)))
    }
}

/// The member of a struct: its name as the tables have it, and its field, which `TypeMeta`'s do not have.
pub(super) fn find(message: &'static Message, name: &str) -> Option<(&'static str, Option<&'static Field>)> {
    let at = message.members.binary_search_by(|m| m.name.as_bytes().cmp(name.as_bytes()));
    match at.ok().and_then(|at| message.members.get(at)) {
        Some(member) => Some((member.name, Some(member.field))),
        None => type_meta_member(message, name).map(|(_, name)| (name, None)),
    }
}

/// The error for a key that its map has already.
pub(super) fn repeated(key: &str, at: u64) -> Error {
    Error::Refused(format!("found duplicate map key {key} at map element index {at}"))
}
