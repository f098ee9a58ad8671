//! What plugins look up, and the little that they write.

use crate::Verdict;
use std::sync::Arc;

use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

/// Stored objects, in the shape of their storage version.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// An object from the watch cache; `None` if that does not know it, which may be because it is new.
    ///
    /// # Errors
    /// Storage's failures.
    async fn cached(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// An object as fresh as storage has it.
    ///
    /// # Errors
    /// Storage's failures.
    async fn get(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// All objects of a namespace (of all namespaces if empty) from the watch cache, by name.
    ///
    /// # Errors
    /// Storage's failures.
    async fn list(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
    ) -> Result<Vec<Arc<Object>>, Box<Status>>;

    /// An object from the watch cache, or if that does not know it, as fresh as storage has it.
    ///
    /// # Errors
    /// Storage's failures.
    async fn find(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        match self.cached(row, namespace, name).await? {
            None => self.get(row, namespace, name).await,
            found => Ok(found),
        }
    }
}

/// What plugins write on the server's own behalf. Admission has no say in it.
#[async_trait]
pub trait Writes: Send + Sync + 'static {
    /// Creates an object.
    ///
    /// # Errors
    /// As for any client; 409 where it exists.
    async fn create(&self, row: &'static Resource<'static>, object: Object) -> Verdict;

    /// Replaces the status of an object whose resource version is still what `object` says, and returns it as it
    /// is then.
    ///
    /// # Errors
    /// As for any client; 409 where the object has changed.
    async fn replace_status(
        &self,
        row: &'static Resource<'static>,
        object: Object,
    ) -> Result<Object, Box<Status>>;
}

/// 404 of an object that was looked for.
pub(crate) fn not_found(row: &Resource, name: &str) -> Box<Status> {
    Status::not_found(&GroupResource::new(row.group, row.plural), name).into()
}
