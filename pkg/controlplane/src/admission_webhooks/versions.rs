//! Conversion of objects to the versions that webhooks and policies request.

use std::sync::Arc;

use ::api::catalog::{Catalog, Endpoint};
use ::api::resources::{Handle, Resource};
use ::api::tree::text;
use ::kinds::defaults::shares_labels;
use admission::dynamic::{EditedObject, VersionConverter};
use admission::{Attributes, ObjectError};
use apimachinery::status::Status;
use async_trait::async_trait;
use endpoints::routing::served::ServedApi;
use endpoints::versions;
use registry::Registry;
use schema::object::Object;

/// Conversion based on the served catalog.
pub(crate) struct ServedVersions {
    served: Arc<ServedApi>,
    registry: Registry,
}

impl ServedVersions {
    pub(crate) fn new(served: Arc<ServedApi>, registry: Registry) -> Self {
        ServedVersions { served, registry }
    }
}

/// True if a webhook converts the objects of a resource. Within a request they have the request's version.
fn has_conversion_webhook(row: &Resource<'_>) -> bool {
    row.custom.is_some_and(|custom| custom.kind.converts_by_webhook)
}

/// Returns the storage prefix, which all versions of a resource share.
fn storage_prefix<'c>(catalog: &'c Catalog, row: &Resource<'_>) -> Option<&'c str> {
    let main = catalog.find(row.group, row.version, row.plural, "")?;
    main.row.row().storage.as_ref().map(|storage| storage.prefix)
}

#[async_trait]
impl VersionConverter for ServedVersions {
    fn generation(&self) -> u64 {
        self.served.now().number()
    }

    fn equivalents(&self, endpoint: &Resource<'_>) -> Vec<Handle> {
        let now = self.served.now();
        let catalog = &now.catalog;
        let Some(stored_at) = storage_prefix(catalog, endpoint) else { return Vec::new() };
        let is_another = |other: &&Arc<Endpoint>| {
            let other = other.row.row();
            let is_same_resource =
                (other.group_version, other.plural) == (endpoint.group_version, endpoint.plural);
            other.subresource == endpoint.subresource
                && !is_same_resource
                && storage_prefix(catalog, other) == Some(stored_at)
        };
        catalog.endpoints().filter(is_another).map(|other| other.row.clone()).collect()
    }

    async fn to_version(
        &self,
        a: &Attributes<'_>,
        object: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>> {
        if has_conversion_webhook(a.resource) && at.kind == a.resource.kind {
            self.registry.to_version(at, object.clone()).await
        } else {
            Ok(versions::to_endpoint_version(object.clone(), at, a.resource))
        }
    }

    fn to_json(&self, object: &Object, at: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        Ok(versions::to_json(object, at)?)
    }

    async fn parse_json(
        &self,
        a: &Attributes<'_>,
        json: &[u8],
        at: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        let (object, version) =
            versions::from_json(json, at).map_err(|error| ObjectError::Decode(error.into()))?;
        let shares_labels = at.kind == a.resource.kind && shares_labels(&version, at.kind, &object);
        let object = versions::to_storage_version(object, &version, at, a.resource, &self.registry)?;
        let is_of_request = text(&object, "apiVersion") == a.endpoint.kind_group_version;
        if !has_conversion_webhook(a.resource) || at.kind != a.resource.kind || is_of_request {
            return Ok(EditedObject { object, shares_labels });
        }
        let object = self.registry.to_version(a.endpoint, object).await?;
        Ok(EditedObject { object, shares_labels })
    }
}
