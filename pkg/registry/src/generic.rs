//! The verbs over storage, written once for all resources
//! (upstream's `registry/generic/registry/store.go`).

mod admit;
mod allocate;
mod convert;
mod corrupt;
mod create;
mod delete;
mod delete_collection;
mod dryrun;
mod edit;
pub(crate) mod error;
mod extent;
mod filter;
mod list;
mod older;
mod read;
mod shards;
mod trace;
mod update;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use api::resources::{Handle, Resource, StorageSpec};
use apimachinery::gvk::{GroupKind, GroupResource};
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use apimachinery::{field, go_quote, names};
use arc_swap::ArcSwap;
use cacher::Delegator;
use component_base::clock::Clock;
use component_base::features::Gates;
use jsontree::Value;
use kinds::validation::kinds::Settings;
use schema::object::Object;
use storage::KeyQueues;

use crate::StoredRef;
use crate::ingest::{self, Fields};

pub use admit::{Admit, AdmitAll, Edits};
pub use kinds::strategy::Entropy;
use older::EmulatedStorage;

pub use allocate::{Allocator, Claim};
pub use cacher::{Event, EventType, Extent, Lag, Progress};
pub use convert::Convert;
pub use create::CreateRequest;
pub use delete::{DeleteOutcome, DeleteRequest};
pub use edit::Edit;
pub use list::ListPage;
pub use update::{Change, UpdateOutcome, UpdateRequest};
pub use watch::{WatchEvent, WatchEvents};

/// What a verb gives: a failure is always a `Status` that can be sent as it is.
pub type Result<T> = std::result::Result<T, Box<Status>>;

/// A resource version as a revision; 0 for none.
fn revision(text: &str) -> std::result::Result<i64, field::Error> {
    let parsed = apimachinery::resource_version::parse(text)?;
    Ok(i64::try_from(parsed.revision()).unwrap_or(i64::MAX))
}

/// A resource and where in it a request points.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The row of the resource itself, never of a subresource.
    pub resource: &'a Resource<'a>,
    /// Namespace; empty for cluster-scoped resources and for requests across all namespaces.
    pub namespace: &'a str,
    /// Object name; empty for collections.
    pub name: &'a str,
}

impl Target<'_> {
    /// The resource as errors name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// The kind as errors name it that are about the object itself: in the group it is stored in, where
    /// upstream's scheme finds its type first. Events of `events.k8s.io` are of the core group there.
    pub fn group_kind(&self) -> GroupKind {
        let stored = self.resource.storage.as_ref().map(|storage| storage.group_version);
        let group =
            stored.map_or(self.resource.group, |version| version.split_once('/').map_or("", |it| it.0));
        GroupKind::new(group, self.resource.kind)
    }

    /// The kind that errors about an object name. A custom object is whatever it says it is.
    pub(crate) fn kind_of(&self, object: &Object) -> GroupKind {
        match object.get("kind").and_then(Value::as_str).filter(|_| self.resource.message.open) {
            Some(kind) => GroupKind::new(self.resource.group, kind),
            None => self.group_kind(),
        }
    }
}

/// A stored resource as the delegator knows it.
struct StoredResource {
    resource: Arc<cacher::Resource>,
    fields: Fields,
    /// Who converts its versions, where somebody has to.
    converter: Option<convert::Converter>,
}

impl StoredResource {
    /// The prefix of all keys, or of one namespace's among them; ends in `/`.
    fn key_prefix(&self, namespace: &str) -> String {
        self.key(namespace, "")
    }

    /// The key of an object, or what keys begin with where it has no name.
    fn key(&self, namespace: &str, name: &str) -> String {
        let prefix = self.resource.config().prefix.as_str();
        let slash = if namespace.is_empty() { "" } else { "/" };
        [prefix, namespace, slash, name].concat()
    }

    /// Checks a key, or a prefix of keys, that was made with a namespace from a path. Only the names of
    /// objects are checked before.
    ///
    /// # Errors
    /// 500 for what some stores would take for a step in a path; upstream's own store finds it, so late that
    /// nobody makes a 400 of it.
    fn check(&self, storage: &StorageSpec, key: &str) -> Result<()> {
        let relative = key.strip_prefix(self.resource.config().prefix.as_str()).unwrap_or(key);
        let relative = relative.trim_end_matches('/');
        if !relative.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Ok(());
        }
        let key = go_quote::quote(&format!("/{}/{relative}", storage.prefix));
        Err(Status::unmapped(format!("invalid key: {key}")).into())
    }
}

