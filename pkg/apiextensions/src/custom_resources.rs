//! CustomResourceDefinitions: what is defined is served, and definitions are told what became of them
//! (upstream's `apiextensions-apiserver/pkg/controller`).
//!
//! One task follows the definitions. A change of one leads to what is served first and to its conditions then, so that
//! who sees a definition established through this server finds its resource. Every replica does the same; their
//! writes are made from what is really there, so that the second one finds nothing to do.

mod cleanup;
mod conditions;
mod conversion;
mod definitions;
mod figures;
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
use registry::client::{Amended, Read};
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
use conditions::{Judge, may_change};
pub use conversion::{Common, ConversionFigures};
use definitions::{Definition, Definitions};
pub use figures::DefinitionFigures;
use names::Accepted;
use serving::{KnownKinds, Serving, SharedKinds};

/// How many definitions are written at a time.
const WRITES_MAX: usize = 32;
/// The pause after a write that failed.
const RETRY: Duration = Duration::from_secs(1);

fn lock(accepted: &Mutex<Accepted>) -> MutexGuard<'_, Accepted> {
    accepted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What came of a look at a definition.
enum Outcome {
    /// It is as it should be.
    Settled {
        /// As long as its resource is served, or is not.
        serves: bool,
    },
    /// It was changed, by whomever, or went: it will be seen again.
    Written,
    /// Nobody knows.
    Failed,
}

/// What a server has made of its definitions, as it changes.
#[derive(Clone)]
pub struct Kinds {
    read: Informer<Definitions>,
    served: SharedKinds,
}

/// What a server had made of its definitions at some time, for one that begins with the same. Cloning shares it.
#[derive(Clone, Default)]
pub struct Known {
    read: Arc<Definitions>,
    served: KnownKinds,
}

impl Kinds {
    /// What there is now.
    pub fn now(&self) -> Known {
        Known { read: self.read.snapshot(), served: self.served.now() }
    }
}

/// What requests ask for before all definitions are known.
pub struct Meanwhile {
    /// A resource, or everything.
    pub asked: ResourceRequests,
    /// Told when somebody asks for everything.
    pub everything: Option<oneshot::Sender<()>>,
}

/// Serves what is defined.
pub struct CustomResources {
    follower: Informer<Definitions>,
    status: Client,
    serving: Serving,
    cleanup: Arc<Cleanup>,
    /// Definitions whose objects are being deleted.
    cleaning: HashSet<String>,
    cleanups: JoinSet<String>,
    accepted: Mutex<Accepted>,
    /// Definitions that were found to be as they should be: the revision, and whether their resource was served.
    settled: HashMap<String, (i64, bool)>,
    versions: watch::Sender<CustomVersions>,
}

impl CustomResources {
    /// What serves the definitions of a registry, and what follows them while it runs. What is `known` already is
    /// neither read nor compiled again.
    ///
    /// # Errors
    /// Definitions are not served.
    pub fn new(
        registry: &Registry,
        kinds: CustomKinds,
        (webhooks, known): (Common, Known),
        figures: Arc<DefinitionFigures>,
    ) -> Result<(Self, InformerTask<Definitions>), String> {
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let row = resources::find(group, "v1", plural, "").map(Handle::from);
        let rows = row.into_iter().collect();
        let empty = move || Definitions::beside(Arc::clone(&known.read));
        let (follower, following) = Informer::beginning_with(empty, registry, plural, rows);
        let status = Client::find(registry, group, plural)?.through("status")?;
        let minor = registry.gates().effective().min_compatibility.minor;
        let custom = CustomResources {
            cleanup: Arc::new(Cleanup::new(registry.clone(), status.clone())),
            serving: Serving::new(kinds, webhooks, figures, minor, known.served),
            cleaning: HashSet::new(),
            cleanups: JoinSet::new(),
            accepted: Mutex::default(),
            settled: HashMap::new(),
            versions: watch::Sender::default(),
            follower,
            status,
        };
        Ok((custom, following))
    }

    /// Done when all definitions are known.
    pub fn known(&self) -> impl Future<Output = ()> + Send + use<> {
        let follower = self.follower.clone();
        async move { follower.ready().await }
    }

    /// What is served, for servers that begin with the same definitions.
    pub fn kinds(&self) -> Kinds {
        Kinds { read: self.follower.clone(), served: self.serving.shared() }
    }

    /// The versions that are served, as long as this runs.
    pub fn versions(&self) -> watch::Receiver<CustomVersions> {
        self.versions.subscribe()
    }

    /// Serves definitions until this is dropped. `first` is told when all that was defined at start is served. Those that
    /// requests ask for `meanwhile`, if anybody hears them, are served before.
    pub async fn run(mut self, first: oneshot::Sender<()>, meanwhile: Option<Meanwhile>) {
        let mut first = Some(first);
        if let Some(meanwhile) = meanwhile {
            self.serve_asked(meanwhile).await;
        }
        let mut seen = None;
        let mut failed = false;
        loop {
            tokio::select! {
                () = self.follower.wait_for(|view| Some(view.changes()) != seen) => {}
                () = sleep(RETRY), if failed => {}
                Some(ended) = self.cleanups.join_next() => {
                    // What failed is tried again if its definition is still there.
                    ended.iter().for_each(|name| _ = self.cleaning.remove(name));
                }
            }
            let (changes, readable, definitions) =
                self.follower.read(|view| (view.changes(), view.is_complete(), view.all()));
            seen = Some(changes);
            let foreseen = {
                let mut accepted = lock(&self.accepted);
                accepted.forget_known(&definitions);
                accepted.foreseen(&definitions)
            };
            let outcome = self.serving.serve(&foreseen);
            let complete = outcome.complete && readable;
            self.versions.send_if_modified(|known| {
                let versions = outcome.changed.then(|| self.serving.versions());
                let versions = versions.filter(|versions| *versions != known.served);
                let differs = versions.is_some() || known.complete != complete;
                known.served = versions.unwrap_or_else(|| take(&mut known.served));
                known.complete = complete;
                differs
            });
            if let Some(first) = first.take() {
                self.serving.complete();
                // Who waits for it may have gone.
                _ = first.send(());
            }
            failed = !self.judge(&definitions, &foreseen).await;
            self.clean_up(&definitions);
        }
    }

