//! StorageVersions: the versions in which each server stores and reads each resource (KEP-2339, upstream's
//! `apiserver/pkg/storageversion`). Every server writes its own entries, and accepts writes of a resource
//! only afterwards. Storage migration waits until all entries agree.
//!
//! As in upstream, custom resources are not included.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::api::catalog::Catalog;
use ::api::resources::{self, Resource, StorageSpec};
use ::api::tree;
use apimachinery::time::UnixTime;
use component_base::features::Effective;
use endpoints::write_barrier::WriteBarrier;
use jsontree::{Value, json};
use registry::Registry;
use registry::client::{Client, ReadFreshness};
use schema::object::{self, Object};
use tokio::time::sleep;

use crate::desired_state::{create_if_missing, object};
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, Schedule, Tasks};

const GROUP: &str = "internal.apiserver.k8s.io";
/// The versions that upstream's servers of this release can decode, in order of preference. One line per
/// resource: `GROUP RESOURCE: VERSION…`.
const DECODABLE: &str = include_str!("storage_versions/decodable.txt");
/// Upstream's fixed value for the versions of CRDs, regardless of their storage version.
const DEFINITIONS: (&str, &str) = ("customresourcedefinitions", "apiextensions.k8s.io/v1beta1");
/// Poll interval for prerequisites.
const WAIT: Duration = Duration::from_millis(100);
/// Delay before a complete retry.
const RETRY: Duration = Duration::from_secs(1);
/// Interval of checks for objects that rarely change.
const ROUNDS: Schedule = Schedule {
    name: "storage versions",
    period: Duration::from_secs(600),
    jitter: 0.0,
    first: FirstRound::AfterPeriod,
};

/// This server's entry for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Name of the object: `GROUP.RESOURCE`.
    name: String,
    encoding: String,
    decodable: Vec<String>,
    served: Vec<String>,
    /// The resources with this storage, by group and name.
    resources: Vec<(String, String)>,
}

/// Writes the StorageVersions of this server.
pub struct StorageVersions {
    entries: Vec<Entry>,
    client: Client,
    status: Client,
    leases: Client,
    /// Identity of this server in the cluster.
    server: String,
    barrier: Arc<Barrier>,
}

impl StorageVersions {
    /// Creates the entries for a catalog. `releases` determine the storage versions.
    /// `server` is the identity of this one.
    ///
    /// # Errors
    /// StorageVersions are not served.
    pub fn new(
        registry: &Registry,
        catalog: &Catalog,
        releases: Effective,
        server: String,
    ) -> Result<Self, Error> {
        let row = resources::find(GROUP, "v1alpha1", "storageversions", "");
        let row = row.filter(|row| catalog.serves(row));
        let row = row.ok_or(Error::Missing(
            "the feature gate StorageVersionAPI needs --runtime-config=internal.apiserver.k8s.io/v1alpha1=true",
        ))?;
        let entries = entries(catalog, releases);
        let barrier = Arc::new(Barrier::pending_for(&entries));
        Ok(StorageVersions {
            entries,
            client: Client::of(registry, row),
            status: Client::of(registry, row).with_subresource("status")?,
            leases: Client::find(registry, "coordination.k8s.io", "leases")?,
            server,
            barrier,
        })
    }

    /// Returns the barrier for early writes.
    pub fn barrier(&self) -> Arc<dyn WriteBarrier> {
        Arc::clone(&self.barrier) as Arc<dyn WriteBarrier>
    }

    /// Writes all entries, and keeps checking them.
    pub fn hook(self, tasks: &Tasks) -> PostStartHook {
        let tasks = tasks.clone();
        let versions = Arc::new(self);
        let work = Box::pin(async move {
            versions.wait_for_identity().await;
            while let Err(error) = versions.register().await {
                tracing::warn!(%error, "not all storage versions are registered yet");
                sleep(RETRY).await;
            }
            versions.barrier.open.store(true, Relaxed);
            tasks.spawn(ROUNDS, move || {
                let versions = Arc::clone(&versions);
                async move { versions.register().await }
            });
            Ok(())
        });
        PostStartHook { name: "built-in-resources-storage-version-updater", work }
    }

