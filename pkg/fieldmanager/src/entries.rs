//! Codec of `metadata.managedFields`: entries to sets of paths by manager, and back.
//!
//! A manager has an identifier: the JSON text of the properties that distinguish its entry. The identifier
//! never leaves the server, but its order decides which of two entries with the same second counts as older.

use std::collections::BTreeMap;

use super::structured_merge::updater::{Managers, VersionedSet};
use super::structured_merge::{FieldsError, Set};
use apimachinery::go_quote::quote;
use apimachinery::time::{UnixTime, parse_time};
use jsontree::Value;
use schema::json_write::write_string;
use schema::object::{self, Object};

const FIELDS_V1: &str = "FieldsV1";

/// Error of a managed fields entry, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// An unknown operation.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    NoVersion,
    /// No format of the fields.
    #[error("missing fieldsType in managed fields entry {index}")]
    NoFieldsType {
        /// Position of the entry.
        index: usize,
    },
    /// An unknown format of the fields.
    #[error("invalid fieldsType {} in managed fields entry {index}", quote(.fields_type))]
    FieldsType {
        /// Position of the entry.
        index: usize,
        /// The unknown format.
        fields_type: String,
    },
    /// Invalid fields.
    #[error("error decoding versioned set from {manager}: error decoding set: {source}")]
    Fields {
        /// Name of the manager.
        manager: String,
        /// Reason.
        source: FieldsError,
    },
}

/// Operation by which a manager owns its fields, in the order of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Properties of an entry besides its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    /// Empty for the main resource.
    pub(super) subresource: String,
    /// Time of the last change; an apply without changes has none.
    pub(super) time: Option<UnixTime>,
    /// Text of the fields as the server stored it; valid until the fields change.
    pub(super) written: Option<String>,
}

impl Origin {
    /// Returns the identifier. It includes the version of an updater, but not of an applier.
    pub(super) fn identifier(&self) -> String {
        let version = if self.operation == Operation::Apply { "" } else { self.api_version.as_str() };
        let members = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", version),
            ("subresource", &self.subresource),
        ];
        let mut json = Vec::with_capacity(96);
        for (name, value) in members.into_iter().filter(|(_, value)| !value.is_empty()) {
            json.push(if json.is_empty() { b'{' } else { b',' });
            write_string(name.as_bytes(), &mut json);
            json.push(b':');
            write_string(value.as_bytes(), &mut json);
        }
        json.push(b'}');
        String::from_utf8_lossy(&json).into_owned()
    }

    /// The sort key of the stored entry, whose fields have this version.
    fn place<'e>(&'e self, api_version: &'e str) -> Place<'e> {
        let Origin { operation, time, manager, subresource, .. } = self;
        let seconds = time.map_or(0, |time| time.seconds);
        Place { operation: *operation, seconds, manager, api_version, subresource }
    }
}

/// Fields by manager identifier.
#[derive(Debug, Clone, Default)]
pub(super) struct Managed {
    pub(super) sets: Managers,
    /// Origins of all managers in `sets`, and possibly of removed ones.
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Managed {
    /// Decodes entries from any source.
    ///
    /// # Errors
    /// Upstream's text about the first invalid entry.
    pub(super) fn decode(entries: &[Value]) -> Result<Self, EntryError> {
        let mut managed = Managed::decode_stored(entries)?;
        managed.origins.values_mut().for_each(|origin| origin.written = None);
        Ok(managed)
    }

    /// Decodes entries that a server wrote. Unchanged entries then keep their text and need no encoding.
    ///
    /// # Errors
    /// The errors of [`decode`](Self::decode).
    pub(super) fn decode_stored(entries: &[Value]) -> Result<Self, EntryError> {
        let mut managed = Managed::default();
        for (index, entry) in entries.iter().enumerate() {
            let (origin, set) = decode_entry(index, entry)?;
            let identifier = origin.identifier();
            let applied = origin.operation == Operation::Apply;
            let api_version = origin.api_version.as_str().into();
            let set = VersionedSet { set, api_version, applied, changed: false };
            managed.sets.insert(identifier.clone(), set);
            managed.origins.insert(identifier, origin);
        }
        Ok(managed)
    }

    /// Encodes the entries in the order of their [`Place`].
    pub(super) fn encode(&self) -> Vec<Value> {
        let mut entries: Vec<(&Origin, &VersionedSet)> =
            self.sets.iter().filter_map(|(id, set)| Some((self.origins.get(id)?, set))).collect();
        entries
            .sort_by(|(a, a_set), (b, b_set)| a.place(&a_set.api_version).cmp(&b.place(&b_set.api_version)));
        entries.into_iter().map(|(origin, set)| encode_entry(origin, set)).collect()
    }
}

/// Sort key of stored entries: appliers first, then by time and name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place<'e> {
    operation: Operation,
    seconds: i64,
    manager: &'e str,
    api_version: &'e str,
    subresource: &'e str,
}

/// A managed fields entry whose fields are not decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndecodedEntry<'e> {
    pub(super) entry: &'e Object,
    pub(super) manager: &'e str,
    pub(super) operation: Operation,
    pub(super) api_version: &'e str,
    /// Empty for the main resource.
    pub(super) subresource: &'e str,
    pub(super) time: Option<UnixTime>,
    /// FieldsV1 text.
    pub(super) fields: &'e str,
}

