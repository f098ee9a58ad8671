//! What the plugins that ask webhooks need: which webhooks are configured, the way to them, and objects in the
//! versions that they want to see.

mod calls;
mod versions;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ::api::resources::{self, Handle};
use admission::webhook::{Configured, Hook, Hooks};
use registry::Registry;
use registry::follow::{Change, Follower, Following, View};

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

    fn apply(&mut self, change: &Change) {
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

impl View for Configurations {
    fn apply(&mut self, change: &Change) {
        match change.row().plural {
            MUTATING => self.mutating.apply(change),
            _ => self.validating.apply(change),
        }
    }
}

/// Reads the webhooks that are configured now.
#[derive(Clone)]
pub(crate) struct ConfiguredWebhooks(Follower<Configurations>);

impl ConfiguredWebhooks {
    /// Those of a registry, and what keeps them current while it runs.
    pub(crate) fn new(registry: &Registry) -> (Self, Following<Configurations>) {
        let rows =
            [MUTATING, VALIDATING].into_iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let (follower, following) = Follower::new(registry, "webhooks", rows.map(Handle::from).collect());
        (ConfiguredWebhooks(follower), following)
    }

    /// Waits until all configurations are known.
    pub(crate) async fn ready(&self) {
        self.0.ready().await;
    }

    fn webhooks(&self, of: impl FnOnce(&Configurations) -> &Webhooks) -> Option<Arc<Hooks>> {
        self.0.is_ready().then(|| self.0.read(|view| of(view).all()))
    }
}

impl Configured for ConfiguredWebhooks {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        self.webhooks(|view| &view.mutating)
    }

    fn validating(&self) -> Option<Arc<Hooks>> {
        self.webhooks(|view| &view.validating)
    }
}
