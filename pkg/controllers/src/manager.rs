//! Built-in controllers for a server without kube-controller-manager: default service accounts, the ConfigMap
//! with the CA bundle, deletion of namespaces, and garbage collection.
//!
//! ```text
//! watch cache ── changes of every resource ──▶ Graph, namespaces, lease ──▶ WorkQueue ──▶ verbs of the registry
//! ```
//!
//! One task applies the changes and performs the work, so there are no locks. It keeps an index of owners
//! instead of objects. Without changes it sleeps. While another process holds the lease of
//! kube-controller-manager, only the index is kept up to date. Afterwards everything is examined once.

mod collector;
mod conditions;
mod graph;
mod lease;
mod namespace;
mod queue;
mod remote;
mod resources;
mod stored_meta;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use apimachinery::user_info::UserInfo;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, FuturesUnordered, SelectAll};
use futures::{FutureExt, StreamExt};
use registry::Registry;
use registry::client::{APISERVER_USER, LookupError};
use registry::informer::{ObjectChange, ResourceChange, changes};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use collector::{CollectionOutcome, Collector, Dependent};
pub use conditions::ContentReport;
use graph::{Facts, Graph, ObjectKey, Step};
use lease::{ManagerLease, Now};
use namespace::Namespaces;
use queue::{Outcome, Work, WorkQueue};
pub use remote::{Aggregated, CurrentCatalog, RemoteContent};
use resources::{ManagedResource, ResourceTable};
use stored_meta::StoredMeta;

/// Field manager of written objects (upstream's program).
const FIELD_MANAGER: &str = "kube-controller-manager";
/// Maximum number of objects in progress.
const OBJECTS_MAX: usize = 16;
/// Maximum number of namespaces in progress.
const NAMESPACES_MAX: usize = 8;
/// Maximum number of changes that are applied before work continues.
const BATCH_MAX: usize = 256;
/// Maximum duration of one piece of work. It is repeated afterwards, and continues where it was.
const WORK_MAX: Duration = Duration::from_secs(60);
/// Delay before a resource is listed again after missed changes.
const RESYNC_DELAY: Duration = Duration::from_millis(100);

/// Storage prefixes of resources with a meaning of their own.
const NAMESPACES: &str = "namespaces";
const SERVICE_ACCOUNTS: &str = "serviceaccounts";
const CONFIG_MAPS: &str = "configmaps";
const LEASES: &str = "leases";

/// Dependencies of the controllers.
pub struct ManagerOptions {
    /// The served resources, and a receiver that is notified of their changes.
    pub catalog: CurrentCatalog,
    pub catalog_changes: watch::Receiver<()>,
    /// PEM certificates for clients in pods. Without any, no ConfigMap is published.
    pub root_ca: Arc<str>,
    /// Content of namespaces in aggregated API servers.
    pub remote: Arc<dyn RemoteContent>,
}

/// The controllers.
pub struct ControllerManager {
    registry: Registry,
    catalog: CurrentCatalog,
    catalog_changes: watch::Receiver<()>,
    collector: Collector,
    namespaces: Namespaces,
    table: Arc<ResourceTable>,
    streams: SelectAll<BoxStream<'static, Item>>,
    watched: HashMap<Arc<str>, ResourceWatch>,
    state: State,
    running: FuturesUnordered<BoxFuture<'static, WorkResult>>,
}

/// Change of a resource, with its storage prefix.
struct Item {
    prefix: Arc<str>,
    change: ResourceChange,
}

/// Result of a piece of work.
struct WorkResult {
    work: Work,
    outcome: Outcome,
    unknown_kind: bool,
}

/// A resource whose changes are watched.
struct ResourceWatch {
    stop: CancellationToken,
    /// True if its current state is known.
    complete: bool,
    /// True after changes were missed.
    resyncs: bool,
}

