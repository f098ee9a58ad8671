//! Who serves what: one generation of groups, versions and resources.
//!
//! A catalog is never changed. When something comes or goes, a new one is made of the old one and takes its place;
//! groups in which nothing changed are shared by both. A request takes one generation and keeps it.

mod custom;
mod definition;
mod endpoints;
mod proxied;
mod serving;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use component_base::features::Release;

use crate::managed_fields::FieldManager;
use crate::resources::{self, Handle, Resource};

pub use custom::CustomResource;
pub use definition::Definition;
pub use endpoints::Endpoints;
pub use proxied::{Document, Proxied, ProxiedVersion};
pub use serving::ServedSelection;

/// The priority that upstream's aggregator gives its own group.
const AGGREGATOR_PRIORITY: u32 = 20_000;

/// One generation.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// What is served, by name.
    groups: Vec<Arc<Group>>,
    /// What this server answers for itself, by name, also where others answer instead.
    own: Vec<Arc<Group>>,
    /// What others answer for, by the name of the group.
    proxied: BTreeMap<String, Vec<ProxiedVersion>>,
    /// Whose API it is.
    release: Release,
}

/// An API group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Group name; empty for the core group.
    pub name: String,
    /// Groups are listed by descending priority, then by name.
    pub priority: u32,
    /// In order of preference.
    pub versions: Vec<Version>,
}

/// A served version of a group.
#[derive(Debug, Clone)]
pub struct Version {
    /// For example `v1`.
    pub name: String,
    /// Who answers for it.
    pub owner: Owner,
    /// Where others answer for versions of the same group, those with a higher number come first.
    pub priority: i32,
    /// None where another server answers.
    pub endpoints: Endpoints,
}

/// Who answers for a group version.
#[derive(Debug, Clone, PartialEq)]
pub enum Owner {
    /// This server. Its paths are strict about methods and media types.
    Builtin,
    /// CustomResourceDefinitions.
    Custom,
    /// Another server, which also answers the version's own document.
    Proxied(Arc<Proxied>),
}

/// A resource or subresource of a version.
#[derive(Debug)]
pub struct Endpoint {
    /// Its row.
    pub row: Handle,
    /// Who keeps its managed fields; `None` where bodies have no metadata.
    pub fields: Option<FieldManager>,
}

impl Endpoint {
    fn key(&self) -> (&str, &str) {
        let row = self.row.row();
        (row.plural, row.subresource)
    }
}

impl Catalog {
    /// The built-in groups with those of their rows that `serves` lets pass. Versions and groups that are left
    /// empty are left out.
    pub fn builtin(serves: impl Fn(&Resource<'_>) -> bool) -> Self {
        let version = |group: &resources::Group, version: &resources::GroupVersion| {
            let rows = group.resources_of(version.version).iter().filter(|row| serves(row));
            let endpoint = |row: &'static Resource<'static>| {
                Arc::new(Endpoint { row: row.into(), fields: FieldManager::new(row, &serves) })
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
        Catalog { own: groups.clone(), groups, ..Catalog::default() }
    }

    /// The same, but it is the API of another release: the one that is emulated.
    #[must_use]
    pub fn of_release(self, release: Release) -> Self {
        Catalog { release, ..self }
    }

    /// The release whose API this is.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The same with `group` instead of the group of its name, or without that group if it has no versions. Built-in
    /// versions of the group stay, and come first; what others answer for stays theirs.
    #[must_use]
    pub fn with(&self, group: Group) -> Self {
        let mut changed = self.clone();
        changed.put(group);
        changed
    }

    /// Makes it what [`with`](Self::with) would make of it.
    pub fn put(&mut self, mut group: Group) {
        if let Some(known) = find(&self.own, &group.name)
            && known.versions.iter().any(|version| version.owner == Owner::Builtin)
        {
            let own = known.versions.iter().filter(|version| version.owner == Owner::Builtin).cloned();
            let mut versions: Vec<Version> = own.collect();
            let others = group.versions.into_iter().filter(|version| known.builtin(&version.name).is_none());
            versions.extend(others);
            group = Group { priority: known.priority, versions, ..group };
        }
        let name = group.name.clone();
        replace(&mut self.own, &name, (!group.versions.is_empty()).then(|| Arc::new(group)));
        self.rebuild_group(&name);
    }

    /// The groups by name.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().map(|group| &**group)
    }

    /// A group.
    pub fn group(&self, name: &str) -> Option<&Group> {
        find(&self.groups, name).map(|group| &**group)
    }

    /// A resource (`subresource` empty) or subresource.
    pub fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        subresource: &str,
    ) -> Option<&Arc<Endpoint>> {
        self.group(group)?.version(version)?.find(plural, subresource)
    }

    /// Every endpoint, group by group.
    pub fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.groups().flat_map(|group| group.versions.iter().flat_map(|version| version.endpoints.iter()))
    }

    /// Whether a row is served.
    pub fn serves(&self, row: &Resource<'_>) -> bool {
        self.find(row.group, row.version, row.plural, row.subresource).is_some()
    }
}

fn find<'g>(groups: &'g [Arc<Group>], name: &str) -> Option<&'g Arc<Group>> {
    if name.is_empty() {
        // The core group, which most requests are about, comes first.
        return groups.first().filter(|group| group.name.is_empty());
    }
    let at = groups.binary_search_by(|group| group.name.as_str().cmp(name)).ok()?;
    groups.get(at)
}

/// Puts a group in the place of the one of its name, or takes that one away.
fn replace(groups: &mut Vec<Arc<Group>>, name: &str, group: Option<Arc<Group>>) {
    let at = groups.binary_search_by(|known| known.name.as_str().cmp(name));
    match (at, group) {
        (Ok(at), None) => drop(groups.remove(at)),
        (Ok(at), Some(group)) => {
            if let Some(known) = groups.get_mut(at) {
                *known = group;
            }
        }
        (Err(_), None) => {}
        (Err(at), Some(group)) => groups.insert(at, group),
    }
}

impl Group {
    /// A version.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// A version that this server itself answers for.
    fn builtin(&self, name: &str) -> Option<&Version> {
        self.version(name).filter(|version| version.owner == Owner::Builtin)
    }

    /// `v1` or `apps/v1`.
    pub fn group_version(&self, version: &Version) -> String {
        match self.name.as_str() {
            "" => version.name.clone(),
            group => format!("{group}/{}", version.name),
        }
    }
}

impl Version {
    /// A resource (`subresource` empty) or subresource.
    pub fn find(&self, plural: &str, subresource: &str) -> Option<&Arc<Endpoint>> {
        self.endpoints.find(plural, subresource)
    }
}
