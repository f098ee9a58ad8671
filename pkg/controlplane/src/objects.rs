//! Stored objects for admission: look-ups and writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use admission::{Objects, Writes};
use api::options::ListOptions;
use api::resources::Resource;
use apimachinery::status::{Reason, Status};
use apimachinery::{go_quote, names};
use async_trait::async_trait;
use registry::{Client, Element, Registry, StoredRef, Target, codec, meta};
use schema::object::Object;

/// Maximum number of decoded objects in the cache. It holds all classes, limits and quotas, and the
/// frequently used accounts and namespaces.
const CACHE_ENTRIES_MAX: usize = 2048;
/// Maximum encoded size in bytes of a cached object.
const CACHE_BYTES_MAX: usize = 4096;

/// Decoded objects with their revisions, by storage key.
type DecodedCache = HashMap<Box<str>, (i64, Arc<Object>)>;

/// Looks up objects through the registry. Small objects stay decoded, because every new pod needs the same
/// few.
pub(crate) struct StoredObjects {
    registry: Registry,
    decoded: Mutex<DecodedCache>,
    /// Clients for status writes, because their construction is slow.
    status_clients: Mutex<Vec<Client>>,
}

impl StoredObjects {
    pub(crate) fn new(registry: Registry) -> Self {
        StoredObjects { registry, decoded: Mutex::default(), status_clients: Mutex::default() }
    }

    fn status_client(&self, row: &'static Resource<'static>) -> Result<Client, Box<Status>> {
        let mut statuses = self.status_clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = statuses.iter().find(|client| std::ptr::eq(client.row(), row)) {
            return Ok(client.clone());
        }
        let client = Client::of(&self.registry, row).with_subresource("status")?;
        statuses.push(client.clone());
        Ok(client)
    }

    async fn look_up(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
        resource_version: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        match self.registry.get(&Target { resource: row, namespace, name }, resource_version).await {
            Ok(stored) => self.decoded(row, &stored).map(Some),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    fn decoded(&self, row: &Resource, element: &Element) -> Result<Arc<Object>, Box<Status>> {
        let key = element.key();
        let revision = element.revision();
        let remember = || self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, object)) = remember().get(key)
            && *of == revision
        {
            return Ok(Arc::clone(object));
        }
        let storage =
            row.storage.as_ref().ok_or_else(|| Status::internal_error("the resource has no storage"))?;
        let stored = StoredRef::element(element);
        let object = Arc::new(codec::decode(storage, stored)?);
        if stored.value.len() <= CACHE_BYTES_MAX {
            let mut decoded = remember();
            // Clearing the whole cache is good enough, because objects in use return quickly.
            if decoded.len() >= CACHE_ENTRIES_MAX {
                decoded.clear();
            }
            decoded.insert(key.into(), (revision, Arc::clone(&object)));
        }
        Ok(object)
    }
}

#[async_trait]
impl Objects for StoredObjects {
    async fn cached(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        // Upstream accepts any name here (a map look-up), and validation reports invalid names later.
        if !names::name_is_path_segment(name, false).is_empty() {
            return Ok(None);
        }
        self.look_up(row, namespace, name, "0").await
    }

    async fn get(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        check_name(name)?;
        self.look_up(row, namespace, name, "").await
    }

    async fn list(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
    ) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let options = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
        let target = Target { resource: row, namespace, name: "" };
        // A limit or a quota that cannot be decoded must not count as absent.
        let page = self.registry.list(&target, &options).await?.complete()?;
        page.items.iter().map(|item| self.decoded(row, &item)).collect()
    }
}

/// Checks a name as upstream's client does before it sends a request.
///
/// # Errors
/// The name cannot be in a path.
fn check_name(name: &str) -> Result<(), Box<Status>> {
    if name.is_empty() {
        return Err(Status::unmapped("resource name may not be empty").into());
    }
    match names::name_is_path_segment(name, false).as_slice() {
        [] => Ok(()),
        wrong => {
            let text = format!("invalid resource name {}: [{}]", go_quote::quote(name), wrong.join(" "));
            Err(Status::unmapped(text).into())
        }
    }
}

#[async_trait]
impl Writes for StoredObjects {
    async fn create(&self, row: &'static Resource<'static>, object: Object) -> Result<(), Box<Status>> {
        Client::of(&self.registry, row).create(object).await.map(drop)
    }

    async fn replace_status(
        &self,
        row: &'static Resource<'static>,
        object: Object,
    ) -> Result<Object, Box<Status>> {
        let namespace = meta::text(&object, "namespace");
        let name = meta::text(&object, "name");
        let client = self.status_client(row)?;
        client.update(namespace, name, &mut |_| Ok(object.clone())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_as_by_a_client() {
        let message = |name: &str| check_name(name).err().map(|status| (status.code, status.message));
        assert_eq!(message("a.b-c"), None);
        assert_eq!(message(""), Some((500, "resource name may not be empty".to_owned())));
        let wrong = "invalid resource name \"a/b%\": [may not contain '/' may not contain '%']";
        assert_eq!(message("a/b%"), Some((500, wrong.to_owned())));
    }
}
