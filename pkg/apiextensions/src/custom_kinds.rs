//! Groups of custom resources that come and go while the server runs.

use std::sync::Arc;

use api::catalog::{CustomResource, Group};
use api::cel_times::CelMetrics;
use endpoints::api::WatchMetrics;
use endpoints::routing::served::Served;
use registry::Registry;
use registry::generic::Convert;

/// Takes custom resources in and lets them go. Requests see a change from the next one on; those under way keep
/// what they began with.
#[derive(Clone)]
pub struct CustomKinds {
    registry: Registry,
    served: Arc<Served>,
    watches: Arc<WatchMetrics>,
    /// Where it is noted how long rules take.
    pub cel_times: Arc<CelMetrics>,
}

impl CustomKinds {
    pub fn new(
        registry: Registry,
        served: Arc<Served>,
        watches: Arc<WatchMetrics>,
        cel_times: Arc<CelMetrics>,
    ) -> Self {
        CustomKinds { registry, served, watches, cel_times }
    }

    /// Stores resources and caches what is stored. One with the same storage prefix is let go first, with its
    /// watches. [`serve`](Self::serve) them afterwards.
    /// With each comes who converts between its versions, where more than their name differs.
    pub fn install(&self, resources: &[(CustomResource, Option<Arc<dyn Convert>>)]) {
        let resources = resources.iter();
        self.registry.install_all(resources.map(|(resource, outside)| {
            (resource.stored.clone(), resource.served.as_slice(), outside.clone())
        }));
    }

    /// Serves these groups, whose resources are installed, as they are; one without any is removed. One generation
    /// brings them all: it is made of everything that is served.
    pub fn serve(&self, groups: Vec<Group>) {
        self.served.change(|catalog| {
            let mut changed = catalog.clone();
            groups.iter().for_each(|group| changed.put(group.clone()));
            changed
        });
    }

    /// All is served that was defined at start.
    pub fn complete(&self) {
        self.served.complete();
    }

    /// Ends the watches of a resource that is no longer served, and frees its cache. What is stored stays.
    pub fn retire(&self, resource: &CustomResource) {
        self.registry.retire(resource.stored.row().stored_form().prefix);
        resource.served.iter().for_each(|version| self.watches.forget(version.row()));
    }
}
