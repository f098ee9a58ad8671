//! Stored objects as admission asks for them.

use std::sync::Arc;

use admission::Objects;
use api::options::ListOptions;
use api::resources::Resource;
use apimachinery::status::Status;
use async_trait::async_trait;
use registry::{Element, Registry, StoredRef, Target, codec};
use schema::object::Object;

/// Looks objects up through the registry.
pub(crate) struct StoredObjects(pub(crate) Registry);

impl StoredObjects {
    async fn look_up(
        &self,
        row: &'static Resource,
        namespace: &str,
        name: &str,
        resource_version: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        match self.0.get(&Target { row, namespace, name }, resource_version).await {
            Ok(stored) => decoded(row, &stored).map(Some),
            Err(status) if status.reason == "NotFound" => Ok(None),
            Err(status) => Err(status),
        }
    }
}

fn decoded(row: &Resource, element: &Element) -> Result<Arc<Object>, Box<Status>> {
    let storage = row.storage.as_ref().ok_or_else(|| Status::internal_error("nothing stores this"))?;
    let object = codec::decode(storage, StoredRef::element(element)).map_err(Status::internal_error)?;
    Ok(Arc::new(object))
}

#[async_trait]
impl Objects for StoredObjects {
    async fn cached(
        &self,
        row: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        self.look_up(row, namespace, name, "0").await
    }

    async fn get(
        &self,
        row: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        self.look_up(row, namespace, name, "").await
    }

    async fn list(&self, row: &'static Resource, namespace: &str) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let options = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
        let page = self.0.list(&Target { row, namespace, name: "" }, &options).await?;
        page.items.iter().map(|item| decoded(row, &item)).collect()
    }
}
