//! Interfaces of plugins to stored objects: look-ups, and the few writes.

use crate::Verdict;
use std::sync::Arc;

use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::names;
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

/// Stored objects, in the shape of their storage version.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Returns an object from the watch cache. `None` if the cache does not have it, for example because it
    /// is too new.
    ///
    /// # Errors
    /// Errors of storage.
    async fn cached(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// Returns an object from storage itself, not from the watch cache.
    ///
    /// # Errors
    /// A name that no object can have; errors of storage.
    async fn get(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// Returns all objects of a namespace from the watch cache, ordered by name. An empty namespace means all
    /// namespaces.
    ///
    /// # Errors
    /// Errors of storage.
    async fn list(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
    ) -> Result<Vec<Arc<Object>>, Box<Status>>;

    /// Returns an object from the watch cache, or from storage if the cache does not have it. `None` for a name that no
    /// object can have.
    ///
    /// # Errors
    /// Errors of storage.
    async fn find(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        if name.is_empty() || !names::name_is_path_segment(name, false).is_empty() {
            return Ok(None);
        }
        match self.cached(row, namespace, name).await? {
            None => self.get(row, namespace, name).await,
            found => Ok(found),
        }
    }
}

/// Writes that plugins make on behalf of the server. They bypass admission.
#[async_trait]
pub trait Writes: Send + Sync + 'static {
    /// Creates an object.
    ///
    /// # Errors
    /// Errors of any client request; 409 if the object exists.
    async fn create(&self, row: &'static Resource<'static>, object: Object) -> Verdict;

    /// Replaces the status of an object and returns the new object. `object` must have the current resource
    /// version.
    ///
    /// # Errors
    /// Errors of any client request; 409 if the object has changed.
    async fn replace_status(
        &self,
        row: &'static Resource<'static>,
        object: Object,
    ) -> Result<Object, Box<Status>>;
}

/// Builds the 404 for a failed look-up.
pub(crate) fn not_found(row: &Resource, name: &str) -> Box<Status> {
    Status::not_found(&GroupResource::new(row.group, row.plural), name).into()
}