impl ControllerManager {
    /// Creates the controllers for the objects of a registry.
    ///
    /// # Errors
    /// A resource of the core group is not served.
    pub fn new(registry: &Registry, options: ManagerOptions) -> Result<Self, LookupError> {
        let ManagerOptions { catalog, catalog_changes, root_ca, remote } = options;
        let user = UserInfo { name: APISERVER_USER.to_owned(), ..UserInfo::default() };
        Ok(ControllerManager {
            collector: Collector { registry: registry.clone(), user: Arc::new(user) },
            namespaces: Namespaces::new(registry, root_ca, remote)?,
            registry: registry.clone(),
            catalog,
            catalog_changes,
            table: Arc::default(),
            streams: SelectAll::new(),
            watched: HashMap::new(),
            state: State::default(),
            running: FuturesUnordered::new(),
        })
    }

    /// Runs the controllers until this is dropped.
    pub async fn run(mut self) {
        self.follow_catalog();
        loop {
            self.start_work();
            let due = self.state.next_due();
            tokio::select! {
                biased;
                Some(item) = self.streams.next() => self.apply_batch(item),
                Some(finished) = self.running.next() => self.finish(finished),
                Ok(()) = self.catalog_changes.changed() => self.follow_catalog(),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.state.advance(Instant::now());
                }
                else => return,
            }
        }
    }

    /// Watches the resources of the current catalog, and no others.
    fn follow_catalog(&mut self) {
        let table = Arc::new(ResourceTable::of(&(self.catalog)()));
        let is_gone = |prefix: &Arc<str>| table.find(prefix).is_none();
        let gone: Vec<_> = self.watched.keys().filter(|prefix| is_gone(prefix)).cloned().collect();
        for prefix in gone {
            if let Some(watched) = self.watched.remove(&prefix) {
                watched.stop.cancel();
            }
            self.state.remove_resource(&prefix);
        }
        for resource in table.collectable() {
            if !self.watched.contains_key(&resource.prefix) {
                let stop = CancellationToken::new();
                self.streams.push(items(&self.registry, resource, stop.clone()));
                self.watched.insert(
                    Arc::clone(&resource.prefix),
                    ResourceWatch { stop, complete: false, resyncs: false },
                );
            }
        }
        if table.find(LEASES).is_none() {
            // No other process can hold one.
            self.state.finish_list(LEASES);
        }
        self.table = table;
        self.state.retry_unknown_kinds();
    }

    /// Applies a change and those that are ready behind it.
    fn apply_batch(&mut self, first: Item) {
        self.apply(first);
        for _ in 1..BATCH_MAX {
            match self.streams.next().now_or_never() {
                Some(Some(item)) => self.apply(item),
                _ => break,
            }
        }
    }

    fn apply(&mut self, item: Item) {
        let Item { prefix, change } = item;
        let Some(watched) = self.watched.get_mut(&prefix) else { return };
        match change {
            ResourceChange::Change(change) => {
                let now = Now { unix: self.registry.now(), instant: Instant::now() };
                self.state.apply(&prefix, &change, now);
            }
            ResourceChange::Complete => {
                watched.complete = true;
                self.state.finish_list(&prefix);
                if watched.resyncs {
                    self.state.wake_all();
                }
            }
            ResourceChange::Gap => {
                watched.complete = false;
                watched.resyncs = true;
                self.state.start_resync(&prefix);
            }
        }
    }

    /// Starts as much work as allowed. Objects wait until all owners and dependents are known.
    fn start_work(&mut self) {
        if !self.state.is_active() {
            return;
        }
        while let Some(work) = self.state.queue.start_namespace(NAMESPACES_MAX) {
            let task = self.run_namespace(work);
            self.running.push(task);
        }
        if !self.watched.values().all(|watched| watched.complete) {
            return;
        }
        while let Some(work) = self.state.queue.start_object(OBJECTS_MAX) {
            let task = self.run_object(work);
            self.running.push(task);
        }
    }

    fn run_namespace(&self, work: Work) -> BoxFuture<'static, WorkResult> {
        let namespaces = self.namespaces.clone();
        let table = Arc::clone(&self.table);
        let task = async move {
            let Work::Namespace(name) = &work else { return WorkResult::of(work, Outcome::Done) };
            let result = timeout(WORK_MAX, namespaces.reconcile(&table, name)).await;
            let outcome = match result {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(status)) => {
                    tracing::debug!(%name, error = status.message, "the namespace is tried again");
                    Outcome::Failed
                }
                Err(_) => Outcome::Failed,
            };
            WorkResult::of(work, outcome)
        };
        task.boxed()
    }

    fn run_object(&mut self, work: Work) -> BoxFuture<'static, WorkResult> {
        let plan = match &work {
            Work::Object(key) => self.state.graph.plan(key).map(|plan| (Arc::clone(key), plan)),
            Work::Namespace(_) => None,
        };
        let Some((key, plan)) = plan else {
            return std::future::ready(WorkResult::of(work, Outcome::Done)).boxed();
        };
        let mut orphans = Vec::new();
        match &plan.step {
            Step::WaitFor { dependents } => dependents.iter().for_each(|key| self.state.wake(key)),
            Step::Orphan { dependents } => {
                let dependent = |key: &ObjectKey| {
                    let prefix = Arc::clone(self.state.graph.prefix(key)?);
                    Some(Dependent { key: Arc::clone(key), prefix })
                };
                orphans = dependents.iter().filter_map(dependent).collect();
            }
            Step::FinishForeground | Step::CheckOwners(_) => {}
        }
        let collector = self.collector.clone();
        let table = Arc::clone(&self.table);
        let task = async move {
            let result = timeout(WORK_MAX, collector.collect(&table, &key, &plan, &orphans)).await;
            let unknown_kind = matches!(result, Ok(Ok(CollectionOutcome::UnknownKind)));
            let outcome = match result {
                Ok(Ok(_)) => Outcome::Done,
                Ok(Err(status)) => {
                    tracing::debug!(%key, error = status.message, "the object is tried again");
                    Outcome::Failed
                }
                Err(_) => Outcome::Failed,
            };
            WorkResult { work, outcome, unknown_kind }
        };
        task.boxed()
    }

    fn finish(&mut self, finished: WorkResult) {
        let WorkResult { work, outcome, unknown_kind } = finished;
        if unknown_kind && let Work::Object(key) = &work {
            self.state.unknown_kinds.insert(Arc::clone(key));
        }
        self.state.queue.finish(work, outcome, Instant::now());
    }
}

