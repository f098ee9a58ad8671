//! CRD controller: serves custom resources and writes the conditions of their CRDs (upstream's
//! `apiextensions-apiserver/pkg/controller`).
//!
//! One task watches the CRDs. A change is served first, and the conditions are written afterwards. A client
//! that sees an established CRD on this server therefore finds its resource. Every replica does the same.
//! Writes are computed from the stored object, so a second replica finds nothing to write.

mod cleanup;
mod conditions;
mod conversion;
mod definitions;
mod metrics;
mod names;
mod serving;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::api::resources::custom::BULK;
use ::api::resources::{self, Handle};
use apimachinery::gvk::GroupResource;
use apimachinery::status::Reason;
use endpoints::routing::served::ResourceRequests;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use registry::client::LookupError;
use registry::client::{ReadFreshness, ReconcileOutcome};
use registry::informer::{Informer, InformerTask};
use registry::{Client, Registry};
use schema::json::decode_outline;
use schema::object::Object;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::custom_kinds::CustomKinds;
use crate::custom_versions::CustomVersions;
use cleanup::Cleanup;
use conditions::{StatusInputs, may_change};
pub use conversion::{ConversionDeps, ConversionMetrics};
use definitions::{Definition, Definitions};
pub use metrics::DefinitionMetrics;
use names::PendingNames;
use serving::{KindsSnapshot, Serving, SharedKinds};

/// Maximum number of concurrent CRD writes.
const WRITES_MAX: usize = 32;
/// Delay after a failed write.
const RETRY: Duration = Duration::from_secs(1);

fn lock(accepted: &Mutex<PendingNames>) -> MutexGuard<'_, PendingNames> {
    accepted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Result for one CRD.
enum Outcome {
    /// It is up to date.
    UpToDate {
        /// Valid as long as the serving state of its resource does not change.
        serves: bool,
    },
    /// It was changed or deleted, and will be processed again.
    Superseded,
    /// The result is unknown.
    Failed,
}

/// Current state of the CRDs of a server.
#[derive(Clone)]
pub struct DefinitionsHandle {
    read: Informer<Definitions>,
    served: SharedKinds,
}

/// Snapshot of the state of a server's CRDs, for a server that starts with the same CRDs. Cheap to clone.
#[derive(Clone, Default)]
pub struct DefinitionsSnapshot {
    read: Arc<Definitions>,
    served: KindsSnapshot,
}

impl DefinitionsHandle {
    /// Returns a snapshot.
    pub fn now(&self) -> DefinitionsSnapshot {
        DefinitionsSnapshot { read: self.read.snapshot(), served: self.served.now() }
    }
}

/// On-demand requests before all CRDs are loaded.
pub struct OnDemandDefinitions {
    /// Requests for one resource or for all.
    pub requests: ResourceRequests,
    /// Notified when a request needs all CRDs.
    pub load_all: Option<oneshot::Sender<()>>,
}

/// The CRD controller.
pub struct CustomResources {
    informer: Informer<Definitions>,
    status: Client,
    serving: Serving,
    cleanup: Arc<Cleanup>,
    /// CRDs whose objects are being deleted.
    cleaning: HashSet<String>,
    cleanups: JoinSet<String>,
    pending_names: Mutex<PendingNames>,
    /// CRDs that are up to date, with their revision and serving state.
    up_to_date: HashMap<String, (i64, bool)>,
    versions: watch::Sender<CustomVersions>,
}

impl CustomResources {
    /// Creates the controller for a registry's CRDs, and the task that watches them. CRDs in `snapshot` are not
    /// read or compiled again.
    ///
    /// # Errors
    /// CRDs are not served.
    pub fn new(
        registry: &Registry,
        kinds: CustomKinds,
        webhooks: ConversionDeps,
        snapshot: DefinitionsSnapshot,
        metrics: Arc<DefinitionMetrics>,
    ) -> Result<(Self, InformerTask<Definitions>), LookupError> {
        let group = "apiextensions.k8s.io";
        let plural = "customresourcedefinitions";
        let row = resources::find(group, "v1", plural, "").map(Handle::from);
        let rows = row.into_iter().collect();
        let empty = move || Definitions::sharing(Arc::clone(&snapshot.read));
        let (informer, following) = Informer::with_initial_view(empty, registry, plural, rows);
        let status = Client::find(registry, group, plural)?.with_subresource("status")?;
        let minor = registry.gates().effective().min_compatibility.minor;
        let custom = CustomResources {
            cleanup: Arc::new(Cleanup::new(registry.clone(), status.clone())),
            serving: Serving::new(kinds, webhooks, metrics, minor, snapshot.served),
            cleaning: HashSet::new(),
            cleanups: JoinSet::new(),
            pending_names: Mutex::default(),
            up_to_date: HashMap::new(),
            versions: watch::Sender::default(),
            informer,
            status,
        };
        Ok((custom, following))
    }