/// The stored resources by storage prefix.
type Stored = HashMap<Arc<str>, Arc<StoredResource>>;

/// The verbs. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    delegator: Delegator,
    /// Of writes to the delegator's store.
    turns: Arc<KeyQueues>,
    /// What all keys begin with.
    prefix: Arc<str>,
    /// By storage prefix.
    stored: Arc<ArcSwap<Stored>>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    event_ttl: Duration,
    /// By storage prefix.
    allocators: Arc<HashMap<&'static str, Arc<dyn Allocator>>>,
    settings: Settings,
    older: Arc<EmulatedStorage>,
    serves: Serves,
}

/// Whether a row is served now.
pub type Serves = Arc<dyn Fn(&Resource<'_>) -> bool + Send + Sync>;

impl Registry {
    /// Verbs over `delegator`, which must have been given what [`crate::ingest::resources`] makes of
    /// `prefix`, for example `/registry`. Events live for `event_ttl`.
    pub fn new(
        delegator: Delegator,
        prefix: &str,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        event_ttl: Duration,
    ) -> Self {
        let stored = ingest::stored_rows().filter_map(|(_, storage)| {
            let resource = delegator.resource(&ingest::keys_of(prefix, storage.prefix))?;
            let stored = StoredResource { resource, fields: Fields::of(storage.prefix), converter: None };
            Some((storage.prefix.into(), Arc::new(stored)))
        });
        let stored = Arc::new(ArcSwap::from_pointee(stored.collect()));
        let (turns, allocators, settings) = (Arc::default(), Arc::default(), Settings::default());
        let (prefix, older) = (prefix.into(), Arc::default());
        let serves: Serves = Arc::new(|row| !row.off_by_default);
        Registry {
            delegator,
            turns,
            prefix,
            stored,
            clock,
            entropy,
            event_ttl,
            allocators,
            settings,
            older,
            serves,
        }
    }

    /// These verbs, with the pools that the objects of some resources take from; each is named by its storage
    /// prefix, for example `services/specs`.
    #[must_use]
    pub fn with_allocators(self, allocators: HashMap<&'static str, Arc<dyn Allocator>>) -> Self {
        Registry { allocators: Arc::new(allocators), ..self }
    }

    /// The same with what the server's flags say to the rules of kinds, and in which versions objects are
    /// stored that follow from them. Without, nothing is allowed that a flag would have to allow.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        let older = Arc::new(EmulatedStorage::beside(settings.gates.effective().min_compatibility));
        Registry { settings, older, ..self }
    }

    /// The same where a catalog says what is served. Without, it is what is served by default.
    #[must_use]
    pub fn with_served(self, serves: Serves) -> Self {
        Registry { serves, ..self }
    }

    /// Whether a row is served now.
    pub(crate) fn serves(&self, row: &Resource<'_>) -> bool {
        (self.serves)(row)
    }

    /// Takes the resource in whose storage version `stored` is; `versions` are all its rows, which say what
    /// objects can be selected by. It is cached from now on, and readable before its cache is filled. One with
    /// the same storage prefix is retired first. `outside` converts between the versions if more than their name
    /// differs.
    pub fn install(
        &self,
        stored: Handle,
        versions: &[Handle],
        outside: Option<Arc<dyn Convert>>,
    ) -> Arc<cacher::Resource> {
        let (prefix, entry) = self.entry(stored, versions, outside);
        let resource = Arc::clone(&entry.resource);
        self.add(&[(prefix, entry)]);
        resource
    }

    /// As [`install`](Self::install), of many resources at once: what is copied for one is copied for all.
    pub fn install_all<'a>(
        &self,
        resources: impl IntoIterator<Item = (Handle, &'a [Handle], Option<Arc<dyn Convert>>)>,
    ) {
        let resources = resources.into_iter();
        let entries: Vec<_> =
            resources.map(|(stored, versions, outside)| self.entry(stored, versions, outside)).collect();
        self.add(&entries);
    }

    fn add(&self, entries: &[(Arc<str>, Arc<StoredResource>)]) {
        self.stored.rcu(|known| {
            let mut next = Stored::clone(known);
            next.extend(entries.iter().cloned());
            next
        });
    }

    /// A resource, which has a cache from now on, and its prefix in storage.
    fn entry(
        &self,
        stored: Handle,
        versions: &[Handle],
        outside: Option<Arc<dyn Convert>>,
    ) -> (Arc<str>, Arc<StoredResource>) {
        let fields = Fields::of_rows(versions.iter().map(Handle::row)).gated(&self.settings.gates);
        let Resource { watch_cache, .. } = *stored.row();
        let prefix: Arc<str> = stored.row().stored_form().prefix.into();
        let converter = outside.map(|outside| {
            let main = versions.iter().filter(|version| version.row().subresource.is_empty());
            let versions = main.chain([&stored]).cloned().collect();
            convert::Converter { outside, versions, watches: Arc::default() }
        });
        let config = ingest::resource(&self.prefix, stored, fields.clone(), self.settings.gates, watch_cache);
        let resource = self.delegator.install(config);
        (prefix, Arc::new(StoredResource { resource, fields, converter }))
    }

    /// Lets the resource with this storage prefix go. Its watches end; what it stored stays stored.
    pub fn retire(&self, storage_prefix: &str) {
        self.stored.rcu(|known| {
            let mut next = Stored::clone(known);
            next.remove(storage_prefix);
            next
        });
        self.delegator.retire(&ingest::keys_of(&self.prefix, storage_prefix));
    }

    /// What encoded forms of elements may take.
    pub fn budget(&self) -> &Arc<cacher::Budget> {
        self.delegator.budget()
    }

    /// The feature gates that are open.
    pub fn gates(&self) -> &Gates {
        &self.settings.gates
    }

    /// The time, for what verbs write and printers show.
    pub fn now(&self) -> UnixTime {
        self.clock.now()
    }

    /// The resource of a storage row.
    ///
    /// # Errors
    /// 500 when the delegator was not given it.
    fn stored(&self, storage: &StorageSpec) -> Result<Arc<StoredResource>> {
        let unknown = || Status::internal_error(format!("nothing stores {}", storage.prefix)).into();
        self.stored.load().get(storage.prefix).cloned().ok_or_else(unknown)
    }

    /// The key of an object.
    ///
    /// # Errors
    /// 400 for a name that cannot be a path segment, 500 for such a namespace.
    fn key(&self, storage: &StorageSpec, target: &Target<'_>) -> Result<String> {
        let wrong = names::name_is_path_segment(target.name, false);
        if !wrong.is_empty() {
            let name = go_quote::quote(target.name);
            return Err(
                Status::bad_request(format!("Name parameter invalid: {name}: {}", wrong.join(";"))).into()
            );
        }
        let namespace = if target.resource.namespaced { target.namespace } else { "" };
        let stored = self.stored(storage)?;
        let key = stored.key(namespace, target.name);
        stored.check(storage, &key)?;
        Ok(key)
    }

    /// How the row is stored.
    ///
    /// # Errors
    /// 405 for a resource that is not stored.
    fn storage_of<'t>(&self, target: &Target<'t>, verb: &str) -> Result<&'t StorageSpec<'t>> {
        match &target.resource.storage {
            Some(storage) => Ok(storage),
            None => Err(Status::method_not_supported(&target.group_resource(), verb).into()),
        }
    }

    /// The time to live of an object of this row.
    fn ttl(&self, row: &Resource) -> Option<Duration> {
        row.ttl_seconds.map(|_| self.event_ttl)
    }

    /// Decodes a stored object that is about to be changed, and fills in what has become a default since
    /// it was written. A corrupt one is a 500 that names the key in the log only.
    fn decode(&self, storage: &StorageSpec, key: &str, stored: StoredRef<'_>) -> Result<Object> {
        let mut object = crate::codec::decode_kv(storage, stored, self.gates())
            .map_err(|message| error::corrupt(key, &message))?;
        if let Some(allocator) = self.allocator(storage.prefix) {
            allocator.default_on_read(&mut object);
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