    /// Serves single definitions that requests wait for, until all are known.
    async fn serve_asked(&mut self, mut meanwhile: Meanwhile) {
        let (follower, mut asked) = (self.follower.clone(), BTreeMap::new());
        loop {
            let next = tokio::select! {
                () = follower.ready() => return,
                Some(next) = meanwhile.asked.recv() => next,
            };
            let is_served = match next {
                Some(resource) => self.serve_one(&resource, &mut asked).await,
                None => false,
            };
            if !is_served {
                // Who waits for it may have gone.
                meanwhile.everything.take().map(|everything| everything.send(()));
            }
        }
    }

    /// Serves what a resource is defined by, beside what has been `asked` for before. Says whether it is served.
    async fn serve_one(
        &mut self,
        resource: &GroupResource,
        asked: &mut BTreeMap<String, Arc<Definition>>,
    ) -> bool {
        let name = format!("{}.{}", resource.resource, resource.group);
        if !asked.contains_key(&name) {
            let Some(definition) = self.stored(&name).await else { return false };
            asked.insert(name.clone(), Arc::new(definition));
            let all: Vec<_> = asked.values().cloned().collect();
            self.serving.serve(&all);
        }
        asked.get(&name).is_some_and(|definition| self.serving.serves(definition))
    }

    /// A definition as it is stored. What cannot be read is told of when all are.
    async fn stored(&self, name: &str) -> Option<Definition> {
        let element = self.status.element("", name, Read::Cached).await.ok()??;
        let bytes = element.value().ok()?;
        Definition::read(decode_outline(bytes, BULK).ok()?, element.revision(), bytes.clone())
    }

    /// Writes the conditions that definitions lack, some at a time; says whether all writes went well. `foreseen` are
    /// the definitions as they are served.
    async fn judge(&mut self, definitions: &[Arc<Definition>], foreseen: &[Arc<Definition>]) -> bool {
        let mut settled = take(&mut self.settled);
        settled.retain(|name, _| definitions.binary_search_by(|known| known.name.cmp(name)).is_ok());
        let mut writes: Vec<BoxFuture<'_, (&Definition, Outcome)>> = Vec::new();
        for (definition, foreseen) in definitions.iter().zip(foreseen) {
            let serves = self.serving.serves(foreseen);
            // Whether names are free depends on others; all else on what was looked at then.
            let as_then = settled.get(&definition.name) == Some(&(definition.revision, serves));
            let is_settled = as_then && definition.wanted == definition.accepted;
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
                Outcome::Settled { serves } => {
                    settled.insert(definition.name.clone(), (definition.revision, serves));
                }
                Outcome::Written => {}
            }
        }
        drop(writes);
        self.settled = settled;
        well
    }

    /// Writes the conditions that a definition lacks, and says what came of it. Its names are taken from when they are
    /// chosen.
    async fn write(&self, definition: &Definition, definitions: &[Arc<Definition>], serves: bool) -> Outcome {
        let now = self.status.now();
        let wanted = |current: Option<&Object>| {
            let mut accepted = lock(&self.accepted);
            let taken = || accepted.of_others(definition, definitions);
            let wanted = Judge { uid: &definition.uid, taken, serves, now }.wanted(current?)?;
            accepted.reserve(definition, &wanted);
            Some(wanted)
        };
        // Of one that is not established something has to be written; of others perhaps, which the cache can tell.
        let amended = if definition.is_new() || serves && !definition.is("Established") {
            self.status.amend("", &definition.name, &wanted).await
        } else {
            self.status.reconcile("", &definition.name, &wanted).await.map(Amended::from)
        };
        let written = amended.as_ref().ok().filter(|amended| amended.written);
        lock(&self.accepted).settle(definition, written.map(|amended| amended.revision));
        match amended {
            Ok(amended) if amended.revision == definition.revision => Outcome::Settled { serves },
            Ok(_) => Outcome::Written,
            // It went, or will be seen again as somebody else left it.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Outcome::Written,
            Err(status) => {
                tracing::warn!(name = definition.name, error = status.message, "a definition's status");
                Outcome::Failed
            }
        }
    }

    /// Begins to delete the objects of definitions that are deleted.
    fn clean_up(&mut self, definitions: &[Arc<Definition>]) {
        for definition in definitions.iter().filter(|definition| definition.waits_for_cleanup()) {
            if !self.cleaning.insert(definition.name.clone()) {
                continue;
            }
            let (cleanup, row) = (Arc::clone(&self.cleanup), self.serving.stored_row(definition));
            let definition = Arc::clone(definition);
            self.cleanups.spawn(async move {
                cleanup.run(&definition, row).await;
                definition.name.clone()
            });
        }
    }
}
