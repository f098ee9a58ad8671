//! Served resources with stored objects, by storage prefix and by kind.

use std::collections::HashMap;
use std::sync::Arc;

use api::catalog::{Catalog, Endpoint};
use api::resources::Resource;
use registry::Target;

/// Resources whose objects never have dependents, as in upstream's garbage collector.
const IGNORED: &str = "events";

/// A stored resource.
pub(super) struct ManagedResource {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) prefix: Arc<str>,
}

impl ManagedResource {
    pub(super) fn row(&self) -> &Resource<'_> {
        self.endpoint.row.row()
    }

    /// Returns the target for an object with this storage key.
    pub(super) fn target<'a>(&'a self, key: &'a str) -> Target<'a> {
        let row = self.row();
        let mut segments = key.rsplit('/');
        let name = segments.next().unwrap_or("");
        let namespace = segments.next().filter(|_| row.namespaced).unwrap_or("");
        Target { resource: row, namespace, name }
    }

    /// Returns the resource in upstream's form for messages, `plural.group`.
    pub(super) fn group_resource(&self) -> String {
        let row = self.row();
        format!("{}.{}", row.plural, row.group)
    }
}

/// The resources of one generation of the catalog.
#[derive(Default)]
pub(super) struct ResourceTable {
    by_prefix: HashMap<Arc<str>, Arc<ManagedResource>>,
    /// By `apiVersion` and kind.
    by_kind: HashMap<(String, String), Arc<ManagedResource>>,
}

impl ResourceTable {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut table = ResourceTable::default();
        for endpoint in catalog.endpoints() {
            let row = endpoint.row.row();
            let Some(storage) = row.storage.filter(|_| row.subresource.is_empty()) else { continue };
            if !["delete", "list", "watch"].into_iter().all(|verb| row.serves(verb)) {
                continue;
            }
            // The version that is stored needs no conversion.
            let is_stored = storage.group_version == row.group_version;
            let known = table.by_prefix.get(storage.prefix);
            let resource = match known.filter(|_| !is_stored) {
                Some(known) => Arc::clone(known),
                None => {
                    let prefix: Arc<str> = storage.prefix.into();
                    let endpoint = Arc::clone(endpoint);
                    let resource = Arc::new(ManagedResource { endpoint, prefix: Arc::clone(&prefix) });
                    table.by_prefix.insert(prefix, Arc::clone(&resource));
                    resource
                }
            };
            table.by_kind.insert((row.kind_group_version.to_owned(), row.kind.to_owned()), resource);
        }
        table
    }

    pub(super) fn find(&self, prefix: &str) -> Option<&Arc<ManagedResource>> {
        self.by_prefix.get(prefix)
    }

    /// Finds the resource of an owner reference.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<ManagedResource>> {
        self.by_kind.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Iterates over the resources whose objects can have owners.
    pub(super) fn collectable(&self) -> impl Iterator<Item = &Arc<ManagedResource>> {
        self.by_prefix.values().filter(|resource| &*resource.prefix != IGNORED)
    }

    /// Iterates over the resources in namespaces.
    pub(super) fn namespaced(&self) -> impl Iterator<Item = &Arc<ManagedResource>> {
        self.by_prefix.values().filter(|resource| resource.row().namespaced)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_unique_by_prefix() {
        let table = ResourceTable::of(&Catalog::builtin(|row| !row.off_by_default));
        let versions = ["autoscaling/v1", "autoscaling/v2"];
        let found = versions.map(|version| table.of_kind(version, "HorizontalPodAutoscaler").unwrap());
        assert!(Arc::ptr_eq(found[0], found[1]) || found[0].prefix == found[1].prefix);
        assert!(table.of_kind("v1", "Scale").is_none() && table.of_kind("v1", "ComponentStatus").is_none());
        let prefixes: Vec<_> = table.collectable().map(|resource| &*resource.prefix).collect();
        assert!(prefixes.contains(&"pods") && !prefixes.contains(&"events"));
        assert!(table.namespaced().any(|resource| &*resource.prefix == "events"));
        assert!(table.namespaced().all(|resource| resource.row().plural != "nodes"));
    }

    #[test]
    fn targets_follow_the_scope() {
        let table = ResourceTable::of(&Catalog::builtin(|_| true));
        let pods = table.find("pods").unwrap();
        let target = pods.target("/registry/pods/ns/a");
        assert_eq!((target.namespace, target.name), ("ns", "a"));
        let nodes = table.find("minions").unwrap();
        let target = nodes.target("/registry/minions/n");
        assert_eq!((target.namespace, target.name), ("", "n"));
        assert_eq!(pods.group_resource(), "pods.");
    }
}
