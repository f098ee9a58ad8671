//! Verbs over storage, implemented once for all resources (upstream's `registry/generic/registry/store.go`).

mod admit;
mod allocate;
mod convert;
mod corrupt;
mod create;
mod csr_durations;
mod delete;
mod delete_collection;
mod dryrun;
mod edit;
mod emulated_storage;
pub(crate) mod error;
mod extent;
mod filter;
mod list;
mod namespace;
mod read;
mod shards;
mod trace;
mod update;
mod watch;

use std::borrow::Cow;
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
use component_base::metrics::MetricsRegistry;
use component_base::weakened::WeakenedDecisions;
use jsontree::Value;
use kinds::validation::kinds::Settings;
use schema::object::Object;
use storage::KeyQueues;

use crate::StoredRef;
use crate::informer::InformerMetrics;
use crate::ingest::{self, Fields};

pub use admit::{AdmissionEffects, Admit, AdmitAll};
use csr_durations::CsrDurations;
use emulated_storage::EmulatedStorage;
pub use kinds::strategy::Entropy;

pub use allocate::{Allocator, Claim};
pub use cacher::{Event, EventType, Extent, Lag, Progress};
pub use convert::{ConversionError, Convert};
pub use create::{CreateRequest, wipe_system_fields};
pub use delete::{DeleteOutcome, DeleteRequest};
pub use edit::Edit;
pub use list::ListPage;
pub use namespace::ensure_namespace;
pub use update::{Change, UpdateOutcome, UpdateRequest};
pub use watch::{WatchEvent, WatchEvents};

/// Result of a verb. The error is always a `Status` that can be sent to the client.
pub type Result<T> = std::result::Result<T, Box<Status>>;

/// Parses a resource version as a revision; 0 for none.
fn revision(text: &str) -> std::result::Result<i64, field::Error> {
    let parsed = apimachinery::resource_version::parse(text)?;
    Ok(i64::try_from(parsed.revision()).unwrap_or(i64::MAX))
}

/// Resource, namespace and name of a request.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Row of the resource itself, never of a subresource.
    pub resource: &'a Resource<'a>,
    /// Empty for cluster-scoped resources and for requests across all namespaces.
    pub namespace: &'a str,
    /// Empty for collections.
    pub name: &'a str,
}

impl Target<'_> {
    /// Resource name for errors.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// Kind for errors about the object itself, in the group of storage, where upstream's scheme finds its
    /// type first. So events of `events.k8s.io` belong to the core group there.
    pub fn group_kind(&self) -> GroupKind {
        let stored = self.resource.storage.as_ref().map(|storage| storage.group_version);
        let group =
            stored.map_or(self.resource.group, |version| version.split_once('/').map_or("", |parts| parts.0));
        GroupKind::new(group, self.resource.kind)
    }

    /// Kind for errors about an object. A custom object uses its own `kind`.
    pub(crate) fn kind_of(&self, object: &Object) -> GroupKind {
        match object.get("kind").and_then(Value::as_str).filter(|_| self.resource.message.open) {
            Some(kind) => GroupKind::new(self.resource.group, kind),
            None => self.group_kind(),
        }
    }
}

struct StoredResource {
    resource: Arc<cacher::Resource>,
    fields: Fields,
    /// Version converter, for a resource with a conversion webhook.
    converter: Option<convert::Converter>,
}

impl StoredResource {
    /// Prefix of all keys, or of the keys of a namespace; ends in `/`.
    fn key_prefix(&self, namespace: &str) -> String {
        self.key(namespace, "")
    }

    /// Key of an object, or the key prefix if the name is empty.
    fn key(&self, namespace: &str, name: &str) -> String {
        let prefix = self.resource.config().prefix.as_str();
        let slash = if namespace.is_empty() { "" } else { "/" };
        [prefix, namespace, slash, name].concat()
    }

    /// Checks a key or key prefix with a namespace from a request path. Until here only object names were
    /// validated.
    ///
    /// # Errors
    /// 500 for path segments that some stores would interpret. Upstream's store also reports them only at
    /// this stage, so it is not a 400.
    fn check(&self, storage: &StorageSpec, key: &str) -> Result<()> {
        let relative = self.relative_key(key).trim_end_matches('/');
        if !relative.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Ok(());
        }
        let key = go_quote::quote(&format!("/{}/{relative}", storage.prefix));
        Err(Status::unmapped(format!("invalid key: {key}")).into())
    }

    /// Returns the part of a key after the prefix of the resource.
    fn relative_key<'k>(&self, key: &'k str) -> &'k str {
        key.strip_prefix(self.resource.config().prefix.as_str()).unwrap_or(key)
    }
}

