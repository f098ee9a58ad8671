//! In-process client for one resource. It reads and writes like a client of the server, as a user and with
//! managed fields, but without HTTP.
//!
//! Upstream's controllers are clients of their own server. Here they call the verbs directly, without
//! admission. Admission could only reject objects that the server itself needs, so the cluster could not
//! work.

mod reconcile;

use std::sync::{Arc, OnceLock};

use api::managed_fields::{FieldManager, field_manager};
use api::options::{DeleteOptions, ListOptions, Preconditions};
use api::resources::{self, Resource};
use apimachinery::status::{Reason, Status};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use cacher::Element;
use fieldmanager::ApplyOptions;
use jsontree::Value;
use schema::object::Object;
use tokio::time::Instant;

use crate::generic::{
    AdmitAll, CreateRequest, DeleteRequest, ListPage, UpdateOutcome, UpdateRequest, WatchEvents,
};
use crate::{Registry, Result, StoredRef, Target, codec, meta};

pub use reconcile::{DesiredState, ReconcileOutcome, Reconciled};

/// User name of the server's own requests.
pub const APISERVER_USER: &str = "system:apiserver";
/// Default field manager of its writes; a controller may have its own.
pub const FIELD_MANAGER: &str = "kube-apiserver";

/// Error of [`Client::find`] and [`Client::with_subresource`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The resource is not built in.
    #[error("{resource} are not served")]
    Resource {
        /// Plural and group, as `plural.group`.
        resource: String,
    },
    /// The resource has no such subresource.
    #[error("{resource} have no {subresource}")]
    Subresource {
        /// Plural and group, as `plural.group`.
        resource: String,
        /// Name of the subresource.
        subresource: String,
    },
}

impl From<LookupError> for Box<Status> {
    fn from(error: LookupError) -> Self {
        Status::internal_error(error.to_string()).into()
    }
}

/// Freshness of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFreshness {
    /// The state of the watch cache, without waiting. Objects that are not in the cache are read from the
    /// store.
    Cached,
    /// Includes all writes that were acknowledged before the read.
    Latest,
}

impl ReadFreshness {
    /// The `resourceVersion` parameter for this freshness.
    fn resource_version(self) -> &'static str {
        match self {
            ReadFreshness::Cached => "0",
            ReadFreshness::Latest => "",
        }
    }
}

/// Client of one resource, or of one of its subresources. Objects are trees in the storage version. Cheap to
/// clone.
#[derive(Clone)]
pub struct Client {
    registry: Registry,
    row: &'static Resource<'static>,
    /// Endpoint for writes: the resource itself or a subresource.
    endpoint: &'static Resource<'static>,
    /// Created by the first write; `None` for a resource without metadata.
    fields: Arc<OnceLock<Option<FieldManager>>>,
    user: Arc<UserInfo>,
    manager: &'static str,
}

impl Client {
    /// Returns a client of `plural` in version `v1` of `group`, with the server's user.
    ///
    /// # Errors
    /// There is no such resource.
    pub fn find(registry: &Registry, group: &str, plural: &str) -> std::result::Result<Self, LookupError> {
        let row = resources::find(group, "v1", plural, "");
        let row = row.ok_or_else(|| LookupError::Resource { resource: format!("{plural}.{group}") })?;
        Ok(Self::of(registry, row))
    }

    /// Returns a client of a resource, with the server's user.
    pub fn of(registry: &Registry, row: &'static Resource<'static>) -> Self {
        let user = UserInfo { name: APISERVER_USER.to_owned(), ..UserInfo::default() };
        Client {
            registry: registry.clone(),
            row,
            endpoint: row,
            fields: Arc::default(),
            user: Arc::new(user),
            manager: FIELD_MANAGER,
        }
    }

    /// Returns a client that writes through a subresource.
    ///
    /// # Errors
    /// There is no such subresource.
    pub fn with_subresource(self, subresource: &str) -> std::result::Result<Self, LookupError> {
        let Resource { group, version, plural, .. } = *self.row;
        let endpoint = resources::find(group, version, plural, subresource);
        let endpoint = endpoint.ok_or_else(|| LookupError::Subresource {
            resource: format!("{plural}.{group}"),
            subresource: subresource.to_owned(),
        })?;
        Ok(Client { endpoint, fields: Arc::default(), ..self })
    }

