//! Versions of aggregated API servers, in addition to those of this server.

use std::cmp::Reverse;
use std::sync::Arc;

use apimachinery::kube_version;
use bytes::Bytes;
use schema::object::Object;

use super::{Catalog, Endpoints, Group, Owner, Version, find, replace};

/// Version of an aggregated API server, with the server's documents about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProxiedApiService {
    pub api_service: String,
    /// Entry in aggregated discovery (`APIVersionDiscovery`); `None` if the server never returned it.
    pub discovery: Option<Arc<Object>>,
    /// True if the discovery data may be outdated because the server did not respond.
    pub stale: bool,
    /// OpenAPI 3.0 documents of the server.
    pub documents: Vec<Document>,
    /// Part of the server's OpenAPI 2.0 document: an object with `paths`, `definitions` and `parameters`.
    pub swagger: Option<Bytes>,
}

/// OpenAPI 3.0 document of an aggregated API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Path below `/openapi/v3/`, for example `apis/example.com/v1`.
    pub path: String,
    pub json: Bytes,
}

/// Proxied version with its priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxiedVersion {
    pub name: String,
    /// Minimum priority of the group.
    pub group_priority: u32,
    /// Version priority in its group; higher numbers first.
    pub priority: i32,
    pub proxied: Arc<ProxiedApiService>,
}

impl Catalog {
    /// Returns a catalog in which exactly these versions of a group are proxied. Own versions with the same
    /// names are hidden as long as they are proxied.
    #[must_use]
    pub fn with_proxied(&self, group: &str, versions: Vec<ProxiedVersion>) -> Self {
        let mut changed = self.clone();
        if versions.is_empty() {
            drop(changed.proxied.remove(group))
        } else {
            drop(changed.proxied.insert(group.to_owned(), versions))
        }
        changed.rebuild_group(group);
        changed
    }

    pub fn has_proxied(&self) -> bool {
        !self.proxied.is_empty()
    }

    /// Recomputes a served group from the own and the proxied versions.
    pub(super) fn rebuild_group(&mut self, name: &str) {
        let local = find(&self.local, name).cloned();
        let group = match self.proxied.get(name) {
            None => local,
            Some(proxied) => Some(Arc::new(merge_proxied(name, local.as_deref(), proxied))),
        };
        replace(&mut self.groups, name, group);
    }
}

fn merge_proxied(name: &str, local: Option<&Group>, proxied: &[ProxiedVersion]) -> Group {
    let is_hidden = |version: &&Version| proxied.iter().any(|other| other.name == version.name);
    let local_versions =
        local.into_iter().flat_map(|group| &group.versions).filter(|version| !is_hidden(version));
    let mut versions: Vec<Version> = local_versions.cloned().collect();
    let local_priority = local.filter(|_| !versions.is_empty()).map_or(0, |group| group.priority);
    let priority = proxied.iter().map(|version| version.group_priority).fold(local_priority, u32::max);
    versions.extend(proxied.iter().map(|version| Version {
        name: version.name.clone(),
        owner: Owner::Proxied(Arc::clone(&version.proxied)),
        priority: version.priority,
        endpoints: Endpoints::default(),
    }));
    versions.sort_by(|a, b| {
        let by_priority = Reverse(a.priority).cmp(&Reverse(b.priority));
        by_priority.then_with(|| kube_version::compare(&b.name, &a.name))
    });
    Group { name: name.to_owned(), priority, versions }
}
