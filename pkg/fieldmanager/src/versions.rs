//! Served versions of a kind, and conversion between them.

use std::borrow::{Borrow, Cow};

use crate::structured_merge::filter::Filter;
use crate::structured_merge::model::TypeRef;
use crate::structured_merge::updater::{ConvertError, Converter};
use crate::structured_merge::{PathElement, Set};
use apimachinery::gvk::split_api_version;
use jsontree::Value;
use schema::json;
use schema::object::Object;
use schema::patch::{self, collapse, expand};
use schema::table::Message;

use super::pending_conversions::PendingConversions;
/// Endpoint in one served version: the properties on which managed fields depend.
pub trait ServedVersion {
    /// `apiVersion` of the bodies (`apps/v1`).
    fn api_version(&self) -> &str;

    /// Kind of the bodies.
    fn kind(&self) -> &str;

    /// Name of the subresource; empty for the main resource.
    fn subresource(&self) -> &str;

    /// Shape of the bodies.
    fn message(&self) -> &'static Message;

    /// Type by which bodies are merged and compared.
    fn merge_type(&self) -> TypeRef<'_>;

    /// Paths that a write through this endpoint ignores, such as `.status`.
    fn reset_fields(&self) -> &[&str];

    /// True if a webhook converts objects to this version.
    fn converts_by_webhook(&self) -> bool;

    /// True if the objects that a merge creates cannot be converted. Upstream's converter of custom resources
    /// accepts a Scale only with Go's type, and a merge creates an untyped object.
    fn rejects_merged(&self) -> bool {
        false
    }

    /// Converts an object between two `apiVersion`s of the kind, in this process.
    fn convert(&self, object: Object, from: &str, to: &str) -> Object;

    /// Normalizes an object of the version `stored` to the form in which it is stored.
    ///
    /// # Errors
    /// Upstream's text: the object cannot be converted.
    fn normalise(&self, stored: &str, object: &mut Object) -> Result<(), ConvertError>;
}

#[derive(Debug)]
struct Version<V> {
    endpoint: V,
    /// Fields that an endpoint of this version writes; `None` for all fields.
    filter: Option<Filter>,
}

impl<V: ServedVersion> Version<V> {
    fn of(endpoint: V) -> Self {
        let filter = filter(endpoint.reset_fields());
        Version { endpoint, filter }
    }

    fn api_version(&self) -> &str {
        self.endpoint.api_version()
    }

    fn message(&self) -> &'static Message {
        self.endpoint.message()
    }
}

/// The served versions of an endpoint.
#[derive(Debug)]
pub(super) struct Versions<V> {
    /// The endpoint's own version.
    endpoint_version: Version<V>,
    other_versions: Vec<Version<V>>,
    /// `apiVersion` of the stored form. All conversions go through it.
    stored: String,
}

impl<V: ServedVersion> Versions<V> {
    /// Creates the versions of an endpoint: its own and `other_versions`.
    pub(super) fn new(endpoint: V, other_versions: impl IntoIterator<Item = V>, stored: &str) -> Self {
        let other_versions = other_versions.into_iter().map(Version::of).collect();
        Versions { endpoint_version: Version::of(endpoint), other_versions, stored: stored.to_owned() }
    }

    pub(super) fn without_reset_fields(mut self) -> Self {
        self.endpoint_version.filter = None;
        self.other_versions.iter_mut().for_each(|version| version.filter = None);
        self
    }

    /// Returns the endpoint in its own version.
    pub(super) fn endpoint(&self) -> &V {
        &self.endpoint_version.endpoint
    }

    fn kind(&self) -> &str {
        self.endpoint().kind()
    }

    fn find(&self, api_version: &str) -> Option<&Version<V>> {
        // A leading slash also means the core group.
        let api_version = api_version.strip_prefix('/').unwrap_or(api_version);
        let mut versions = std::iter::once(&self.endpoint_version).chain(&self.other_versions);
        versions.find(|version| version.api_version() == api_version)
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
            let converted = self.endpoint().convert(object.clone(), &self.stored, version.api_version());
            expand(version.message(), &converted)
        };
        value.map_err(unexpandable)
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
        let mut object = self.endpoint().convert(object, api_version, &self.stored);
        self.endpoint().normalise(&self.stored, &mut object)?;
        Ok(object)
    }
}

/// Versions of a kind, with the conversions by a webhook.
pub(super) struct VersionConverter<'a, V> {
    pub(super) versions: &'a Versions<V>,
    pub(super) outside: Option<&'a PendingConversions>,
}

impl<V: ServedVersion> VersionConverter<'_, V> {
    /// Converts a value with the conversion webhook to the version `to`.
    fn convert_with_webhook(
        &self,
        value: &Value,
        from: &str,
        to: &Version<V>,
    ) -> Result<Value, ConvertError> {
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
        expand(to.message(), &converted).map_err(unexpandable)
    }
}

impl<V: ServedVersion> Converter for VersionConverter<'_, V> {
    fn convert<'v>(&self, value: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        if from == to {
            return Ok(Cow::Borrowed(value));
        }
        let target = self.versions.find(to).ok_or(ConvertError::Missing)?;
        if target.api_version() == from {
            return Ok(Cow::Borrowed(value));
        }
        if target.endpoint.converts_by_webhook() {
            return self.convert_with_webhook(value, from, target).map(Cow::Owned);
        }
        let stored = self.versions.store(self.versions.tree_of(value, from)?, from)?;
        self.versions.value_of(&stored, to).map(Cow::Owned)
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        Some(self.versions.find(api_version)?.endpoint.merge_type())
    }

    fn filter(&self, api_version: &str) -> Option<&Filter> {
        self.versions.find(api_version)?.filter.as_ref()
    }
}

fn unexpandable(error: patch::Error) -> ConvertError {
    match error {
        patch::Error::DoesNotApply(text) | patch::Error::TooLarge(text) => ConvertError::Limit(text),
        error => ConvertError::Failed(error.to_string()),
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
        json::Error::Type(mut mismatch) => {
            // Values that passed the merge only fail in types with a JSON decoder of their own, whose paths start
            // there. Schemas of CRDs have one at `items`.
            if mismatch.struct_name != SCHEMA {
                mismatch.struct_name = "".into();
                mismatch.field.clear();
            } else if let Some((_, inside)) = mismatch.field.rsplit_once(".items.") {
                mismatch.field = inside.to_owned();
            }
            json::Error::Type(mismatch).to_string()
        }
        other => other.to_string(),
    }
}

/// Go type of the schemas of CRDs.
const SCHEMA: &str = "JSONSchemaProps";

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
