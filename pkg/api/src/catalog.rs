//! Catalog of the served groups, versions and resources.
//!
//! A catalog is immutable. A change creates a new generation that replaces the old one. Both generations
//! share the unchanged groups. A request uses one generation throughout.

mod custom;
mod definition;
mod endpoints;
mod proxied;
mod serving;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use component_base::features::{Gate, Gates, Release};

use crate::managed_fields::{FieldManager, field_manager};
use crate::resources::{self, Handle, Resource};

pub use custom::CustomResource;
pub use definition::Definition;
pub use endpoints::Endpoints;
pub use proxied::{Document, ProxiedApiService, ProxiedVersion};
pub use serving::{ServedSelection, ServingError};

/// Priority of upstream's aggregator for its own group.
const AGGREGATOR_PRIORITY: u32 = 20_000;

/// One generation of the catalog.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Served groups by name.
    groups: Vec<Arc<Group>>,
    /// Groups that this server implements, by name, including those that another server replaces.
    local: Vec<Arc<Group>>,
    /// Versions of aggregated API servers, by group name.
    proxied: BTreeMap<String, Vec<ProxiedVersion>>,
    /// Kubernetes release of the API.
    release: Release,
    /// True if OpenAPI documents omit enumerations.
    omits_enums: bool,
}

#[derive(Debug, Clone)]
pub struct Group {
    /// Empty for the core group.
    pub name: String,
    /// Listing order: descending priority, then name.
    pub priority: u32,
    /// Versions in order of preference.
    pub versions: Vec<Version>,
}

#[derive(Debug, Clone)]
pub struct Version {
    pub name: String,
    pub owner: Owner,
    /// Version priority; higher numbers first. It matters in groups with versions of an aggregated API
    /// server.
    pub priority: i32,
    /// Empty for a proxied version.
    pub endpoints: Endpoints,
}

/// Implementation behind a group version.
#[derive(Debug, Clone, PartialEq)]
pub enum Owner {
    /// Built into this server. Its paths are strict about methods and media types.
    Builtin,
    /// CustomResourceDefinitions.
    Custom,
    /// Aggregated API server, which also serves the discovery document of the version.
    Proxied(Arc<ProxiedApiService>),
}

#[derive(Debug)]
pub struct Endpoint {
    pub row: Handle,
    /// Field manager; `None` if bodies have no metadata.
    pub fields: Option<FieldManager>,
}

impl Endpoint {
    fn key(&self) -> (&str, &str) {
        let row = self.row.row();
        (row.plural, row.subresource)
    }
}

