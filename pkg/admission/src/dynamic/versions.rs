//! Objects in the versions that webhooks and policies want to see.

use std::borrow::Cow;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

use crate::Attributes;

/// Which resource and kind a webhook or policy is told of.
#[derive(Clone, Default)]
pub struct Invocation {
    /// The same objects at another endpoint; `None` for the one that the request went to.
    pub other: Option<Handle>,
}

impl Invocation {
    /// The endpoint whose resource and kind are told.
    pub fn endpoint<'a>(&'a self, a: &Attributes<'a>) -> &'a Resource<'a> {
        self.other.as_ref().map_or(a.endpoint, Handle::row)
    }
}

/// Knows which endpoints show the same objects, and converts between them.
#[async_trait]
pub trait Versions: Send + Sync + 'static {
    /// Changes whenever [`equivalents`](Self::equivalents) may have changed.
    fn generation(&self) -> u64;

    /// Other endpoints that show the objects of an endpoint, in the order in which they are tried.
    fn equivalents(&self, endpoint: &Resource<'_>) -> Vec<Handle>;

    /// An object as admission has it (see [`Attributes`]), as clients of an endpoint see it.
    ///
    /// # Errors
    /// The Status for the client.
    async fn shown(
        &self,
        a: &Attributes<'_>,
        object: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>>;

    /// The JSON that clients of an endpoint get of an object that [`shown`](Self::shown) returned.
    ///
    /// # Errors
    /// In words, for a tree that is none of its kind.
    fn text(&self, object: &Object, at: &Resource<'_>) -> Result<Vec<u8>, String>;

    /// An object that somebody changed as JSON, as admission has it: with defaults of that version.
    ///
    /// # Errors
    /// In words, for JSON that is no object of the endpoint's kind.
    async fn read(&self, a: &Attributes<'_>, text: &[u8], at: &Resource<'_>) -> Result<EditedObject, String>;
}

/// An object that somebody changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedObject {
    /// As admission has it.
    pub object: Object,
    /// Its labels are those of its pod template ([`kinds::defaults::shares_labels`]).
    pub shares_labels: bool,
}

/// What a webhook or policy sees of a request.
pub struct Versioned<'a> {
    /// The request.
    pub attributes: &'a Attributes<'a>,
    /// The resource and kind that it is told of.
    pub endpoint: &'a Resource<'a>,
    /// What will be written, or the options of a connection; `None` for deletions.
    pub object: Option<Cow<'a, Object>>,
    /// What is there; `None` for creations and connections.
    pub old: Option<Cow<'a, Object>>,
}

impl<'a> Versioned<'a> {
    /// An operation as clients of `endpoint` see it.
    ///
    /// # Errors
    /// The Status for the client, of an object that cannot be converted.
    pub async fn new(
        versions: &dyn Versions,
        attributes: &'a Attributes<'a>,
        endpoint: &'a Resource<'a>,
        object: Option<&'a Object>,
    ) -> Result<Self, Box<Status>> {
        Ok(Versioned {
            attributes,
            endpoint,
            object: shown(versions, attributes, endpoint, object).await?,
            old: shown(versions, attributes, endpoint, attributes.old).await?,
        })
    }
}

async fn shown<'a>(
    versions: &dyn Versions,
    a: &Attributes<'_>,
    endpoint: &Resource<'_>,
    object: Option<&'a Object>,
) -> Result<Option<Cow<'a, Object>>, Box<Status>> {
    let Some(object) = object else { return Ok(None) };
    let (version, kind) = (api::tree::text(object, "apiVersion"), api::tree::text(object, "kind"));
    if (version, kind) == (endpoint.kind_group_version, endpoint.kind) {
        return Ok(Some(Cow::Borrowed(object)));
    }
    versions.shown(a, object, endpoint).await.map(|object| Some(Cow::Owned(object)))
}
