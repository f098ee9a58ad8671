//! What the plugins that ask webhooks need: which webhooks are configured, the way to them, and objects in the
//! versions that they want to see.

mod calls;
mod versions;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ::api::resources::{self, Handle};
use admission::webhook::{Hook, Hooks, WebhookSource};
use registry::Registry;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};

use crate::admission_manifests::{Joined, MutatingHooks, Source, ValidatingHooks};
pub(crate) use calls::WebhookCalls;
pub(crate) use versions::ServedVersions;

const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

/// The webhooks of one kind of configurations.
#[derive(Clone, Default)]
struct Webhooks {
    configurations: BTreeMap<Box<str>, Arc<[Arc<Hook>]>>,
    /// All of them; made when somebody asks after a change.
    all: OnceLock<Arc<Hooks>>,
}

impl Webhooks {
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

/// All configurations there are.
#[derive(Clone, Default)]
pub(crate) struct Configurations {
    mutating: Webhooks,
    validating: Webhooks,
}

impl Projection for Configurations {
    fn apply(&mut self, change: &ObjectChange) {
        match change.row().plural {
            MUTATING => self.mutating.apply(change),
            _ => self.validating.apply(change),
        }
    }
}

/// Reads the webhooks that are configured now.
#[derive(Clone)]
pub(crate) struct ConfiguredWebhooks {
    stored: Informer<Configurations>,
    mutating: OnDisk<MutatingHooks>,
    validating: OnDisk<ValidatingHooks>,
}

/// What is from manifests, if there may be any, and that with what is stored.
type OnDisk<T> = Option<(Arc<Source<T>>, Arc<Joined<Hooks>>)>;

impl ConfiguredWebhooks {
    /// Those of a registry, and what keeps them current while it runs.
    pub(crate) fn new(registry: &Registry) -> (Self, InformerTask<Configurations>) {
        let rows =
            [MUTATING, VALIDATING].into_iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let (follower, following) = Informer::new(registry, "webhooks", rows.map(Handle::from).collect());
        (ConfiguredWebhooks { stored: follower, mutating: None, validating: None }, following)
    }

    /// These, and before them what is from manifests.
    pub(crate) fn with(
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

    /// Waits until all configurations are known.
    pub(crate) async fn ready(&self) {
        self.stored.ready().await;
    }

    fn webhooks(&self, of: impl FnOnce(&Configurations) -> &Webhooks) -> Option<Arc<Hooks>> {
        self.stored.is_ready().then(|| self.stored.read(|view| of(view).all()))
    }
}

impl WebhookSource for ConfiguredWebhooks {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        let stored = self.webhooks(|view| &view.mutating)?;
        Some(match &self.mutating {
            Some((source, joined)) => joined.of(Arc::clone(&source.current().0), stored, Hooks::followed_by),
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
            Some((source, joined)) => joined.of(Arc::clone(&source.current().0), stored, Hooks::followed_by),
            None => stored,
        })
    }
}
