//! Namespaces as admission asks for them.

use admission::{NamespaceState, Namespaces};
use api::resources;
use apimachinery::status::Status;
use async_trait::async_trait;
use registry::{Registry, StoredRef, Target, codec, meta};

/// Looks namespaces up through the registry.
pub(crate) struct StoredNamespaces(pub(crate) Registry);

#[async_trait]
impl Namespaces for StoredNamespaces {
    async fn state(&self, name: &str) -> Result<NamespaceState, Box<Status>> {
        let Some(row) = resources::find("", "v1", "namespaces", "") else {
            return Ok(NamespaceState::Absent);
        };
        let Some(storage) = &row.storage else { return Ok(NamespaceState::Absent) };
        let stored = match self.0.get(&Target { row, namespace: "", name }, "").await {
            Ok(stored) => stored,
            Err(status) if status.reason == "NotFound" => return Ok(NamespaceState::Absent),
            Err(status) => return Err(status),
        };
        let object = codec::decode(storage, StoredRef::element(&stored)).map_err(Status::internal_error)?;
        Ok(if meta::is_deleting(&object) { NamespaceState::Terminating } else { NamespaceState::Active })
    }
}