    /// Completes when all CRDs are loaded.
    pub fn loaded(&self) -> impl Future<Output = ()> + Send + use<> {
        let informer = self.informer.clone();
        async move { informer.ready().await }
    }

    /// Returns the state for servers that start with the same CRDs.
    pub fn kinds(&self) -> DefinitionsHandle {
        DefinitionsHandle { read: self.informer.clone(), served: self.serving.shared() }
    }

    /// Returns a receiver of the served versions.
    pub fn versions(&self) -> watch::Receiver<CustomVersions> {
        self.versions.subscribe()
    }

    /// Serves CRDs until dropped. Notifies `first` when all CRDs that existed at start are served. With
    /// `meanwhile`, CRDs requested on demand are served earlier.
    pub async fn run(mut self, first: oneshot::Sender<()>, meanwhile: Option<OnDemandDefinitions>) {
        let mut first = Some(first);
        if let Some(meanwhile) = meanwhile {
            self.serve_on_demand(meanwhile).await;
        }
        let mut last_change = None;
        let mut failed = false;
        loop {
            tokio::select! {
                () = self.informer.wait_for(|view| Some(view.changes()) != last_change) => {}
                () = sleep(RETRY), if failed => {}
                Some(ended) = self.cleanups.join_next() => {
                    // A failed cleanup is retried if the CRD still exists.
                    ended.iter().for_each(|name| _ = self.cleaning.remove(name));
                }
            }
            let (changes, readable, definitions) =
                self.informer.read(|view| (view.changes(), view.is_complete(), view.all()));
            last_change = Some(changes);
            let foreseen = {
                let mut accepted = lock(&self.pending_names);
                accepted.remove_received(&definitions);
                accepted.predict_names(&definitions)
            };
            let outcome = self.serving.serve(&foreseen);
            let complete = outcome.complete && readable;
            self.versions.send_if_modified(|published| {
                let versions = outcome.changed.then(|| self.serving.versions());
                let versions = versions.filter(|versions| *versions != published.served);
                let differs = versions.is_some() || published.complete != complete;
                published.served = versions.unwrap_or_else(|| take(&mut published.served));
                published.complete = complete;
                differs
            });
            if let Some(first) = first.take() {
                self.serving.complete();
                // The receiver may be gone.
                _ = first.send(());
            }
            failed = !self.write_conditions(&definitions, &foreseen).await;
            self.clean_up(&definitions);
        }
    }

    /// Serves single CRDs on demand, until all are loaded.
    async fn serve_on_demand(&mut self, mut meanwhile: OnDemandDefinitions) {
        let informer = self.informer.clone();
        let mut on_demand = BTreeMap::new();
        loop {
            let next = tokio::select! {
                () = informer.ready() => return,
                Some(next) = meanwhile.requests.recv() => next,
            };
            let is_served = match next {
                Some(resource) => self.serve_one(&resource, &mut on_demand).await,
                None => false,
            };
            if !is_served {
                // The receiver may be gone.
                meanwhile.load_all.take().map(|sender| sender.send(()));
            }
        }
    }

    /// Serves the CRD of a resource, in addition to `earlier` ones. Returns true if it is served.
    async fn serve_one(
        &mut self,
        resource: &GroupResource,
        earlier: &mut BTreeMap<String, Arc<Definition>>,
    ) -> bool {
        let name = format!("{}.{}", resource.resource, resource.group);
        if !earlier.contains_key(&name) {
            let Some(definition) = self.stored(&name).await else { return false };
            earlier.insert(name.clone(), Arc::new(definition));
            let all: Vec<_> = earlier.values().cloned().collect();
            self.serving.serve(&all);
        }
        earlier.get(&name).is_some_and(|definition| self.serving.serves(definition))
    }

