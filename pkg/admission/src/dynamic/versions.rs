//! Conversion of objects to the versions that webhooks and policies request.

use std::borrow::Cow;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

use crate::{Attributes, ObjectError};

/// The resource and kind that a webhook or policy sees.
#[derive(Clone, Default)]
pub struct Invocation {
    /// An equivalent endpoint; `None` for the endpoint of the request.
    pub equivalent: Option<Handle>,
}

impl Invocation {
    /// Returns the endpoint whose resource and kind are shown.
    pub fn endpoint<'a>(&'a self, a: &Attributes<'a>) -> &'a Resource<'a> {
        self.equivalent.as_ref().map_or(a.endpoint, Handle::row)
    }
}

/// Finds equivalent endpoints and converts objects between their versions.
#[async_trait]
pub trait VersionConverter: Send + Sync + 'static {
    /// Changes whenever [`equivalents`](Self::equivalents) may have changed.
    fn generation(&self) -> u64;

    /// Returns the other endpoints for the same objects, in the order of preference.
    fn equivalents(&self, endpoint: &Resource<'_>) -> Vec<Handle>;

    /// Converts an object from its admission shape (see [`Attributes`]) to the version of an endpoint.
    ///
    /// # Errors
    /// The Status for the client.
    async fn to_version(
        &self,
        a: &Attributes<'_>,
        object: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>>;

    /// Serializes an object that [`to_version`](Self::to_version) returned, as JSON for clients of the endpoint.
    ///
    /// # Errors
    /// The tree is not a valid object of its kind.
    fn to_json(&self, object: &Object, at: &Resource<'_>) -> Result<Vec<u8>, ObjectError>;

    /// Parses JSON that a webhook or policy has edited into the admission shape, with the defaults of that
    /// version.
    ///
    /// # Errors
    /// The JSON is not a valid object of the endpoint's kind.
    async fn parse_json(
        &self,
        a: &Attributes<'_>,
        text: &[u8],
        at: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError>;
}

/// An object after an edit by a webhook or policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedObject {
    /// The object in admission shape.
    pub object: Object,
    /// Its labels are those of its pod template ([`kinds::defaults::shares_labels`]).
    pub shares_labels: bool,
}

/// A request in the version that a webhook or policy sees.
pub struct VersionedAttributes<'a> {
    pub attributes: &'a Attributes<'a>,
    /// The endpoint whose resource and kind are shown.
    pub endpoint: &'a Resource<'a>,
    /// The object to be written, or the options of a connection; `None` for deletions.
    pub object: Option<Cow<'a, Object>>,
    /// The stored object; `None` for creations and connections.
    pub old: Option<Cow<'a, Object>>,
}

impl<'a> VersionedAttributes<'a> {
    /// Converts an operation to the version of `endpoint`.
    ///
    /// # Errors
    /// The Status for the client if an object cannot be converted.
    pub async fn new(
        versions: &dyn VersionConverter,
        attributes: &'a Attributes<'a>,
        endpoint: &'a Resource<'a>,
        object: Option<&'a Object>,
    ) -> Result<Self, Box<Status>> {
        Ok(VersionedAttributes {
            attributes,
            endpoint,
            object: convert_optional(versions, attributes, endpoint, object).await?,
            old: convert_optional(versions, attributes, endpoint, attributes.old).await?,
        })
    }
}

async fn convert_optional<'a>(
    versions: &dyn VersionConverter,
    a: &Attributes<'_>,
    endpoint: &Resource<'_>,
    object: Option<&'a Object>,
) -> Result<Option<Cow<'a, Object>>, Box<Status>> {
    let Some(object) = object else { return Ok(None) };
    let version = api::tree::text(object, "apiVersion");
    let kind = api::tree::text(object, "kind");
    if (version, kind) == (endpoint.kind_group_version, endpoint.kind) {
        return Ok(Some(Cow::Borrowed(object)));
    }
    versions.to_version(a, object, endpoint).await.map(|object| Some(Cow::Owned(object)))
}