impl WorkResult {
    fn of(work: Work, outcome: Outcome) -> Self {
        WorkResult { work, outcome, unknown_kind: false }
    }
}

/// Returns the changes of a resource until it is no longer served. After missed changes the resource is listed
/// again.
fn items(
    registry: &Registry,
    resource: &ManagedResource,
    stop: CancellationToken,
) -> BoxStream<'static, Item> {
    let registry = registry.clone();
    let row = resource.endpoint.row.clone();
    let prefix = Arc::clone(&resource.prefix);
    let attempts = stream::iter(0_u64..).then(move |attempt| {
        let stream = changes(&registry, row.clone());
        async move {
            if attempt > 0 {
                sleep(RESYNC_DELAY).await;
            }
            stream
        }
    });
    let items = attempts.flatten().map(move |change| Item { prefix: Arc::clone(&prefix), change });
    items.take_until(stop.cancelled_owned()).boxed()
}

/// State of the controllers without input and output.
#[derive(Default)]
struct State {
    graph: Graph,
    queue: WorkQueue,
    lease: ManagerLease,
    /// True while no other process holds the lease.
    active: bool,
    /// True once the state of the lease is known.
    lease_is_known: bool,
    /// All namespaces, with true for a terminating one.
    namespaces: BTreeMap<Arc<str>, bool>,
    /// Objects with an owner of a kind that is not served.
    unknown_kinds: HashSet<ObjectKey>,
    /// Time until which another process holds the lease.
    held_until: Option<Instant>,
}

impl State {
    fn is_active(&self) -> bool {
        self.active
    }

    /// Returns the time of the next event that needs no change.
    fn next_due(&self) -> Option<Instant> {
        if self.active { self.queue.next_due() } else { self.held_until }
    }

    fn advance(&mut self, now: Instant) {
        self.follow_lease(now);
        if self.active {
            self.queue.release_due(now);
        }
    }

