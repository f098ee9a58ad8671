//! Dependencies of the webhook plugins: the configured webhooks, their transport, and object conversion.

mod calls;
mod versions;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ::api::resources::{self, Handle};
use admission::webhook::{Hook, Hooks, WebhookSource};
use registry::Registry;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};

use crate::admission_manifests::{ConcatCache, MutatingHooks, Source, ValidatingHooks};
pub(crate) use calls::WebhookCalls;
pub(crate) use versions::ServedVersions;

const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

/// The webhooks of one kind of configuration.
#[derive(Clone, Default)]
struct CompiledWebhooks {
    configurations: BTreeMap<Box<str>, Arc<[Arc<Hook>]>>,
    /// All of them, built lazily after a change.
    all: OnceLock<Arc<Hooks>>,
}

impl CompiledWebhooks {
    fn all(&self) -> Arc<Hooks> {
        let all = || self.configurations.values().flat_map(|hooks| hooks.iter().cloned()).collect();
        Arc::clone(self.all.get_or_init(|| Arc::new(Hooks::new(all()))))
    }

    fn apply(&mut self, change: &ObjectChange) {
        self.all = OnceLock::new();
        match change.object() {
            Some(object) => {
                let hooks = Hook::all_of(object).into_iter().map(Arc::new).collect();
                self.configurations.insert(change.name().into(), hooks);
            }
            None => _ = self.configurations.remove(change.name()),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Configurations {
    mutating: CompiledWebhooks,
    validating: CompiledWebhooks,
}

impl Projection for Configurations {
    fn apply(&mut self, change: &ObjectChange) {
        match change.row().plural {
            MUTATING => self.mutating.apply(change),
            _ => self.validating.apply(change),
        }
    }
}

/// Reader of the current webhooks.
#[derive(Clone)]
pub(crate) struct ConfiguredWebhooks {
    stored: Informer<Configurations>,
    mutating: ManifestHooks<MutatingHooks>,
    validating: ManifestHooks<ValidatingHooks>,
}

/// The manifest source, if configured, with the cached concatenation of manifests and stored webhooks.
type ManifestHooks<T> = Option<(Arc<Source<T>>, Arc<ConcatCache<Hooks>>)>;

impl ConfiguredWebhooks {
    /// Creates the reader for a registry, and the task that keeps it up to date.
    pub(crate) fn new(registry: &Registry) -> (Self, InformerTask<Configurations>) {
        let rows =
            [MUTATING, VALIDATING].into_iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let (informer, task) = Informer::new(registry, "webhooks", rows.map(Handle::from).collect());
        (ConfiguredWebhooks { stored: informer, mutating: None, validating: None }, task)
    }

    /// Adds webhooks from manifests. They precede the stored ones.
    pub(crate) fn with_manifests(
        self,
        mutating: Option<Arc<Source<MutatingHooks>>>,
        validating: Option<Arc<Source<ValidatingHooks>>>,
    ) -> Self {
        ConfiguredWebhooks {
            mutating: mutating.map(|source| (source, Arc::default())),
            validating: validating.map(|source| (source, Arc::default())),
            ..self
        }
    }

    /// Waits until all configurations are loaded.
    pub(crate) async fn ready(&self) {
        self.stored.ready().await;
    }

    fn webhooks(&self, of: impl FnOnce(&Configurations) -> &CompiledWebhooks) -> Option<Arc<Hooks>> {
        self.stored.is_ready().then(|| self.stored.read(|view| of(view).all()))
    }
}

impl WebhookSource for ConfiguredWebhooks {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        let stored = self.webhooks(|view| &view.mutating)?;
        Some(match &self.mutating {
            Some((source, joined)) => {
                joined.get_or_join(Arc::clone(&source.current().0), stored, Hooks::concat)
            }
            None => stored,
        })
    }

    fn mutating_manifests(&self) -> Option<Arc<Hooks>> {
        self.mutating.as_ref().map(|(source, _)| Arc::clone(&source.current().0))
    }

    fn validating_manifests(&self) -> Option<Arc<Hooks>> {
        self.validating.as_ref().map(|(source, _)| Arc::clone(&source.current().0))
    }

    fn validating(&self) -> Option<Arc<Hooks>> {
        let stored = self.webhooks(|view| &view.validating)?;
        Some(match &self.validating {
            Some((source, joined)) => {
                joined.get_or_join(Arc::clone(&source.current().0), stored, Hooks::concat)
            }
            None => stored,
        })
    }
}