    /// Waits for this server's identity, because other servers remove entries without one.
    async fn wait_for_identity(&self) {
        let lease = || self.leases.get("kube-system", &self.server, ReadFreshness::Latest);
        while !matches!(lease().await, Ok(Some(_))) {
            sleep(WAIT).await;
        }
    }

    async fn register(&self) -> Result<(), Error> {
        let mut failed = None;
        for entry in &self.entries {
            match self.register_one(entry).await {
                Ok(()) => self.barrier.record(entry, Ok(())),
                Err(error) => {
                    self.barrier.record(entry, Err(&error));
                    failed = Some(error.context(entry.name.as_str()));
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn register_one(&self, entry: &Entry) -> Result<(), Error> {
        let empty = object(json!({"metadata": {"name": entry.name}, "spec": {}}));
        let created =
            self.client.reconcile("", &entry.name, &|current| create_if_missing(current, &empty)).await;
        created?;
        let now = self.status.now();
        let desired = |current: Option<&Object>| registered(current?, &self.server, entry, now);
        // Reads the store, because the cache may lag behind a recent creation.
        self.status.reconcile_existing("", &entry.name, &desired).await?;
        Ok(())
    }
}

/// Rejects writes of resources that are not registered yet.
struct Barrier {
    open: AtomicBool,
    /// The error of the last attempt, by group and name.
    pending: Mutex<HashMap<(String, String), Option<String>>>,
}

impl Barrier {
    fn pending_for(entries: &[Entry]) -> Self {
        let all = entries.iter().flat_map(|entry| entry.resources.iter().cloned());
        Barrier { open: AtomicBool::new(false), pending: Mutex::new(all.map(|name| (name, None)).collect()) }
    }

    fn record(&self, entry: &Entry, outcome: Result<(), &Error>) {
        if self.open.load(Relaxed) {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &entry.resources {
            match &outcome {
                Ok(()) => drop(pending.remove(name)),
                Err(error) => drop(pending.insert(name.clone(), Some(error.to_string()))),
            }
        }
    }
}

impl WriteBarrier for Barrier {
    fn pending(&self, group: &str, resource: &str) -> Option<Option<String>> {
        if self.open.load(Relaxed) {
            return None;
        }
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.get(&(group.to_owned(), resource.to_owned())).cloned()
    }
}

/// Returns the entries for a catalog: one for each stored resource, under the first of its names.
fn entries(catalog: &Catalog, releases: Effective) -> Vec<Entry> {
    let mut entries: BTreeMap<&'static str, Entry> = BTreeMap::new();
    let of_group = |group: &'static resources::Group| {
        let rows = group.versions.iter().flat_map(|version| group.resources_of(version.version));
        rows.map(move |row| (group, row))
    };
    let stored = |row: &Resource<'_>| row.subresource.is_empty() && catalog.serves(row);
    let rows = resources::groups().iter().flat_map(of_group);
    let mut rows: Vec<_> = rows.filter(|(_, row)| stored(row)).collect();
    rows.sort_by_key(|(_, row)| (row.group, row.plural));
    for (group, row) in rows {
        let Some(storage) = row.storage else { continue };
        let entry = entries.entry(storage.prefix).or_insert_with(|| {
            let encoding = encoding(group, row.plural, &storage, releases);
            let decodable = decodable(row.group, row.plural, row.group_version);
            let group = if row.group.is_empty() { "core" } else { row.group };
            let name = format!("{group}.{}", row.plural);
            Entry { name, encoding, decodable, served: Vec::new(), resources: Vec::new() }
        });
        let name = (row.group.to_owned(), row.plural.to_owned());
        if entry.resources.first().is_none_or(|first| *first == name) {
            entry.served.push(row.group_version.to_owned());
        }
        if !entry.resources.contains(&name) {
            entry.resources.push(name);
        }
    }
    let mut entries: Vec<Entry> = entries.into_values().collect();
    for entry in &mut entries {
        let place = |version: &String| entry.decodable.iter().position(|decodable| decodable == version);
        entry.served.sort_by_key(place);
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

fn encoding(group: &resources::Group, plural: &str, storage: &StorageSpec, releases: Effective) -> String {
    if plural == DEFINITIONS.0 {
        return DEFINITIONS.1.to_owned();
    }
    resources::storage_version(group, plural, releases).unwrap_or(storage.group_version).to_owned()
}

/// Returns the versions in which a resource can be decoded.
fn decodable(group: &str, plural: &str, served: &str) -> Vec<String> {
    let named = if group.is_empty() { "core" } else { group };
    let line = DECODABLE.lines().find_map(|line| {
        let (name, versions) = line.split_once(": ")?;
        (name.split_once(' ')? == (named, plural)).then_some(versions)
    });
    let Some(versions) = line else { return vec![served.to_owned()] };
    let full = |version: &str| {
        if version.contains('/') || group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        }
    };
    versions.split(' ').map(full).collect()
}

/// Returns a StorageVersion with a server's entry; `None` if it already contains it.
fn registered(current: &Object, server: &str, entry: &Entry, now: UnixTime) -> Option<Object> {
    let server_version = json!({
        "apiServerID": server,
        "encodingVersion": entry.encoding,
        "decodableVersions": entry.decodable,
        "servedVersions": entry.served,
    });
    let empty = Object::new();
    let status = tree::child(current, "status").unwrap_or(&empty);
    let mut servers = tree::list(status, "storageVersions").to_vec();
    let of_server = |version: &Value| version.get("apiServerID").and_then(Value::as_str) == Some(server);
    match servers.iter_mut().find(|version| of_server(version)) {
        Some(before) => *before = server_version,
        None => servers.push(server_version),
    }
    let mut new = current.clone();
    let before = tree::maybe_text(status, "commonEncodingVersion");
    let common = common_encoding_version(&servers).map(str::to_owned);
    object::set(&mut new, &["status", "storageVersions"], servers);
    match &common {
        Some(common) => object::set(&mut new, &["status", "commonEncodingVersion"], common.as_str()),
        None => drop(object::remove(&mut new, &["status", "commonEncodingVersion"])),
    }
    let moved = before.is_some() && common.is_some() && before != common.as_deref();
    let conditions = conditions(tree::list(status, "conditions"), common.is_some(), moved, now);
    object::set(&mut new, &["status", "conditions"], conditions);
    (&new != current).then_some(new)
}

/// Returns the version in which all servers store.
fn common_encoding_version(servers: &[Value]) -> Option<&str> {
    let mut versions = servers.iter().map(|version| version.get("encodingVersion").and_then(Value::as_str));
    let first = versions.next()??;
    versions.all(|version| version == Some(first)).then_some(first)
}

/// Returns the conditions with an updated `AllEncodingVersionsEqual`. Its time is that of the last
/// transition. `moved` is true if the common version changed although the status did not.
fn conditions(before: &[Value], agree: bool, moved: bool, now: UnixTime) -> Vec<Value> {
    let (status, reason, message) = if agree {
        ("True", "CommonEncodingVersionSet", "Common encoding version set")
    } else {
        ("False", "CommonEncodingVersionUnset", "Common encoding version unset")
    };
    let mut conditions = before.to_vec();
    let is_it =
        |condition: &Value| condition.get("type").and_then(Value::as_str) == Some("AllEncodingVersionsEqual");
    let place = conditions.iter().position(is_it);
    let old = place.and_then(|place| conditions.get(place));
    let unchanged =
        old.is_some_and(|old| old.get("status").and_then(Value::as_str) == Some(status)) && !moved;
    let since = old.filter(|_| unchanged).and_then(|old| old.get("lastTransitionTime").cloned());
    let condition = json!({
        "type": "AllEncodingVersionsEqual",
        "status": status,
        "lastTransitionTime": since.unwrap_or_else(|| now.rfc3339().to_string().into()),
        "reason": reason,
        "message": message,
    });
    match place.and_then(|place| conditions.get_mut(place)) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
    conditions
}
