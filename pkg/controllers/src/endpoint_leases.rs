//! Endpoint leases: expiring keys in the store, each an Endpoints object with a server's address. Values and
//! times equal upstream's, so that servers of both implementations find each other.

use crate::error::Error;
use std::sync::Arc;
use std::time::Duration;

use api::resources::{self, StorageSpec};
use registry::{StoredRef, codec, meta};
use schema::object::Object;
use storage::{KeyValue, ListOptions, Storage, Update, UpdateResult, guaranteed_update};

/// Lifetime of a lease (upstream's `DefaultEndpointReconcilerTTL` and `DefaultPeerEndpointReconcilerTTL`).
const TTL: Duration = Duration::from_secs(15);

/// The leases in one directory.
pub(crate) struct EndpointLeases {
    storage: Arc<dyn Storage>,
    row: &'static StorageSpec<'static>,
    prefix: String,
}

impl EndpointLeases {
    /// Creates access to the leases in a directory below the key prefix, such as `/registry`.
    ///
    /// # Errors
    /// Endpoints, the kind of leases, are not stored.
    pub(crate) fn new(storage: Arc<dyn Storage>, prefix: &str, directory: &str) -> Result<Self, Error> {
        let row = resources::find("", "v1", "endpoints", "").and_then(|row| row.storage.as_ref());
        let row = row.ok_or(Error::Missing("endpoints are not stored"))?;
        Ok(EndpointLeases { storage, row, prefix: format!("{}/{directory}/", prefix.trim_end_matches('/')) })
    }

    /// Returns all leases, ordered by name. Skips unreadable values.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn list(&self) -> Result<Vec<Object>, storage::Error> {
        let listing = self.storage.list(&self.prefix, ListOptions::default()).await?;
        Ok(listing.kvs.iter().filter_map(|kv| self.decoded(kv)).collect())
    }

    /// Returns the lease with this name, if it exists.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Object>, storage::Error> {
        let response = self.storage.get(&self.key(name)).await?;
        Ok(response.kv.and_then(|kv| self.decoded(&kv)))
    }

    fn decoded(&self, kv: &KeyValue) -> Option<Object> {
        codec::decode(self.row, StoredRef::of(kv)).ok()
    }

    /// Creates or renews a lease. `set` sets its contents.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn renew(
        &self,
        name: &str,
        set: impl Fn(&mut Object) + Send + Sync,
    ) -> Result<(), storage::Error> {
        let renew = |current: Option<&KeyValue>| {
            let mut lease = current.and_then(|kv| self.decoded(kv)).unwrap_or_default();
            // The store writes only differences, so each renewal increments the generation.
            let generation = meta::generation(&lease);
            meta::set_generation(&mut lease, generation.saturating_add(1));
            codec::strip_revision(&mut lease);
            set(&mut lease);
            let value = codec::encode(self.row, &lease)
                .map_err(|error| storage::Error::Internal(error.to_string()))?;
            Ok::<_, storage::Error>(Update::Write(value, Some(TTL)))
        };
        guaranteed_update(&*self.storage, &self.key(name), None, renew).await.map(drop)
    }

    /// Removes a lease. Returns true if it existed.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn remove(&self, name: &str) -> Result<bool, storage::Error> {
        let remove = |_: Option<&KeyValue>| Ok::<_, storage::Error>(Update::Delete);
        let updated = guaranteed_update(&*self.storage, &self.key(name), None, remove).await?;
        Ok(matches!(updated, UpdateResult::Deleted(_)))
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
