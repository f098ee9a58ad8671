//! The roles and bindings that are stored, as authorization reads them.

use std::sync::Arc;

use ::api::resources::{self, Handle};
use authorization::rbac::{Binding, Index, Roles, Rule};
use futures::future::BoxFuture;
use registry::Registry;
use registry::informer::{Informer, ObjectChange, Projection, WhenAsked};

const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// An index that takes changes of objects.
#[derive(Clone, Default)]
pub(crate) struct Indexed(Index);

impl Projection for Indexed {
    fn apply(&mut self, change: &ObjectChange) {
        let (namespace, name, object) = (change.namespace(), change.name(), change.object());
        match change.row().plural {
            "clusterroles" | "roles" => self.0.set_role(namespace, name, object.map(Rule::all_of)),
            _ => {
                let binding = object.map(|object| Binding::of(object, namespace, name));
                self.0.set_binding(namespace, name, binding);
            }
        }
    }
}

/// Reads the index that is current. Until it is known, nobody has anything.
#[derive(Clone)]
pub(crate) struct StoredRoles(WhenAsked<Indexed>);

impl StoredRoles {
    /// Roles of a registry, and what keeps them current while it runs. With `later`, they are read when that has come or
    /// somebody decides by them, who waits for it.
    pub(crate) fn new(
        registry: &Registry,
        later: Option<BoxFuture<'static, ()>>,
    ) -> (Self, BoxFuture<'static, ()>) {
        let rows = RESOURCES.iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let followed = Informer::new(registry, "roles", rows.map(Handle::from).collect());
        let (roles, followed) = WhenAsked::new(followed, later);
        (StoredRoles(roles), followed)
    }

    /// As authorizers take them.
    pub(crate) fn shared(&self) -> Arc<dyn Roles> {
        Arc::new(self.clone())
    }

    /// Waits until all roles and bindings are known, unless those who decide by them do.
    pub(crate) async fn ready(&self) {
        self.0.ready().await;
    }
}

impl Roles for StoredRoles {
    fn filling(&self) -> Option<BoxFuture<'_, ()>> {
        self.0.filling()
    }

    fn look(&self, look: &mut dyn FnMut(&Index)) {
        self.0.read(|view| look(&view.0));
    }
}
