//! Adds and removes groups of custom resources at run time.

use std::sync::Arc;

use api::catalog::{CustomResource, Group};
use api::cel_times::CelMetrics;
use endpoints::api::WatchMetrics;
use endpoints::routing::served::ServedApi;
use registry::Registry;
use registry::generic::Convert;

/// Installs and removes custom resources. Changes apply from the next request on; requests in progress keep
/// their view.
#[derive(Clone)]
pub struct CustomKinds {
    registry: Registry,
    served: Arc<ServedApi>,
    watches: Arc<WatchMetrics>,
    /// Metrics of validation rule durations.
    pub cel_times: Arc<CelMetrics>,
}

impl CustomKinds {
    pub fn new(
        registry: Registry,
        served: Arc<ServedApi>,
        watches: Arc<WatchMetrics>,
        cel_times: Arc<CelMetrics>,
    ) -> Self {
        CustomKinds { registry, served, watches, cel_times }
    }

    /// Adds resources to storage and watch cache, each with its converter if versions differ in more than
    /// their name. Another resource with the same storage prefix is removed first, with its watches. Call
    /// [`serve`](Self::serve) afterwards.
    pub fn install(&self, resources: &[(CustomResource, Option<Arc<dyn Convert>>)]) {
        let resources = resources.iter();
        self.registry.install_all(resources.map(|(resource, outside)| {
            (resource.stored.clone(), resource.served.as_slice(), outside.clone())
        }));
    }

    /// Serves these groups, whose resources are already installed. A group without resources is removed. All
    /// groups are published in one catalog generation.
    pub fn serve(&self, groups: Vec<Group>) {
        self.served.change(|catalog| {
            let mut changed = catalog.clone();
            groups.iter().for_each(|group| changed.put(group.clone()));
            changed
        });
    }

    /// Marks all CRDs that existed at start as served.
    pub fn complete(&self) {
        self.served.complete();
    }

    /// Ends the watches of a resource that is no longer served, and frees its cache. Stored objects remain.
    pub fn retire(&self, resource: &CustomResource) {
        self.registry.retire(resource.stored.row().stored_form().prefix);
        resource.served.iter().for_each(|version| self.watches.forget(version.row()));
    }
}
