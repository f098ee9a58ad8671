//! Served versions of a kind, and conversion between them.

use std::borrow::{Borrow, Cow};

use apimachinery::gvk::split_api_version;
use jsontree::Value;
use schema::json;
use schema::object::Object;
use schema::patch::{collapse, expand};
use schema::structured_merge::filter::Filter;
use schema::structured_merge::model::{Schema, TypeRef};
use schema::structured_merge::updater::{ConvertError, Converter};
use schema::structured_merge::{PathElement, Set};
use schema::table::Message;

use super::pending_conversions::PendingConversions;
use crate::conversion::{convert, normalise_for_storage};
use crate::resources::{self, Handle, Resource};

#[derive(Debug)]
struct Version {
    row: Handle,
    /// Fields that an endpoint of this version writes; `None` for all fields.
    filter: Option<Filter>,
}

impl Version {
    fn of(row: Handle) -> Self {
        let filter = filter(row.row().reset_fields);
        Version { row, filter }
    }

    fn api_version(&self) -> &str {
        self.row.row().kind_group_version
    }

    fn message(&self) -> &'static Message {
        self.row.row().message
    }
}

/// The versions of the kind of an endpoint.
#[derive(Debug)]
pub(super) struct Versions {
    /// The endpoint's version comes first.
    versions: Vec<Version>,
    /// `apiVersion` of the stored form. All conversions go through it.
    stored: String,
}

/// Iterates over the same subresource in other served versions, for a built-in endpoint. Versions of other
/// groups count only if they are published together with the endpoint's; upstream treats the core group
/// separately.
pub(super) fn others(
    row: &'static Resource<'static>,
    served: impl Fn(&Resource<'_>) -> bool,
) -> impl Iterator<Item = Handle> {
    let others = resources::all().filter(move |other| {
        (other.kind, other.plural, other.subresource) == (row.kind, row.plural, row.subresource)
            && other.kind_group_version != row.kind_group_version
            && other.group.is_empty() == row.group.is_empty()
            && served(other)
    });
    others.map(Handle::from)
}

/// Returns the storage version of a built-in endpoint, or the endpoint's own version if it is not stored.
pub(super) fn stored_version(row: &Resource<'static>) -> &'static str {
    resources::find(row.group, row.version, row.plural, "")
        .and_then(|parent| parent.storage)
        .filter(|storage| storage.kind == row.kind)
        .map_or(row.kind_group_version, |storage| storage.group_version)
}

impl Versions {
    /// Creates the versions of an endpoint's kind: the endpoint's own and `others`.
    pub(super) fn new(row: Handle, others: impl IntoIterator<Item = Handle>, stored: &str) -> Self {
        let versions = std::iter::once(row).chain(others).map(Version::of).collect();
        Versions { versions, stored: stored.to_owned() }
    }

    fn kind(&self) -> &str {
        self.versions.first().map_or("", |version| version.row.row().kind)
    }

    fn find(&self, api_version: &str) -> Option<&Version> {
        // A leading slash also means the core group.
        let api_version = api_version.strip_prefix('/').unwrap_or(api_version);
        self.versions.iter().find(|version| version.api_version() == api_version)
    }

    pub(super) fn stored(&self) -> &str {
        &self.stored
    }

    /// Converts a tree in the stored form to a value in a version.
    pub(super) fn value_of(&self, object: &Object, api_version: &str) -> Result<Value, ConvertError> {
        let version = self.find(api_version).ok_or(ConvertError::Missing)?;
        let value = if version.api_version() == self.stored {
            expand(version.message(), object)
        } else {
            let converted = convert(object.clone(), &self.stored, version.api_version(), self.kind());
            expand(version.message(), &converted)
        };
        value.map_err(|error| ConvertError::Failed(error.to_string()))
    }

    /// Converts a value to a tree in a version.
    pub(super) fn tree_of(
        &self,
        value: impl Borrow<Value>,
        api_version: &str,
    ) -> Result<Object, ConvertError> {
        let version = self.find(api_version).ok_or(ConvertError::Missing)?;
        collapse(version.message(), value).map(|decoded| decoded.object).map_err(|error| {
            let kind = kind_text(api_version, self.kind());
            let error = from_unstructured(error);
            ConvertError::Failed(format!("unable to convert unstructured object to {kind}: {error}"))
        })
    }

    /// Converts a tree in a version to the stored form.
    pub(super) fn store(&self, object: Object, api_version: &str) -> Result<Object, ConvertError> {
        let mut object = convert(object, api_version, &self.stored, self.kind());
        let (group, _) = split_api_version(&self.stored);
        normalise_for_storage(group, self.kind(), &mut object)
            .map_err(|error| ConvertError::Failed(error.to_string()))?;
        Ok(object)
    }
}

/// Versions of a kind, with the conversions by a webhook.
pub(super) struct VersionConverter<'a> {
    pub(super) versions: &'a Versions,
    pub(super) outside: Option<&'a PendingConversions>,
}

impl VersionConverter<'_> {
    /// Converts a value with the conversion webhook to the version `to`.
    fn ask(&self, value: &Value, from: &str, to: &Version) -> Result<Value, ConvertError> {
        let mut object = self.versions.tree_of(value, from)?;
        let converted = match self.outside {
            // An object without fields is the same in all versions, as in upstream.
            _ if object.len() <= 2 => {
                object.insert("apiVersion", to.api_version().into());
                object
            }
            Some(outside) => outside.convert(object, to.api_version())?,
            None => return Err(ConvertError::Missing),
        };
        expand(to.message(), &converted).map_err(|error| ConvertError::Failed(error.to_string()))
    }
}

