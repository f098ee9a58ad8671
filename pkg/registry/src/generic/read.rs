//! GET.

use std::sync::Arc;

use api::resources::StorageSpec;
use apimachinery::status::Status;
use cacher::{Element, Freshness};
use storage::{KeyQueues, KeyValue, Storage};

use super::{Registry, Result, Target};

impl Registry {
    /// Reads one object. `resource_version` as the client wrote it: empty for the latest, `0` for
    /// any, `N` for at least N.
    ///
    /// # Errors
    /// 404; 500 for a malformed version (upstream does not map that error) and for an object that
    /// cannot be read; 504 for a version that is not reached yet.
    pub async fn get(&self, target: &Target<'_>, resource_version: &str) -> Result<Arc<Element>> {
        let storage = self.storage_of(target, "get")?;
        let freshness = match resource_version {
            "" => Freshness::Consistent,
            version => Freshness::NotOlderThan(
                super::revision(version).map_err(|e| Status::unmapped(e.to_string()))?,
            ),
        };
        let key = self.key(storage, target)?;
        let stored = self.stored(storage)?;
        let found = self.delegator.get(&stored.resource, &key, freshness).await;
        let found = found.map_err(|e| self.get_failed(target, storage, e))?;
        let element =
            found.element.ok_or_else(|| Status::not_found(&target.group_resource(), target.name))?;
        match self.conversion(target.resource, storage)? {
            Some(conversion) => conversion.element(element).await,
            None => Ok(element),
        }
    }

    /// Whether the watch cache has an object. It is not known to be without one that it does not have.
    pub(crate) fn is_cached(&self, target: &Target<'_>) -> bool {
        let Ok(storage) = self.storage_of(target, "get") else { return false };
        let (Ok(key), Ok(stored)) = (self.key(storage, target), self.stored(storage)) else { return false };
        self.delegator.peek(&stored.resource, &key).is_some_and(|element| element.value().is_ok())
    }

    /// Shows the names of all objects of a resource that the watch cache has to somebody.
    pub(crate) fn visit_cached_names(&self, target: &Target<'_>, mut see: impl FnMut(&str)) {
        let Ok(storage) = self.storage_of(target, "list") else { return };
        let Ok(stored) = self.stored(storage) else { return };
        stored.resource.visit_cached_keys(|key| see(key.rsplit('/').next().unwrap_or_default()));
    }

    /// How many bytes the watch cache has of an object; 0 for one that it does not have.
    pub fn cached_bytes(&self, target: &Target<'_>) -> usize {
        let Some(storage) = &target.resource.storage else { return 0 };
        let (Ok(key), Ok(stored)) = (self.key(storage, target), self.stored(storage)) else { return 0 };
        self.delegator.peek(&stored.resource, &key).map_or(0, |element| element.size())
    }

    /// What a write goes through.
    pub(super) fn writer(&self) -> (&dyn Storage, &KeyQueues) {
        (&**self.delegator.storage(), &self.turns)
    }

    /// What a write may take for the current state at first: the cached object, if there is one. What is
    /// stored in another form than it is cached in would seem to change with every write.
    ///
    /// # Errors
    /// As [`stored`](Self::stored).
    pub(super) fn suggestion(&self, storage: &StorageSpec, key: &str) -> Result<Option<KeyValue>> {
        if self.older.is_of(storage) || storage.custom.is_some() && self.stores_cbor() {
            return Ok(None);
        }
        let cached = self.delegator.peek(&self.stored(storage)?.resource, key);
        Ok(cached.as_deref().and_then(suggestion))
    }
}

/// An element as a first guess of what its key holds; `None` for one that cannot be read.
pub(super) fn suggestion(element: &Element) -> Option<KeyValue> {
    let value = element.value().ok()?.clone();
    Some(KeyValue::new(element.key(), value, element.revision()))
}
