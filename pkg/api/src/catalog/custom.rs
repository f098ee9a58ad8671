//! Custom resources as endpoints.

use std::sync::{Arc, OnceLock};

use super::{Endpoint, Endpoints, Group, Owner, Version};
use crate::managed_fields::FieldManager;
use crate::resources::Handle;

const PRIORITY: u32 = 1000;
const VERSION_PRIORITY: i32 = 100;

#[derive(Debug, Clone)]
pub struct CustomResource {
    /// Row of the storage version, served or not.
    pub stored: Handle,
    /// Rows of the served versions, including subresources.
    pub served: Vec<Handle>,
    /// Created on first use. Clones and all catalogs that serve the resource share them.
    endpoints: Arc<OnceLock<Vec<Arc<Endpoint>>>>,
}

impl CustomResource {
    /// Creates a custom resource from the row of its storage version and the rows of its served versions.
    pub fn new(stored: Handle, served: Vec<Handle>) -> Self {
        CustomResource { stored, served, endpoints: Arc::default() }
    }

    /// Returns the endpoints of the resource. Each one manages fields in all served versions of its kind.
    fn endpoints(&self) -> &[Arc<Endpoint>] {
        self.endpoints.get_or_init(|| self.create_endpoints().collect())
    }

    fn create_endpoints(&self) -> impl Iterator<Item = Arc<Endpoint>> {
        self.served.iter().map(|handle| {
            let row = handle.row();
            let other_versions = self.served.iter().filter(|other| {
                let other = other.row();
                (other.kind, other.subresource) == (row.kind, row.subresource) && other.version != row.version
            });
            let own_shape = row.kind == self.stored.row().kind;
            let by_webhook = row.custom.is_some_and(|custom| custom.kind.converts_by_webhook);
            // The version of the trees: see `codec` of the registry.
            let stored = if own_shape && !by_webhook {
                self.stored.row().stored_form().group_version
            } else {
                row.kind_group_version
            };
            let fields = FieldManager::new(handle.clone(), other_versions.cloned(), stored);
            Arc::new(Endpoint { row: handle.clone(), fields })
        })
    }
}

impl Group {
    /// Creates the group of custom resources with this name. Its versions have the order of `versions`;
    /// versions without resources are omitted.
    pub fn custom(name: &str, versions: &[&str], resources: &[CustomResource]) -> Self {
        let endpoints: Vec<_> = resources.iter().flat_map(CustomResource::endpoints).collect();
        let version = |name: &&str| {
            let of_version = endpoints.iter().filter(|endpoint| endpoint.row.row().version == *name);
            let endpoints: Endpoints = of_version.map(|endpoint| Arc::clone(endpoint)).collect();
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
