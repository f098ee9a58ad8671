//! Stored roles and bindings for authorization.

use std::sync::Arc;

use ::api::resources::{self, Handle};
use authorization::rbac::{Binding, Index, IndexSource, Rule};
use futures::future::BoxFuture;
use registry::Registry;
use registry::informer::{Informer, ObjectChange, OnDemandInformer, Projection};

const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// RBAC index that applies object changes.
#[derive(Clone, Default)]
pub(crate) struct RoleProjection(Index);

impl Projection for RoleProjection {
    fn apply(&mut self, change: &ObjectChange) {
        let namespace = change.namespace();
        let name = change.name();
        let object = change.object();
        match change.row().plural {
            "clusterroles" | "roles" => self.0.set_role(namespace, name, object.map(Rule::all_of)),
            _ => {
                let binding = object.map(|object| Binding::of(object, namespace, name));
                self.0.set_binding(namespace, name, binding);
            }
        }
    }
}

/// Reader of the current index. Until it is loaded, no user has any permission.
#[derive(Clone)]
pub(crate) struct StoredRoles(OnDemandInformer<RoleProjection>);

impl StoredRoles {
    /// Creates the reader for a registry, and the task that keeps it up to date. With `later`, roles are
    /// loaded when that future completes or on the first decision, which waits for it.
    pub(crate) fn new(
        registry: &Registry,
        later: Option<BoxFuture<'static, ()>>,
    ) -> (Self, BoxFuture<'static, ()>) {
        let rows = RESOURCES.iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let (informer, task) = Informer::new(registry, "roles", rows.map(Handle::from).collect());
        let (roles, followed) = OnDemandInformer::new(informer, task, later);
        (StoredRoles(roles), followed)
    }

    /// Returns it as the authorizers' trait object.
    pub(crate) fn shared(&self) -> Arc<dyn IndexSource> {
        Arc::new(self.clone())
    }

    /// Waits until all roles and bindings are loaded, unless decisions wait for them.
    pub(crate) async fn ready(&self) {
        self.0.ready().await;
    }
}

impl IndexSource for StoredRoles {
    fn start_loading(&self) -> Option<BoxFuture<'_, ()>> {
        self.0.start_loading()
    }

    fn visit(&self, look: &mut dyn FnMut(&Index)) {
        self.0.read(|view| look(&view.0));
    }
}