impl Catalog {
    /// Creates a catalog of the built-in groups with the resources that `serves` accepts. Empty versions and
    /// groups are omitted.
    pub fn builtin(serves: impl Fn(&Resource<'_>) -> bool) -> Self {
        Self::builtin_with_gates(serves, &Gates::default())
    }

    /// As [`builtin`](Self::builtin), with endpoints as these feature gates define them.
    pub fn builtin_with_gates(serves: impl Fn(&Resource<'_>) -> bool, gates: &Gates) -> Self {
        let version = |group: &resources::Group, version: &resources::GroupVersion| {
            let rows = group.resources_of(version.version).iter().filter(|row| serves(row));
            let endpoint = |row: &'static Resource<'static>| {
                let resets_fields = row.reset_gate.is_none_or(|gate| gates.enabled(gate));
                let fields = field_manager(row, &serves);
                let fields =
                    fields.map(|fields| if resets_fields { fields } else { fields.without_reset_fields() });
                Arc::new(Endpoint { row: row.into(), fields })
            };
            Version {
                name: version.version.to_owned(),
                owner: Owner::Builtin,
                priority: i32::try_from(version.priority).unwrap_or(i32::MAX),
                endpoints: rows.map(endpoint).collect(),
            }
        };
        let groups = resources::groups().iter().map(|group| Group {
            name: group.name.to_owned(),
            priority: group.priority.unwrap_or(AGGREGATOR_PRIORITY),
            versions: group
                .versions
                .iter()
                .map(|v| version(group, v))
                .filter(|version| !version.endpoints.is_empty())
                .collect(),
        });
        let served = groups.filter(|group| !group.versions.is_empty()).map(Arc::new);
        let mut groups: Vec<_> = served.collect();
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        let omits_enums = !gates.enabled(Gate::OpenAPIEnums);
        Catalog { local: groups.clone(), groups, omits_enums, ..Catalog::default() }
    }

    /// Returns the catalog with another release, the emulated one.
    #[must_use]
    pub fn of_release(self, release: Release) -> Self {
        Catalog { release, ..self }
    }

    /// False if OpenAPI documents omit enumerations.
    pub fn publishes_enums(&self) -> bool {
        !self.omits_enums
    }

    pub fn release(&self) -> Release {
        self.release
    }

    /// Returns a catalog in which `group` replaces the group of that name, or in which that group is removed
    /// if `group` has no versions. Built-in versions of the group stay, and come first. Proxied versions stay
    /// proxied.
    #[must_use]
    pub fn with_group(&self, group: Group) -> Self {
        let mut changed = self.clone();
        changed.put(group);
        changed
    }

    /// Applies [`with_group`](Self::with_group) in place.
    pub fn put(&mut self, mut group: Group) {
        if let Some(existing) = find(&self.local, &group.name)
            && existing.versions.iter().any(|version| version.owner == Owner::Builtin)
        {
            let builtin = existing.versions.iter().filter(|version| version.owner == Owner::Builtin).cloned();
            let mut versions: Vec<Version> = builtin.collect();
            let custom =
                group.versions.into_iter().filter(|version| existing.builtin(&version.name).is_none());
            versions.extend(custom);
            group = Group { priority: existing.priority, versions, ..group };
        }
        let name = group.name.clone();
        replace(&mut self.local, &name, (!group.versions.is_empty()).then(|| Arc::new(group)));
        self.rebuild_group(&name);
    }

    /// Iterates over the groups by name.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().map(|group| &**group)
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        find(&self.groups, name).map(|group| &**group)
    }

    /// Finds a resource (`subresource` empty) or subresource.
    pub fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        subresource: &str,
    ) -> Option<&Arc<Endpoint>> {
        self.group(group)?.version(version)?.find(plural, subresource)
    }

    /// Iterates over all endpoints, group by group.
    pub fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.groups().flat_map(|group| group.versions.iter().flat_map(|version| version.endpoints.iter()))
    }

    pub fn serves(&self, row: &Resource<'_>) -> bool {
        self.find(row.group, row.version, row.plural, row.subresource).is_some()
    }
}

fn find<'g>(groups: &'g [Arc<Group>], name: &str) -> Option<&'g Arc<Group>> {
    if name.is_empty() {
        // Most requests are for the core group, which comes first.
        return groups.first().filter(|group| group.name.is_empty());
    }
    let at = groups.binary_search_by(|group| group.name.as_str().cmp(name)).ok()?;
    groups.get(at)
}

/// Replaces the group with that name, or removes it.
fn replace(groups: &mut Vec<Arc<Group>>, name: &str, group: Option<Arc<Group>>) {
    let at = groups.binary_search_by(|existing| existing.name.as_str().cmp(name));
    match (at, group) {
        (Ok(at), None) => drop(groups.remove(at)),
        (Ok(at), Some(group)) => {
            if let Some(existing) = groups.get_mut(at) {
                *existing = group;
            }
        }
        (Err(_), None) => {}
        (Err(at), Some(group)) => groups.insert(at, group),
    }
}

impl Group {
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Returns a version that this server implements.
    fn builtin(&self, name: &str) -> Option<&Version> {
        self.version(name).filter(|version| version.owner == Owner::Builtin)
    }

    /// Returns the `apiVersion`, such as `v1` or `apps/v1`.
    pub fn group_version(&self, version: &Version) -> String {
        match self.name.as_str() {
            "" => version.name.clone(),
            group => format!("{group}/{}", version.name),
        }
    }
}

impl Version {
    /// Finds a resource (`subresource` empty) or subresource.
    pub fn find(&self, plural: &str, subresource: &str) -> Option<&Arc<Endpoint>> {
        self.endpoints.find(plural, subresource)
    }
}
