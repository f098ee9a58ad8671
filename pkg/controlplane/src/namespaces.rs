//! Informer of namespaces for admission, which needs them on every write.

use std::collections::HashMap;
use std::sync::Arc;

use ::api::resources::{self, Handle};
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};
use registry::{Registry, meta};

/// Namespaces by name, with true if not terminating.
#[derive(Clone, Default)]
pub(crate) struct NamespaceProjection(HashMap<Box<str>, bool>);

impl Projection for NamespaceProjection {
    fn apply(&mut self, change: &ObjectChange) {
        match change.object() {
            Some(namespace) => _ = self.0.insert(change.name().into(), !meta::is_deleting(namespace)),
            None => _ = self.0.remove(change.name()),
        }
    }
}

/// Reader of the namespaces.
#[derive(Clone)]
pub(crate) struct Namespaces(Informer<NamespaceProjection>);

impl Namespaces {
    /// Creates the reader for a registry, and the task that keeps it up to date.
    pub(crate) fn new(registry: &Registry) -> (Self, InformerTask<NamespaceProjection>) {
        let row = resources::find("", "v1", "namespaces", "").map(Handle::from);
        let (informer, task) = Informer::new(registry, "namespaces", row.into_iter().collect());
        (Namespaces(informer), task)
    }

    /// Returns it as admission's trait object.
    pub(crate) fn shared(&self) -> Arc<dyn admission::NamespaceStates> {
        Arc::new(self.clone())
    }
}

impl admission::NamespaceStates for Namespaces {
    fn is_active(&self, name: &str) -> Option<bool> {
        self.0.read(|namespaces| namespaces.0.get(name).copied())
    }
}