    fn apply(&mut self, prefix: &Arc<str>, change: &ObjectChange, now: Now) {
        self.index(prefix, change);
        match &**prefix {
            NAMESPACES => self.apply_namespace(change),
            SERVICE_ACCOUNTS if change.is_deleted() && change.name() == namespace::ACCOUNT => {
                self.wake_namespace(change.namespace());
            }
            CONFIG_MAPS if change.name() == namespace::ROOT_CA => self.wake_namespace(change.namespace()),
            LEASES if (change.namespace(), change.name()) == (lease::NAMESPACE, lease::NAME) => {
                self.lease.observe(change.object(), now);
                if self.lease_is_known {
                    self.follow_lease(now.instant);
                }
            }
            _ => {}
        }
        // The deletion of a namespace waits for its objects.
        if change.is_deleted() && self.namespaces.get(change.namespace()) == Some(&true) {
            self.wake_namespace(change.namespace());
        }
    }

    /// Updates the index of owners.
    fn index(&mut self, prefix: &Arc<str>, change: &ObjectChange) {
        let storage = change.row().stored_form();
        let mut woken = Vec::new();
        if change.is_deleted() {
            self.unknown_kinds.remove(change.key());
            let uid = change.last_bytes().filter(|_| self.graph.has_dependents());
            let stored = uid.and_then(|bytes| StoredMeta::read(storage, bytes));
            self.graph.remove(change.key(), stored.as_ref().map(StoredMeta::uid), &mut woken);
        } else if let Some(stored) = change.bytes().and_then(|bytes| StoredMeta::read(storage, bytes))
            && let Some(owners) = stored.owners()
        {
            let facts = Facts { uid: stored.uid().to_owned(), owners, deletion: stored.deletion() };
            self.graph.update(change.key(), prefix, &facts, &mut woken);
        }
        woken.iter().for_each(|key| self.wake(key));
    }

    fn apply_namespace(&mut self, change: &ObjectChange) {
        match change.object() {
            Some(namespace) => {
                let is_terminating = api::meta::is_deleting(namespace);
                self.namespaces.insert(change.name().into(), is_terminating);
                self.wake_namespace(change.name());
            }
            None => _ = self.namespaces.remove(change.name()),
        }
    }

    fn start_resync(&mut self, prefix: &str) {
        self.graph.start_resync(prefix);
        if prefix == NAMESPACES {
            self.namespaces.clear();
        }
    }

    /// Ends the initial list of a resource, or a later one.
    fn finish_list(&mut self, prefix: &str) {
        let mut woken = Vec::new();
        self.graph.finish_resync(prefix, &mut woken);
        woken.iter().for_each(|key| self.wake(key));
        if prefix == LEASES && !self.lease_is_known {
            self.lease_is_known = true;
            self.follow_lease(Instant::now());
        }
    }

    fn remove_resource(&mut self, prefix: &str) {
        let mut woken = Vec::new();
        self.graph.remove_resource(prefix, &mut woken);
        woken.iter().for_each(|key| self.wake(key));
    }

    /// Processes the objects again whose owners had an unknown kind.
    fn retry_unknown_kinds(&mut self) {
        for key in std::mem::take(&mut self.unknown_kinds) {
            self.wake(&key);
        }
    }

    fn wake(&mut self, key: &ObjectKey) {
        if self.active {
            self.queue.add(Work::Object(Arc::clone(key)));
        }
    }

    fn wake_namespace(&mut self, name: &str) {
        if self.active && self.namespaces.contains_key(name) {
            self.queue.add(Work::Namespace(name.into()));
        }
    }

    /// Stops or starts the work as the lease requires. After a start, everything is examined.
    fn follow_lease(&mut self, now: Instant) {
        self.held_until = self.lease.held_until(now);
        let active = self.held_until.is_none();
        if active == self.active {
            return;
        }
        self.active = active;
        if !active {
            tracing::info!("kube-controller-manager holds its lease: the built-in controllers stop");
            self.queue.clear();
            return;
        }
        tracing::info!("the built-in controllers start");
        self.wake_all();
    }

    /// Queues everything: at the start of the work, and after missed changes.
    fn wake_all(&mut self) {
        if !self.active {
            return;
        }
        let namespaces: Vec<_> = self.namespaces.keys().cloned().collect();
        namespaces.into_iter().for_each(|name| self.queue.add(Work::Namespace(name)));
        let objects: Vec<_> = self.graph.keys().cloned().collect();
        objects.into_iter().for_each(|key| self.queue.add(Work::Object(key)));
    }
}
