//! Versions that other servers answer for, on top of what this server itself has.

use std::cmp::Reverse;
use std::sync::Arc;

use apimachinery::kube_version;
use bytes::Bytes;
use schema::object::Object;

use super::{Catalog, Endpoints, Group, Owner, Version, find, replace};

/// A version that another server answers for, and what that server says of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proxied {
    /// Name of the APIService by which it does.
    pub api_service: String,
    /// Its entry in aggregated discovery (`APIVersionDiscovery`); none if the server never told.
    pub described: Option<Arc<Object>>,
    /// What is known of its resources may be out of date, because the server did not answer.
    pub stale: bool,
    /// Its documents of OpenAPI 3.0.
    pub documents: Vec<Document>,
    /// Its part of the server's document of OpenAPI 2.0: an object with `paths`, `definitions` and `parameters`.
    pub swagger: Option<Bytes>,
}

/// A document of OpenAPI 3.0 that another server made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Path below `/openapi/v3/`, for example `apis/example.com/v1`.
    pub path: String,
    /// The document.
    pub json: Bytes,
}

/// Such a version, and where its group and itself are listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxiedVersion {
    /// For example `v1`.
    pub name: String,
    /// What the group's priority is at least.
    pub group_priority: u32,
    /// Among the versions of its group, those with a higher number come first.
    pub priority: i32,
    /// Who answers.
    pub proxied: Arc<Proxied>,
}

impl Catalog {
    /// The same with these versions of a group answered for by others, and no further ones. Versions of the same names
    /// that this server has itself are hidden until they are answered for by nobody else.
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

    /// Whether others answer for anything.
    pub fn has_proxied(&self) -> bool {
        !self.proxied.is_empty()
    }

    /// Makes what is served of a group from what there is.
    pub(super) fn rebuild_group(&mut self, name: &str) {
        let own = find(&self.own, name).cloned();
        let group = match self.proxied.get(name) {
            None => own,
            Some(proxied) => Some(Arc::new(merge_proxied(name, own.as_deref(), proxied))),
        };
        replace(&mut self.groups, name, group);
    }
}

fn merge_proxied(name: &str, own: Option<&Group>, proxied: &[ProxiedVersion]) -> Group {
    let hidden = |version: &&Version| proxied.iter().any(|other| other.name == version.name);
    let own_versions = own.into_iter().flat_map(|group| &group.versions).filter(|version| !hidden(version));
    let mut versions: Vec<Version> = own_versions.cloned().collect();
    let own_priority = own.filter(|_| !versions.is_empty()).map_or(0, |group| group.priority);
    let priority = proxied.iter().map(|version| version.group_priority).fold(own_priority, u32::max);
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