    /// Returns a client with another field manager.
    #[must_use]
    pub fn with_field_manager(self, manager: &'static str) -> Self {
        Client { manager, ..self }
    }

    /// Returns a client with another user.
    #[must_use]
    pub fn with_user(self, user: UserInfo) -> Self {
        Client { user: Arc::new(user), ..self }
    }

    /// Returns the row of the resource, even if the client writes through a subresource.
    pub fn row(&self) -> &'static Resource<'static> {
        self.row
    }

    /// Returns the time of the registry's clock.
    pub fn now(&self) -> UnixTime {
        self.registry.now()
    }

    /// Reads an object; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Registry::get`], and 500 for an object that cannot be decoded.
    pub async fn get(&self, namespace: &str, name: &str, read: ReadFreshness) -> Result<Option<Object>> {
        let element = self.element(namespace, name, read).await?;
        element.map(|element| self.decoded(StoredRef::element(&element))).transpose()
    }

    /// As [`get`](Self::get), without decoding the object.
    ///
    /// # Errors
    /// As [`Registry::get`].
    pub async fn element(
        &self,
        namespace: &str,
        name: &str,
        read: ReadFreshness,
    ) -> Result<Option<Arc<Element>>> {
        match self.registry.get(&self.target(namespace, name), read.resource_version()).await {
            Ok(element) => Ok(Some(element)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// True if the object is in the watch cache. An object that is not in the cache may still exist.
    pub fn is_cached(&self, namespace: &str, name: &str) -> bool {
        self.registry.is_cached(&self.target(namespace, name))
    }

    /// Calls `see` with the names of all objects in the watch cache.
    pub fn visit_cached_names(&self, see: impl FnMut(&str)) {
        self.registry.visit_cached_names(&self.target("", ""), see);
    }

    /// Reads all objects of a namespace; an empty namespace means all. Malformed objects are left out.
    ///
    /// # Errors
    /// As [`Registry::list`].
    pub async fn list(&self, namespace: &str, read: ReadFreshness) -> Result<Vec<Object>> {
        let page = self.page(namespace, read).await?;
        self.decoded_items(&page)
    }

    /// Like [`list`](Self::list), with the number of malformed objects that were left out.
    ///
    /// # Errors
    /// As [`Registry::list`].
    pub async fn list_counted(&self, namespace: &str, read: ReadFreshness) -> Result<(Vec<Object>, usize)> {
        let page = self.page(namespace, read).await?;
        Ok((self.decoded_items(&page)?, page.left_out))
    }

    async fn page(&self, namespace: &str, read: ReadFreshness) -> Result<ListPage> {
        let options =
            ListOptions { resource_version: read.resource_version().to_owned(), ..ListOptions::default() };
        self.registry.list(&self.target(namespace, ""), &options).await
    }

    fn decoded_items(&self, page: &ListPage) -> Result<Vec<Object>> {
        page.items.iter().map(|element| self.decoded(StoredRef::element(&element))).collect()
    }

    /// Watches all objects from now on, until `deadline`.
    ///
    /// # Errors
    /// As [`Registry::watch`].
    pub async fn watch(&self, deadline: Instant) -> Result<WatchEvents> {
        let options = ListOptions {
            resource_version: "0".to_owned(),
            send_initial_events: Some(false),
            ..ListOptions::default()
        };
        self.registry.watch(&self.target("", ""), &options, deadline).await
    }

    /// Creates an object with the name and namespace of its metadata. Returns the created object.
    ///
    /// # Errors
    /// As [`Registry::create`].
    pub async fn create(&self, mut object: Object) -> Result<Object> {
        self.complete(None, &mut object);
        let namespace = meta::text(&object, "namespace").to_owned();
        let name = meta::text(&object, "name").to_owned();
        let request =
            CreateRequest { user: &self.user, dry_run: false, shares_labels: false, admit: &AdmitAll };
        let created = self.registry.create(&self.target(&namespace, &name), object, request).await?;
        self.decoded(created.as_ref())
    }

    /// Updates an object and returns it. `change` computes the new state from the current one. It is called
    /// again after a conflict, until its result replaces exactly the state that it was computed from. A
    /// result with a different `resourceVersion` than the current one is rejected.
    ///
    /// # Errors
    /// As [`Registry::update`]; the error of `change`.
    pub async fn update(
        &self,
        namespace: &str,
        name: &str,
        change: &mut (dyn FnMut(&Object) -> Result<Object> + Send),
    ) -> Result<Object> {
        let mut complete = |old: &Object| {
            let mut new = change(old)?;
            self.complete(Some(old), &mut new);
            Ok(new)
        };
        let outcome = self.write(namespace, name, &mut complete).await?;
        self.decoded(outcome.stored.as_ref())
    }

    /// Applies a configuration to an existing object, by force, and returns the result.
    ///
    /// # Errors
    /// As [`FieldManager::apply`] and [`Registry::update`].
    pub async fn apply(&self, namespace: &str, name: &str, configuration: &Value) -> Result<Object> {
        let no_metadata = || Status::internal_error(format!("{} have no metadata", self.row.plural));
        let fields = self.fields().ok_or_else(no_metadata)?;
        let options = ApplyOptions { manager: self.manager, force: true, now: self.now(), outside: None };
        let mut change = |old: &Object| {
            fields.apply(Some(old), configuration.clone(), options, |object| {
                kinds::defaults::apply(self.row.group_version, self.row.kind, object, self.registry.gates());
                Ok(())
            })
        };
        let outcome = self.write(namespace, name, &mut change).await?;
        self.decoded(outcome.stored.as_ref())
    }

    /// Deletes an object by name if it meets the preconditions. Returns false if it did not exist.
    ///
    /// # Errors
    /// As [`Registry::delete`]: 409 for failed preconditions. A missing object is no error.
    pub async fn delete(&self, namespace: &str, name: &str, preconditions: Preconditions) -> Result<bool> {
        let preconditions =
            Some(preconditions).filter(|preconditions| *preconditions != Preconditions::default());
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        match self.registry.delete(&self.target(namespace, name), &request).await {
            Ok(_) => Ok(true),
            Err(status) if status.reason == Reason::NotFound => Ok(false),
            Err(status) => Err(status),
        }
    }

    /// Deletes exactly this state of an object. Returns false if it did not exist.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    pub async fn delete_exact(&self, object: &Object) -> Result<bool> {
        let preconditions = Preconditions {
            uid: Some(meta::text(object, "uid").to_owned()),
            resource_version: Some(meta::text(object, "resourceVersion").to_owned()),
        };
        self.delete(meta::text(object, "namespace"), meta::text(object, "name"), preconditions).await
    }

    /// Writes the result of `change` for an existing object.
    async fn write(
        &self,
        namespace: &str,
        name: &str,
        change: &mut (dyn FnMut(&Object) -> Result<Object> + Send),
    ) -> Result<UpdateOutcome> {
        let target = self.target(namespace, name);
        let request = UpdateRequest {
            endpoint: self.endpoint,
            uid: String::new(),
            user: &self.user,
            dry_run: false,
            force_allow_create: false,
            keeps_managers: false,
            pending_conversions: None,
            admit: &AdmitAll,
        };
        let mut change = |old: Option<&Object>| match old {
            Some(old) => change(old),
            None => Err(Status::not_found(&target.group_resource(), name).into()),
        };
        self.registry.update(&target, &request, &mut change).await
    }

    fn target<'a>(&self, namespace: &'a str, name: &'a str) -> Target<'a> {
        Target { resource: self.row, namespace, name }
    }

    fn fields(&self) -> Option<&FieldManager> {
        self.fields.get_or_init(|| field_manager(self.endpoint, |row| self.registry.is_served(row))).as_ref()
    }

    /// Fills in the fields that every write needs.
    fn complete(&self, old: Option<&Object>, object: &mut Object) {
        let version = self.row.storage.map_or(self.row.group_version, |storage| storage.group_version);
        object.insert("apiVersion", version.into());
        object.insert("kind", self.row.kind.into());
        kinds::defaults::apply(version, self.row.kind, object, self.registry.gates());
        let Some(fields) = self.fields() else { return };
        if let Err(error) = fields.update(old, object, self.manager, self.now()) {
            tracing::error!(kind = self.row.kind, error = error.to_string(), "cannot update managed fields");
        }
    }

    fn decoded(&self, stored: StoredRef<'_>) -> Result<Object> {
        let storage = self.row.storage.as_ref();
        let storage = storage.ok_or_else(|| Status::internal_error("the resource has no storage"))?;
        Ok(codec::decode(storage, stored)?)
    }
}

#[cfg(test)]
mod tests;
