//! Custom resources as endpoints.

use std::sync::{Arc, OnceLock};

use super::{Endpoint, Endpoints, Group, Owner, Version};
use crate::managed_fields::FieldManager;
use crate::resources::Handle;

/// The priority of groups of custom resources.
const PRIORITY: u32 = 1000;
/// The priority of their versions.
const VERSION_PRIORITY: i32 = 100;

/// A custom resource.
#[derive(Debug, Clone)]
pub struct CustomResource {
    /// The row of the version that objects are stored in, served or not.
    pub stored: Handle,
    /// The rows of the versions that are served, subresources included.
    pub served: Vec<Handle>,
    /// Made when it is served first. Clones share them, and so do all catalogs that serve it.
    endpoints: Arc<OnceLock<Vec<Arc<Endpoint>>>>,
}

impl CustomResource {
    /// The resource with these rows: of what is stored, and of what is served.
    pub fn new(stored: Handle, served: Vec<Handle>) -> Self {
        CustomResource { stored, served, endpoints: Arc::default() }
    }

    /// The endpoints of the resource. Each manages fields in all served versions of its kind.
    fn endpoints(&self) -> &[Arc<Endpoint>] {
        self.endpoints.get_or_init(|| self.create_endpoints().collect())
    }

    fn create_endpoints(&self) -> impl Iterator<Item = Arc<Endpoint>> {
        self.served.iter().map(|handle| {
            let row = handle.row();
            let others = self.served.iter().filter(|other| {
                let other = other.row();
                (other.kind, other.subresource) == (row.kind, row.subresource) && other.version != row.version
            });
            let own_shape = row.kind == self.stored.row().kind;
            let by_webhook = row.custom.is_some_and(|custom| custom.kind.converts_by_webhook);
            // The shape of trees: see `codec` of the registry.
            let stored = if own_shape && !by_webhook {
                self.stored.row().stored_form().group_version
            } else {
                row.kind_group_version
            };
            let fields = FieldManager::of(handle.clone(), others.cloned(), stored);
            Arc::new(Endpoint { row: handle.clone(), fields })
        })
    }
}

impl Group {
    /// The group of custom resources with this name. Its versions come in the order of `versions`; those that
    /// serve nothing are left out.
    pub fn custom(name: &str, versions: &[&str], resources: &[CustomResource]) -> Self {
        let endpoints: Vec<_> = resources.iter().flat_map(CustomResource::endpoints).collect();
        let version = |name: &&str| {
            let own = endpoints.iter().filter(|endpoint| endpoint.row.row().version == *name);
            let endpoints: Endpoints = own.map(|endpoint| Arc::clone(endpoint)).collect();
            let served = !endpoints.is_empty();
            served.then(|| Version {
                name: (*name).to_owned(),
                owner: Owner::Custom,
                priority: VERSION_PRIORITY,
                endpoints,
            })
        };
        let versions = versions.iter().filter_map(version).collect();
        Group { name: name.to_owned(), priority: PRIORITY, versions }
    }
}
