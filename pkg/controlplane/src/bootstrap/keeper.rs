//! How the server keeps objects of its own: it reads what is there, asks what should be there, and writes
//! only a difference.
//!
//! Upstream's controllers do so as clients of their own server, under the name of the server's binary.
//! Here the verbs are called directly. Admission is not asked: what it could say of these objects is that
//! the cluster cannot work.

use api::managed_fields::{ApplyOptions, FieldManager};
use api::options::{DeleteOptions, ListOptions, Preconditions};
use api::resources::{self, Resource};
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use registry::generic::{AdmitAll, CreateRequest, DeleteRequest, UpdateRequest};
use registry::{Registry, StoredRef, Target, codec, meta};
use schema::object::Object;
use serde_json::Value;

/// The name under which the server does its own work.
const APISERVER_USER: &str = "system:apiserver";

/// The manager of what it writes, unless a controller has a name of its own.
const FIELD_MANAGER: &str = "kube-apiserver";

/// Why an object is not as it should be.
pub(crate) type Failure = Box<Status>;

/// What an object should be, given what it is: `None` when that is fine. May be asked several times, each
/// time about a newer state.
pub(crate) type Wanted<'w> = dyn Fn(Option<&Object>) -> Option<Object> + Send + Sync + 'w;

/// An object after it was looked at.
pub(crate) struct Kept {
    /// As it is now; `None` when there is none, and none is wanted.
    pub(crate) object: Option<Object>,
    /// Whether it was written.
    pub(crate) written: bool,
}

/// Keeps objects of one kind, through the resource itself or its status.
pub(crate) struct Keeper {
    registry: Registry,
    row: &'static Resource<'static>,
    endpoint: &'static Resource<'static>,
    fields: FieldManager,
    manager: &'static str,
    user: UserInfo,
}

impl Keeper {
    /// A keeper of `plural` in version `v1` of `group`.
    ///
    /// # Errors
    /// There is no such resource.
    pub(crate) fn new(registry: &Registry, group: &str, plural: &str) -> Result<Self, String> {
        Self::through(registry, group, plural, "", FIELD_MANAGER)
    }

    /// As [`new`](Self::new), through a subresource (empty for none), under another name.
    ///
    /// # Errors
    /// There is no such resource.
    pub(crate) fn through(
        registry: &Registry,
        group: &str,
        plural: &str,
        subresource: &str,
        manager: &'static str,
    ) -> Result<Self, String> {
        let find = |subresource: &str| {
            resources::find(group, "v1", plural, subresource)
                .ok_or_else(|| format!("{plural}.{group} {subresource} is not served"))
        };
        let (row, endpoint) = (find("")?, find(subresource)?);
        let fields = FieldManager::new(endpoint, |row| !row.off_by_default)
            .ok_or_else(|| format!("{plural}.{group} has no metadata"))?;
        let user = UserInfo { name: APISERVER_USER.to_owned(), ..UserInfo::default() };
        Ok(Keeper { registry: registry.clone(), row, endpoint, fields, manager, user })
    }

    /// The row of the resource.
    pub(crate) fn row(&self) -> &'static Resource<'static> {
        self.row
    }

    /// The time.
    pub(crate) fn now(&self) -> UnixTime {
        self.registry.now()
    }

