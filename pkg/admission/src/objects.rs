//! What plugins look up.

use std::sync::Arc;

use api::resources::Resource;
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
        row: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// An object as fresh as storage has it.
    ///
    /// # Errors
    /// Storage's failures.
    async fn get(
        &self,
        row: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>>;

    /// All objects of a namespace (of all namespaces if empty) from the watch cache.
    ///
    /// # Errors
    /// Storage's failures.
    async fn list(&self, row: &'static Resource, namespace: &str) -> Result<Vec<Arc<Object>>, Box<Status>>;
}
