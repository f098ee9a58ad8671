//! Params of policies, of any served kind, from the watch cache. A param with a given name that is not there is
//! read from the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::api::options::ListOptions;
use ::api::resources::{Handle, Resource};
use admission::policy::{Param, ParamError, ParamKind, Params};
use apimachinery::status::{Reason, Status};
use async_trait::async_trait;
use endpoints::routing::served::ServedApi;
use endpoints::versions;
use registry::{Element, Registry, StoredRef, Target, codec};
use schema::object::Object;
use tokio::time::timeout;

/// Maximum wait for a cache that is not complete yet, and for a read from the store (upstream's values).
const WAIT: Duration = Duration::from_secs(1);
/// Maximum number of cached kinds. A cluster has only a few kinds of params.
const KINDS_MAX: usize = 1024;
/// Maximum number of decoded objects in the cache.
const CACHE_ENTRIES_MAX: usize = 2048;
/// Maximum encoded size in bytes of a cached object.
const CACHE_BYTES_MAX: usize = 16 * 1024;

/// Endpoints by kind, for one catalog generation.
#[derive(Default)]
struct Kinds {
    generation: u64,
    rows: HashMap<ParamKind, Option<Handle>>,
}

/// Decoded objects with their revisions, by `apiVersion` and storage key.
type DecodedCache = HashMap<(Box<str>, Box<str>), (i64, Arc<Object>)>;

/// Looks up params in the watch cache, and named ones also in the store.
pub(crate) struct StoredParams {
    served: Arc<ServedApi>,
    registry: Registry,
    kinds: Mutex<Kinds>,
    decoded: Mutex<DecodedCache>,
}

impl StoredParams {
    pub(crate) fn new(served: Arc<ServedApi>, registry: Registry) -> Self {
        StoredParams { served, registry, kinds: Mutex::default(), decoded: Mutex::default() }
    }

    /// Returns the endpoint of a kind.
    fn row(&self, kind: &ParamKind) -> Option<Handle> {
        let now = self.served.now();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.generation != now.number() || kinds.rows.len() >= KINDS_MAX {
            *kinds = Kinds { generation: now.number(), rows: HashMap::new() };
        }
        if let Some(cached) = kinds.rows.get(kind) {
            return cached.clone();
        }
        let is_of_kind = |row: &Resource<'_>| {
            row.subresource.is_empty()
                && row.storage.is_some()
                && (row.kind_group_version, row.kind) == (&*kind.api_version, &*kind.kind)
        };
        let row = now.catalog.endpoints().find(|endpoint| is_of_kind(endpoint.row.row()));
        let row = row.map(|endpoint| endpoint.row.clone());
        kinds.rows.insert(kind.clone(), row.clone());
        row
    }

    /// Returns an object as clients of an endpoint see it.
    async fn param(&self, row: &Resource<'_>, element: &Element) -> Result<Param, Box<Status>> {
        let key = (Box::from(row.kind_group_version), Box::from(element.key()));
        let decoded = || self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revision, object)) = decoded().get(&key)
            && *revision == element.revision()
        {
            return Ok(Param { object: Arc::clone(object), message: row.message });
        }
        let storage =
            row.storage.as_ref().ok_or_else(|| Status::internal_error("the resource has no storage"))?;
        let stored = StoredRef::element(element);
        let length = stored.value.len();
        let object = codec::decode(storage, stored)?;
        let object = if row.custom.is_some_and(|custom| custom.kind.converts_by_webhook) {
            self.registry.to_version(row, object).await?
        } else {
            versions::to_endpoint_version(object, row, row)
        };
        let object = Arc::new(object);
        if length <= CACHE_BYTES_MAX {
            let mut decoded = decoded();
            // Clearing the whole cache is good enough, because objects in use return quickly.
            if decoded.len() >= CACHE_ENTRIES_MAX {
                decoded.clear();
            }
            decoded.insert(key, (element.revision(), Arc::clone(&object)));
        }
        Ok(Param { object, message: row.message })
    }

    fn resource(&self, kind: &ParamKind) -> Result<Handle, ParamError> {
        self.row(kind).ok_or_else(|| ParamError::Other(format!("paramKind kind `{kind}` not known")))
    }
}

fn not_synced(kind: &ParamKind) -> ParamError {
    ParamError::NotSynced { kind: Box::new(kind.clone()) }
}

fn failed(status: &Status) -> ParamError {
    ParamError::Other(status.message.clone())
}

#[async_trait]
impl Params for StoredParams {
    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool> {
        self.row(kind).map(|row| row.row().namespaced)
    }

    async fn get(&self, kind: &ParamKind, namespace: &str, name: &str) -> Result<Option<Param>, ParamError> {
        let handle = self.resource(kind)?;
        let row = handle.row();
        let target = Target { resource: row, namespace, name };
        let cached = timeout(WAIT, self.registry.get(&target, "0")).await.map_err(|_| not_synced(kind))?;
        let element = match cached {
            // A param that was created just now may not be in the cache yet.
            Err(status) if status.reason == Reason::NotFound => {
                let latest = timeout(WAIT, self.registry.get(&target, "")).await;
                latest.map_err(|_| ParamError::Other("context deadline exceeded".to_owned()))?
            }
            read => read,
        };
        match element {
            Ok(element) => self.param(row, &element).await.map(Some).map_err(|status| failed(&status)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(failed(&status)),
        }
    }

    async fn list(&self, kind: &ParamKind, namespace: &str) -> Result<Vec<Param>, ParamError> {
        let handle = self.resource(kind)?;
        let row = handle.row();
        let options = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
        let target = Target { resource: row, namespace, name: "" };
        let page = timeout(WAIT, self.registry.list(&target, &options)).await;
        let page = page.map_err(|_| not_synced(kind))?.and_then(registry::generic::ListPage::complete);
        let page = page.map_err(|status| failed(&status))?;
        let mut params = Vec::new();
        for item in page.items.iter() {
            params.push(self.param(row, &item).await.map_err(|status| failed(&status))?);
        }
        Ok(params)
    }
}