impl Converter for VersionConverter<'_> {
    fn convert<'v>(&self, value: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        if from == to {
            return Ok(Cow::Borrowed(value));
        }
        let target = self.versions.find(to).ok_or(ConvertError::Missing)?;
        if target.api_version() == from {
            return Ok(Cow::Borrowed(value));
        }
        let row = target.row.row();
        if row.message.open && row.custom.is_some_and(|custom| custom.kind.converts_by_webhook) {
            return self.ask(value, from, target).map(Cow::Owned);
        }
        let stored = self.versions.store(self.versions.tree_of(value, from)?, from)?;
        self.versions.value_of(&stored, to).map(Cow::Owned)
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        let row = self.versions.find(api_version)?.row.row();
        Some(if !row.message.open {
            TypeRef::builtin(row.message)
        } else {
            let schema = row.custom.and_then(|custom| custom.version.merge());
            schema.map_or(TypeRef::DEDUCED, Schema::type_ref)
        })
    }

    fn filter(&self, api_version: &str) -> Option<&Filter> {
        self.versions.find(api_version)?.filter.as_ref()
    }
}

/// Returns upstream's error for converting a non-text value to a struct, where it differs from decoding.
fn from_unstructured(error: json::Error) -> String {
    match error {
        json::Error::Value(text) if text.starts_with("illegal base64 data") => {
            format!("error decoding from json: {text}")
        }
        json::Error::Type(mismatch) if mismatch.value.starts_with("number ") => {
            format!("cannot convert float64 to {}", mismatch.go_type)
        }
        other => other.to_string(),
    }
}

/// Returns a kind in upstream's format: `apps/v1, Kind=Deployment`, with an empty name for the core group.
pub(super) fn kind_text(api_version: &str, kind: &str) -> String {
    let (group, version) = split_api_version(api_version);
    format!("{group}/{version}, Kind={kind}")
}

/// Returns a filter that excludes these paths, which have the form `.spec.replicas`.
fn filter(reset_fields: &[&str]) -> Option<Filter> {
    let mut set = Set::new();
    for path in reset_fields {
        let elements: Vec<PathElement> = path.split('.').skip(1).map(PathElement::field).collect();
        set.insert(&elements);
    }
    (!set.is_empty()).then_some(Filter::Exclude(set))
}