    /// Reads an object, from the watch cache once that is filled.
    ///
    /// # Errors
    /// As [`Registry::get`], but that there is none.
    pub(crate) async fn cached(&self, namespace: &str, name: &str) -> Result<Option<Object>, Failure> {
        match self.registry.get(&self.target(namespace, name), "0").await {
            Ok(element) => self.decoded(StoredRef::element(&element)).map(Some),
            Err(status) if status.reason == "NotFound" => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Reads all objects of a namespace, or of all for an empty one, from the watch cache once that is
    /// filled.
    ///
    /// # Errors
    /// As [`Registry::list`].
    pub(crate) async fn list(&self, namespace: &str) -> Result<Vec<Object>, Failure> {
        let options = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
        let page = self.registry.list(&self.target(namespace, ""), &options).await?;
        page.items.iter().map(|element| self.decoded(StoredRef::element(&element))).collect()
    }

    /// Makes an object what it should be. A look at the cache decides whether anything is to be done; what is
    /// done is computed from what is really there.
    ///
    /// # Errors
    /// As [`Registry::create`] and [`Registry::update`].
    pub(crate) async fn keep(
        &self,
        namespace: &str,
        name: &str,
        wanted: &Wanted<'_>,
    ) -> Result<Kept, Failure> {
        let current = self.cached(namespace, name).await?;
        let Some(object) = wanted(current.as_ref()) else {
            return Ok(Kept { object: current, written: false });
        };
        if current.is_none() {
            match self.create(namespace, name, object).await {
                Ok(object) => return Ok(Kept { object: Some(object), written: true }),
                // Another server was faster, or the cache lags.
                Err(status) if status.reason == "AlreadyExists" => {}
                Err(status) => return Err(status),
            }
        }
        self.update(namespace, name, wanted).await
    }

    async fn create(&self, namespace: &str, name: &str, mut object: Object) -> Result<Object, Failure> {
        self.complete(None, &mut object);
        let request = CreateRequest { user: &self.user, dry_run: false, admit: &AdmitAll };
        let created = self.registry.create(&self.target(namespace, name), object, request).await?;
        self.decoded(created.as_ref())
    }

    async fn update(&self, namespace: &str, name: &str, wanted: &Wanted<'_>) -> Result<Kept, Failure> {
        let target = self.target(namespace, name);
        let mut written = false;
        let mut change = |old: Option<&Object>| {
            let new = wanted(old);
            written = new.is_some();
            match (new, old) {
                (Some(mut new), old) => {
                    self.complete(old, &mut new);
                    Ok(new)
                }
                (None, Some(old)) => Ok(old.clone()),
                (None, None) => Err(Status::not_found(&target.group_resource(), name).into()),
            }
        };
        let outcome = self.registry.update(&target, &self.update_request(), &mut change).await?;
        Ok(Kept { object: Some(self.decoded(outcome.stored.as_ref())?), written })
    }

    /// Applies a configuration to an object that exists, whoever owned its fields before.
    ///
    /// # Errors
    /// As [`FieldManager::apply`] and [`Registry::update`].
    pub(crate) async fn apply(
        &self,
        namespace: &str,
        name: &str,
        configuration: &Value,
    ) -> Result<(), Failure> {
        let options = ApplyOptions { manager: self.manager, force: true, now: self.now() };
        let mut change = |old: Option<&Object>| {
            self.fields.apply(old, configuration, options, |object| {
                api::defaults::apply(self.row.group_version, self.row.kind, object);
            })
        };
        let target = self.target(namespace, name);
        self.registry.update(&target, &self.update_request(), &mut change).await.map(drop)
    }

    /// Deletes exactly this state of an object, and does not mind if it is gone.
    ///
    /// # Errors
    /// As [`Registry::delete`]; 409 when it has changed.
    pub(crate) async fn delete(&self, object: &Object) -> Result<(), Failure> {
        let preconditions = Preconditions {
            uid: Some(meta::text(object, "uid").to_owned()),
            resource_version: Some(meta::text(object, "resourceVersion").to_owned()),
        };
        let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
        self.delete_by(meta::text(object, "namespace"), meta::text(object, "name"), &options).await
    }

    /// Deletes an object by its name, and does not mind if there is none.
    ///
    /// # Errors
    /// As [`Registry::delete`].
    pub(crate) async fn delete_named(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        self.delete_by(namespace, name, &DeleteOptions::default()).await
    }

    async fn delete_by(&self, namespace: &str, name: &str, options: &DeleteOptions) -> Result<(), Failure> {
        let request = DeleteRequest { options, dry_run: false, admit: &AdmitAll };
        match self.registry.delete(&self.target(namespace, name), &request).await {
            Err(status) if status.reason != "NotFound" => Err(status),
            _ => Ok(()),
        }
    }

    fn target<'a>(&self, namespace: &'a str, name: &'a str) -> Target<'a> {
        Target { row: self.row, namespace, name }
    }

    fn update_request(&self) -> UpdateRequest<'_> {
        UpdateRequest {
            endpoint: self.endpoint,
            uid: String::new(),
            user: &self.user,
            dry_run: false,
            force_allow_create: false,
            keeps_managers: false,
            admit: &AdmitAll,
        }
    }

    /// Fills in what every write of the object has to say.
    fn complete(&self, old: Option<&Object>, object: &mut Object) {
        object.insert("apiVersion".to_owned(), self.row.group_version.into());
        object.insert("kind".to_owned(), self.row.kind.into());
        api::defaults::apply(self.row.group_version, self.row.kind, object);
        if let Err(error) = self.fields.update(old, object, self.manager, self.now()) {
            tracing::error!(kind = self.row.kind, error, "managed fields could not be updated");
        }
    }

    fn decoded(&self, stored: StoredRef<'_>) -> Result<Object, Failure> {
        let storage =
            self.row.storage.as_ref().ok_or_else(|| Status::internal_error("nothing stores this"))?;
        let mut object = codec::decode(storage, stored).map_err(Status::internal_error)?;
        api::defaults::apply(storage.group_version, storage.kind, &mut object);
        Ok(object)
    }
}
