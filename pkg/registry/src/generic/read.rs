//! GET.

use std::sync::Arc;

use api::resources::StorageSpec;
use apimachinery::field;
use apimachinery::resource_version::invalid_message;
use apimachinery::status::Status;
use cacher::{Element, Freshness, ResourceConfig};
use storage::{KeyQueues, KeyValue, Storage};

use super::{Registry, Result, Target};

impl Registry {
    /// Reads one object. `resource_version` is the client's parameter: empty for the latest version, `0` for
    /// any, `N` for at least N.
    ///
    /// # Errors
    /// 404 for an absent object; 504 for a future version. 400 for an invalid version, but 500 with a watch cache, because
    /// upstream does not map that error. 500 for an object that cannot be decoded.
    pub async fn get(&self, target: &Target<'_>, resource_version: &str) -> Result<Arc<Element>> {
        let storage = self.storage_of(target, "get")?;
        let stored = self.stored(storage)?;
        let invalid = |error: field::Error| match stored.resource.config() {
            ResourceConfig { cached: true, .. } => Status::unmapped(error.to_string()),
            _ => Status::bad_request(invalid_message(&error)),
        };
        let freshness = match resource_version {
            "" => Freshness::Consistent,
            version => Freshness::NotOlderThan(super::revision(version).map_err(invalid)?),
        };
        let key = self.key(storage, target)?;
        let result = self.delegator.get(&stored.resource, &key, freshness).await;
        let result = result.map_err(|e| self.get_failed(target, storage, e))?;
        let element =
            result.element.ok_or_else(|| Status::not_found(&target.group_resource(), target.name))?;
        match self.conversion(target.resource, storage)? {
            Some(conversion) => conversion.element(element, !resource_version.is_empty()).await,
            None => Ok(element),
        }
    }

    /// True if the object is in the watch cache. An object that is not in the cache may still exist.
    pub(crate) fn is_cached(&self, target: &Target<'_>) -> bool {
        let Ok(storage) = self.storage_of(target, "get") else { return false };
        let (Ok(key), Ok(stored)) = (self.key(storage, target), self.stored(storage)) else { return false };
        self.delegator.peek(&stored.resource, &key).is_some_and(|element| element.value().is_ok())
    }

    /// Calls `see` with the names of all objects of a resource in the watch cache.
    pub(crate) fn visit_cached_names(&self, target: &Target<'_>, mut see: impl FnMut(&str)) {
        let Ok(storage) = self.storage_of(target, "list") else { return };
        let Ok(stored) = self.stored(storage) else { return };
        stored.resource.visit_cached_keys(|key| see(key.rsplit('/').next().unwrap_or_default()));
    }

    /// Size in bytes of an object in the watch cache; 0 if it is not there.
    pub fn cached_bytes(&self, target: &Target<'_>) -> usize {
        let Some(storage) = &target.resource.storage else { return 0 };
        let (Ok(key), Ok(stored)) = (self.key(storage, target), self.stored(storage)) else { return 0 };
        self.delegator.peek(&stored.resource, &key).map_or(0, |element| element.size())
    }

    /// Returns the store and queues for a write.
    pub(super) fn writer(&self) -> (&dyn Storage, &KeyQueues) {
        (&**self.delegator.storage(), &self.write_queues)
    }

    /// Returns the cached object as the probable current state for the first attempt of a write. Returns none
    /// if the stored form differs from the cached one, because every write would then seem to change the
    /// object.
    ///
    /// # Errors
    /// As [`stored`](Self::stored).
    pub(super) fn suggestion(&self, storage: &StorageSpec, key: &str) -> Result<Option<KeyValue>> {
        if self.emulated_storage.differs(storage) || storage.custom.is_some() && self.stores_cbor() {
            return Ok(None);
        }
        let cached = self.delegator.peek(&self.stored(storage)?.resource, key);
        Ok(cached.as_deref().and_then(suggestion))
    }
}

/// Converts an element to the probable state of its key; `None` for an element that cannot be decoded.
pub(super) fn suggestion(element: &Element) -> Option<KeyValue> {
    let value = element.value().ok()?.clone();
    Some(KeyValue::new(element.key(), value, element.revision()))
}
