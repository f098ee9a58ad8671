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
mod names;
mod serving;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ::api::resources::{self, Handle};
use registry::follow::{Follower, Following};
use registry::{Client, Registry};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::api_services::CustomVersions;
use crate::custom_kinds::CustomKinds;
use cleanup::Cleanup;
use conditions::Judge;
pub(crate) use conversion::{Common, ConversionFigures};
use definitions::{Definition, Definitions};
use names::Accepted;
use serving::Serving;

/// The pause after a write that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Serves what is defined.
pub(crate) struct CustomResources {
    follower: Follower<Definitions>,
    status: Client,
    serving: Serving,
    cleanup: Arc<Cleanup>,
    /// Definitions whose objects are being deleted.
    cleaning: HashSet<String>,
    cleanups: JoinSet<String>,
    accepted: Accepted,
    versions: watch::Sender<CustomVersions>,
}

impl CustomResources {
    /// What serves the definitions of a registry, and what follows them while it runs.
    ///
    /// # Errors
    /// Definitions are not served.
    pub(crate) fn new(
        registry: &Registry,
        kinds: CustomKinds,
        webhooks: Common,
    ) -> Result<(Self, Following<Definitions>), String> {
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let row = resources::find(group, "v1", plural, "").map(Handle::from);
        let (follower, following) = Follower::new(registry, plural, row.into_iter().collect());
        let status = Client::find(registry, group, plural)?.through("status")?;
        let minor = registry.gates().effective().min_compatibility.minor;
        let custom = CustomResources {
            cleanup: Arc::new(Cleanup::new(registry.clone(), status.clone())),
            serving: Serving::new(kinds, webhooks, minor),
            cleaning: HashSet::new(),
            cleanups: JoinSet::new(),
            accepted: Accepted::default(),
            versions: watch::Sender::default(),
            follower,
            status,
        };
        Ok((custom, following))
    }

    /// What is served, as long as this runs.
    pub(crate) fn versions(&self) -> watch::Receiver<CustomVersions> {
        self.versions.subscribe()
    }

    /// Serves definitions until this is dropped. `first` is told when all that was defined at start is served.
    pub(crate) async fn run(mut self, first: oneshot::Sender<()>) {
        let mut first = Some(first);
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
            let (changes, definitions) = self.follower.read(|view| (view.changes(), view.all()));
            seen = Some(changes);
            self.serving.serve(&definitions);
            let served = self.serving.versions();
            self.versions.send_if_modified(|before| {
                let differs = *before != served;
                *before = served;
                differs
            });
            if let Some(first) = first.take() {
                // Who waits for it may have gone.
                _ = first.send(());
            }
            failed = !self.judge(&definitions).await;
            self.clean_up(&definitions);
        }
    }

    /// Writes the conditions that definitions lack; says whether all writes went well.
    async fn judge(&mut self, definitions: &[Arc<Definition>]) -> bool {
        let mut well = true;
        self.accepted.forget_known(definitions);
        for definition in definitions {
            let written = {
                let judge = Judge {
                    uid: &definition.uid,
                    taken: self.accepted.of_group(&definition.group, definitions),
                    serves: self.serving.serves(definition),
                    now: self.status.now(),
                };
                if !judge.has_to_write(definition) {
                    continue;
                }
                self.status.keep("", &definition.name, &|current| judge.wanted(current?)).await
            };
            match written {
                Ok(kept) => {
                    if let Some(object) = kept.object.filter(|_| kept.written) {
                        self.accepted.note(definition, &object);
                    }
                }
                // It went, or will be seen again as somebody else left it.
                Err(status) if matches!(&*status.reason, "NotFound" | "Conflict") => {}
                Err(status) => {
                    tracing::warn!(name = definition.name, error = status.message, "a definition's status");
                    well = false;
                }
            }
        }
        well
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