    /// Reads a stored CRD. Unreadable CRDs are reported later, when all are loaded.
    async fn stored(&self, name: &str) -> Option<Definition> {
        let element = self.status.element("", name, ReadFreshness::Cached).await.ok()??;
        let bytes = element.value().ok()?;
        Definition::read(decode_outline(bytes, BULK).ok()?, element.revision(), bytes.clone())
    }

    /// Writes missing conditions, several at a time. `foreseen` contains the CRDs as served. Returns false if
    /// a write failed.
    async fn write_conditions(
        &mut self,
        definitions: &[Arc<Definition>],
        foreseen: &[Arc<Definition>],
    ) -> bool {
        let mut settled = take(&mut self.up_to_date);
        settled
            .retain(|name, _| definitions.binary_search_by(|definition| definition.name.cmp(name)).is_ok());
        let mut writes: Vec<BoxFuture<'_, (&Definition, Outcome)>> = Vec::new();
        for (definition, foreseen) in definitions.iter().zip(foreseen) {
            let serves = self.serving.serves(foreseen);
            // Name conflicts depend on other CRDs; everything else only on the recorded state.
            let as_then = settled.get(&definition.name) == Some(&(definition.revision, serves));
            let is_settled = as_then && definition.names == definition.accepted_names;
            if !is_settled && may_change(definition, serves) {
                let write = self.write(definition, definitions, serves);
                writes.push(Box::pin(async move { (&**definition, write.await) }));
            }
        }
        let mut writes = stream::iter(writes).buffer_unordered(WRITES_MAX);
        let mut well = true;
        while let Some((definition, outcome)) = writes.next().await {
            match outcome {
                Outcome::Failed => well = false,
                Outcome::UpToDate { serves } => {
                    settled.insert(definition.name.clone(), (definition.revision, serves));
                }
                Outcome::Superseded => {}
            }
        }
        drop(writes);
        self.up_to_date = settled;
        well
    }

    /// Writes the missing conditions of a CRD. Reserves its names once they are accepted.
    async fn write(&self, definition: &Definition, definitions: &[Arc<Definition>], serves: bool) -> Outcome {
        let now = self.status.now();
        let desired = |current: Option<&Object>| {
            let mut accepted = lock(&self.pending_names);
            let other_names = || accepted.other_names(definition, definitions);
            let desired =
                StatusInputs { uid: &definition.uid, other_names, serves, now }.desired(current?)?;
            accepted.reserve(definition, &desired);
            Some(desired)
        };
        // An unestablished CRD always needs a write. For others, the cached object shows the difference.
        let amended = if definition.is_new() || serves && !definition.is("Established") {
            self.status.reconcile_existing("", &definition.name, &desired).await
        } else {
            self.status.reconcile("", &definition.name, &desired).await.map(ReconcileOutcome::from)
        };
        let written = amended.as_ref().ok().filter(|amended| amended.written);
        lock(&self.pending_names).finish_write(definition, written.map(|amended| amended.revision));
        match amended {
            Ok(amended) if amended.revision == definition.revision => Outcome::UpToDate { serves },
            Ok(_) => Outcome::Superseded,
            // It was deleted, or will be processed again after another writer's change.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => {
                Outcome::Superseded
            }
            Err(status) => {
                tracing::warn!(name = definition.name, error = status.message, "a definition's status");
                Outcome::Failed
            }
        }
    }

    /// Starts to delete the objects of deleted CRDs.
    fn clean_up(&mut self, definitions: &[Arc<Definition>]) {
        for definition in definitions.iter().filter(|definition| definition.waits_for_cleanup()) {
            if !self.cleaning.insert(definition.name.clone()) {
                continue;
            }
            let cleanup = Arc::clone(&self.cleanup);
            let row = self.serving.stored_row(definition);
            let definition = Arc::clone(definition);
            self.cleanups.spawn(async move {
                cleanup.run(&definition, row).await;
                definition.name.clone()
            });
        }
    }
}