impl<'e> UndecodedEntry<'e> {
    /// Reads the entry at `index`.
    ///
    /// # Errors
    /// Upstream's text about its properties.
    pub(super) fn of(index: usize, entry: &'e Value) -> Result<Self, EntryError> {
        const ABSENT: &Object = &Object::new();
        let entry = entry.as_object().unwrap_or(ABSENT);
        let operation = match text(entry, "operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(EntryError::Operation),
        };
        if text(entry, "apiVersion").is_empty() {
            return Err(EntryError::NoVersion);
        }
        match text(entry, "fieldsType") {
            FIELDS_V1 => {}
            "" => return Err(EntryError::NoFieldsType { index }),
            other => return Err(EntryError::FieldsType { index, fields_type: other.to_owned() }),
        }
        Ok(UndecodedEntry {
            entry,
            manager: text(entry, "manager"),
            operation,
            api_version: text(entry, "apiVersion"),
            subresource: text(entry, "subresource"),
            time: entry.get("time").and_then(Value::as_str).and_then(|time| parse_time(time).ok()),
            fields: entry.get("fieldsV1").and_then(Value::as_str).unwrap_or("{}"),
        })
    }

    /// The sort key of the stored entry.
    pub(super) fn place(&self) -> Place<'e> {
        let UndecodedEntry { operation, time, manager, api_version, subresource, .. } = *self;
        Place { operation, seconds: time.map_or(0, |time| time.seconds), manager, api_version, subresource }
    }

    /// True if encoding the decoded entry results in the same members.
    pub(super) fn is_normal(&self) -> bool {
        self.entry.iter().all(|(name, value)| match name.as_str() {
            "time" => self.time.is_some_and(|time| *value == time.rfc3339().to_string()),
            "apiVersion" | "fieldsType" | "fieldsV1" | "operation" | "manager" | "subresource" => {
                value.as_str().is_some_and(|text| !text.is_empty())
            }
            _ => false,
        })
    }

    /// True if both entries have the same manager, operation and subresource.
    pub(super) fn has_owner_of(&self, other: &Self) -> bool {
        (self.operation, self.manager, self.subresource)
            == (other.operation, other.manager, other.subresource)
    }

    /// Returns the entry with the current time.
    pub(super) fn into_value(self) -> Value {
        let mut entry = self.entry.clone();
        if let Some(time) = self.time {
            entry.insert("time", Value::from(time.rfc3339().to_string()));
        }
        Value::Object(entry)
    }
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Origin, Set), EntryError> {
    let entry = UndecodedEntry::of(index, entry)?;
    let set = Set::parse(entry.fields.as_bytes())
        .map_err(|source| EntryError::Fields { manager: entry.manager.to_owned(), source })?;
    let origin = Origin {
        manager: entry.manager.to_owned(),
        operation: entry.operation,
        api_version: entry.api_version.to_owned(),
        subresource: entry.subresource.to_owned(),
        time: entry.time,
        written: Some(entry.fields.to_owned()),
    };
    Ok((origin, set))
}

fn encode_entry(origin: &Origin, set: &VersionedSet) -> Value {
    let fields = match &origin.written {
        Some(text) if !set.changed => text.clone(),
        _ => {
            let mut fields = Vec::with_capacity(256);
            set.set.write(&mut fields);
            String::from_utf8(fields).unwrap_or_default()
        }
    };
    let operation = if set.applied { Operation::Apply } else { origin.operation };
    let mut entry = Object::new();
    let mut insert = |name: &str, value: String| drop(entry.insert(name, Value::from(value)));
    insert("apiVersion", set.api_version.to_string());
    insert("fieldsType", FIELDS_V1.to_owned());
    insert("fieldsV1", fields);
    insert("operation", operation.as_str().to_owned());
    if !origin.manager.is_empty() {
        insert("manager", origin.manager.clone());
    }
    if !origin.subresource.is_empty() {
        insert("subresource", origin.subresource.clone());
    }
    if let Some(time) = origin.time {
        insert("time", time.rfc3339().to_string());
    }
    Value::Object(entry)
}

/// Returns the entries of an object, or `None` if it has none. An empty list is different.
pub(super) fn of(object: &Object) -> Option<&[Value]> {
    object::get(object, &["metadata", "managedFields"])?.as_array().map(Vec::as_slice)
}

/// True if the entries request to remove all managers: an empty list, or one empty entry.
pub(super) fn is_reset(entries: Option<&[Value]>) -> bool {
    match entries {
        Some([]) => true,
        Some([Value::Object(only)]) => {
            only.values().all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty))
        }
        _ => false,
    }
}

/// Sets the entries of an object; an empty list removes the member.
pub(super) fn set(object: &mut Object, entries: Vec<Value>) {
    if entries.is_empty() {
        remove(object);
    } else {
        object::set(object, &["metadata", "managedFields"], entries);
    }
}

/// Takes the managed fields from an object.
pub(super) fn take(object: &mut Object) -> Option<Vec<Value>> {
    match object::remove(object, &["metadata", "managedFields"]) {
        Some(Value::Array(entries)) => Some(entries),
        _ => None,
    }
}

/// Removes the managed fields of an object. Upstream does this to shrink an object that is too large to
/// store.
pub fn remove(object: &mut Object) {
    object::remove(object, &["metadata", "managedFields"]);
}

/// Checks that the managed fields of an object can be parsed. An admission plugin may have broken them.
///
/// # Errors
/// Upstream's text about the first invalid entry.
pub fn check(object: &Object) -> Result<(), EntryError> {
    Managed::decode(of(object).unwrap_or_default()).map(drop)
}

/// Returns the warning for reverted admission changes to managed fields; `error` is the result of [`check`].
pub fn warning_after_admission(error: &EntryError) -> String {
    format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {error}"
    )
}

/// Returns a string member; empty when absent.
fn text<'o>(object: &'o Object, name: &str) -> &'o str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