type StoredResources = HashMap<Arc<str>, Arc<StoredResource>>;

/// The verbs. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    delegator: Delegator,
    /// Write queues of the delegator's store.
    write_queues: Arc<KeyQueues>,
    prefix: Arc<str>,
    /// By storage prefix.
    stored: Arc<ArcSwap<StoredResources>>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    event_ttl: Duration,
    /// By storage prefix.
    allocators: Arc<HashMap<&'static str, Arc<dyn Allocator>>>,
    settings: Settings,
    emulated_storage: Arc<EmulatedStorage>,
    is_served: ServedPredicate,
    weakened: WeakenedDecisions,
    informer_metrics: InformerMetrics,
    csr_durations: CsrDurations,
}

/// Returns true if a row is currently served.
pub type ServedPredicate = Arc<dyn Fn(&Resource<'_>) -> bool + Send + Sync>;

impl Registry {
    /// Creates verbs over `delegator`, which must have the resources of [`crate::ingest::resources`] with the
    /// same `prefix`, for example `/registry`. `event_ttl` is the lifetime of events.
    pub fn new(
        delegator: Delegator,
        prefix: &str,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        event_ttl: Duration,
    ) -> Self {
        let stored = ingest::stored_rows().filter_map(|(_, storage)| {
            let resource = delegator.resource(&ingest::key_prefix_of(prefix, storage.prefix))?;
            let stored = StoredResource { resource, fields: Fields::of(storage.prefix), converter: None };
            Some((storage.prefix.into(), Arc::new(stored)))
        });
        let stored = Arc::new(ArcSwap::from_pointee(stored.collect()));
        let write_queues = Arc::default();
        let allocators = Arc::default();
        let settings = Settings::default();
        let prefix = prefix.into();
        let emulated_storage = Arc::default();
        let is_served: ServedPredicate = Arc::new(|row| !row.off_by_default);
        Registry {
            delegator,
            write_queues,
            prefix,
            stored,
            clock,
            entropy,
            event_ttl,
            allocators,
            settings,
            emulated_storage,
            is_served,
            weakened: WeakenedDecisions::default(),
            informer_metrics: InformerMetrics::default(),
            csr_durations: CsrDurations::default(),
        }
    }

    /// Adds the metrics of the cache, of informers and of verbs to the page.
    pub fn register_metrics(&self, metrics: &MetricsRegistry) {
        self.delegator.register_metrics(metrics);
        self.informer_metrics.register(metrics);
        self.csr_durations.register(metrics);
    }

    pub(crate) fn informer_metrics(&self) -> &InformerMetrics {
        &self.informer_metrics
    }

    /// Adds the allocators of resources, by storage prefix, for example `services/specs`.
    #[must_use]
    pub fn with_allocators(self, allocators: HashMap<&'static str, Arc<dyn Allocator>>) -> Self {
        Registry { allocators: Arc::new(allocators), ..self }
    }

    /// Sets the flags that affect validation and the storage versions. By default nothing is allowed that
    /// needs a flag.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        let emulated_storage = Arc::new(EmulatedStorage::new(settings.gates.effective()));
        Registry { settings, emulated_storage, ..self }
    }

    /// Sets the catalog of served resources. By default it contains the resources that are enabled by
    /// default.
    #[must_use]
    pub fn with_served(self, is_served: ServedPredicate) -> Self {
        Registry { is_served, ..self }
    }

    /// Sets the registry of objects that cannot be read.
    #[must_use]
    pub fn with_weakened(self, weakened: WeakenedDecisions) -> Self {
        Registry { weakened, ..self }
    }

    /// Registry of objects that cannot be read.
    pub fn weakened(&self) -> &WeakenedDecisions {
        &self.weakened
    }

    pub(crate) fn is_served(&self, row: &Resource<'_>) -> bool {
        (self.is_served)(row)
    }

    /// Adds the resource with the storage version `stored`. `versions` are all its rows, which contain its
    /// selectable fields. The resource is cached from now on, and readable before its cache is filled. An
    /// existing resource with the same storage prefix is retired first. `converter` converts between versions
    /// that differ in more than their name.
    pub fn install(
        &self,
        stored: Handle,
        versions: &[Handle],
        converter: Option<Arc<dyn Convert>>,
    ) -> Arc<cacher::Resource> {
        let (prefix, entry) = self.entry(stored, versions, converter);
        let resource = Arc::clone(&entry.resource);
        self.add(&[(prefix, entry)]);
        resource
    }

    /// As [`install`](Self::install), for many resources with a single copy of the table.
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
        self.stored.rcu(|current| {
            let mut next = StoredResources::clone(current);
            next.extend(entries.iter().cloned());
            next
        });
    }

    /// Creates a cached resource, with its storage prefix.
    fn entry(
        &self,
        stored: Handle,
        versions: &[Handle],
        outside: Option<Arc<dyn Convert>>,
    ) -> (Arc<str>, Arc<StoredResource>) {
        let fields = Fields::of_rows(versions.iter().map(Handle::row)).with_gates(&self.settings.gates);
        let Resource { watch_cache, .. } = *stored.row();
        let prefix: Arc<str> = stored.row().stored_form().prefix.into();
        let converter = outside.map(|outside| {
            let main = versions.iter().filter(|version| version.row().subresource.is_empty());
            let versions = main.chain([&stored]).cloned().collect();
            convert::Converter { converter: outside, versions, watch_lock: Arc::default() }
        });
        let config = ingest::resource(&self.prefix, stored, fields.clone(), self.settings.gates, watch_cache);
        let resource = self.delegator.install(config);
        (prefix, Arc::new(StoredResource { resource, fields, converter }))
    }

    /// Removes the resource with this storage prefix. Its watches end; its stored objects remain.
    pub fn retire(&self, storage_prefix: &str) {
        self.stored.rcu(|current| {
            let mut next = StoredResources::clone(current);
            next.remove(storage_prefix);
            next
        });
        self.delegator.retire(&ingest::key_prefix_of(&self.prefix, storage_prefix));
    }

    /// Memory budget of the memo for encoded forms.
    pub fn budget(&self) -> &Arc<cacher::Budget> {
        self.delegator.budget()
    }

    /// Values of the feature gates, for defaults and strategies.
    pub fn gates(&self) -> &Gates {
        &self.settings.gates
    }

    /// Current time, for writes and for printers.
    pub fn now(&self) -> UnixTime {
        self.clock.now()
    }

    /// Returns the resource of a storage row.
    ///
    /// # Errors
    /// 500 if the delegator does not have it.
    fn stored(&self, storage: &StorageSpec) -> Result<Arc<StoredResource>> {
        let unknown = || Status::internal_error(format!("no storage for {}", storage.prefix)).into();
        self.stored.load().get(storage.prefix).cloned().ok_or_else(unknown)
    }

    /// Returns the key of an object.
    ///
    /// # Errors
    /// 400 for a name that is no valid path segment, 500 for such a namespace.
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

    /// Returns the key of an object for the text of a failed precondition. Upstream's dry runs check
    /// preconditions before the store adds its prefix.
    fn key_in_errors<'k>(&self, storage: &StorageSpec, key: &'k str, dry_run: bool) -> Result<Cow<'k, str>> {
        if !dry_run {
            return Ok(Cow::Borrowed(key));
        }
        let relative = self.stored(storage)?.relative_key(key).to_owned();
        Ok(Cow::Owned(format!("/{}/{relative}", storage.prefix)))
    }

    /// Returns the storage spec of a row.
    ///
    /// # Errors
    /// 405 for a resource that is not stored.
    fn storage_of<'t>(&self, target: &Target<'t>, verb: &str) -> Result<&'t StorageSpec<'t>> {
        match &target.resource.storage {
            Some(storage) => Ok(storage),
            None => Err(Status::method_not_supported(&target.group_resource(), verb).into()),
        }
    }

    /// Time to live of new objects of the row.
    fn ttl(&self, row: &Resource) -> Option<Duration> {
        row.ttl_seconds.map(|_| self.event_ttl)
    }

    /// Decodes a stored object for a write, with newer defaults. A corrupt object is a 500, whose key is only
    /// logged.
    fn decode(&self, storage: &StorageSpec, key: &str, stored: StoredRef<'_>) -> Result<Object> {
        let mut object = crate::codec::decode_kv(storage, stored, self.gates())
            .map_err(|error| self.undecodable(key, stored.revision, &error.to_string()))?;
        if let Some(allocator) = self.allocator(storage.prefix) {
            allocator.default_on_read(&mut object);
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
