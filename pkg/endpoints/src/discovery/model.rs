//! Data of the discovery documents: groups, versions and resources. Built-in ones come from the rows, custom
//! ones from CRDs, and proxied ones from their servers.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use api::catalog::{self, Catalog, Owner};
use api::resources::{Handle, Resource, storage_version_hash};
use apimachinery::gvk::split_api_version;
use component_base::features::Effective;
use schema::object::Object;

/// Static text of a row, or owned text of a custom resource.
pub type Text = Cow<'static, str>;

#[derive(Debug, Clone)]
pub struct Group {
    /// Empty for the core group.
    pub name: Text,
    /// Listing order: descending priority, then name.
    pub priority: u32,
    pub versions: Vec<Version>,
}

#[derive(Debug, Clone)]
pub struct Version {
    pub name: Text,
    /// Server of the version.
    pub source: Source,
    /// Discovery document of the aggregated server; `None` if the server has never returned one.
    pub discovery: Option<Arc<Object>>,
    /// In listing order; subresources may be anywhere.
    pub resources: Vec<ApiResource>,
}

/// Server of a group version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// This server. Its paths check methods and media types strictly.
    Builtin,
    /// A CustomResourceDefinition.
    Custom,
    /// Another server, which also serves the document of the version.
    Proxied {
        /// True if the data may be outdated, because the server did not respond.
        stale: bool,
    },
}

#[derive(Debug, Clone)]
pub struct ApiResource {
    pub name: Text,
    pub singular: Text,
    pub namespaced: bool,
    /// Group and version of `kind` if they differ from the endpoint's.
    pub kind_group_version: Option<(Text, Text)>,
    pub kind: Text,
    /// Kubernetes verbs, in listing order.
    pub verbs: Cow<'static, [&'static str]>,
    pub short_names: Vec<Text>,
    /// Categories such as `all`.
    pub categories: Vec<Text>,
    /// Empty if the resource is not stored.
    pub storage_version_hash: Text,
}

impl ApiResource {
    /// Describes an endpoint. `hashes_for` are the releases that determine storage version hashes.
    fn of(handle: &Handle, hashes_for: Option<Effective>) -> Self {
        let described = match handle {
            Handle::Builtin(row) => describe(row, Text::Borrowed),
            Handle::Custom(_) => describe(handle.row(), |text| Text::Owned(text.to_owned())),
        };
        let storage_version_hash = match (handle, hashes_for) {
            (_, None) => "".into(),
            (Handle::Builtin(row), Some(releases)) => storage_version_hash(row, releases),
            (Handle::Custom(_), Some(_)) => return described,
        };
        ApiResource { storage_version_hash, ..described }
    }
}

/// Verbs that upstream lists for a custom resource whose CRD is being deleted.
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

fn is_terminating(row: &Resource<'_>) -> bool {
    row.subresource.is_empty() && row.custom.is_some_and(|custom| custom.kind.terminating)
}

/// Describes a row. `text` converts its strings.
fn describe<'r>(row: &Resource<'r>, text: impl Fn(&'r str) -> Text) -> ApiResource {
    let foreign = (row.kind_group_version != row.group_version)
        .then(|| split_api_version(row.kind_group_version))
        .map(|(group, version)| (text(group), text(version)));
    ApiResource {
        name: if row.subresource.is_empty() { text(row.plural) } else { row.path().into() },
        singular: text(row.singular),
        namespaced: row.namespaced,
        kind_group_version: foreign,
        kind: text(row.kind),
        verbs: if is_terminating(row) { TERMINATING_VERBS.into() } else { row.verbs.into() },
        short_names: row.short_names.iter().map(|name| text(name)).collect(),
        categories: row.categories.iter().map(|name| text(name)).collect(),
        storage_version_hash: text(row.storage_version_hash),
    }
}

/// Returns the resources of a version in upstream's order. For custom resources, status comes before scale.
fn resources_of(version: &catalog::Version, hashes_for: Option<Effective>) -> Vec<ApiResource> {
    let mut rows: Vec<&Handle> = version.endpoints.iter().map(|endpoint| &endpoint.row).collect();
    if version.owner == Owner::Custom {
        rows.sort_by_key(|handle| {
            let row = handle.row();
            (row.plural, row.subresource == "scale", row.subresource)
        });
    }
    rows.into_iter().map(|handle| ApiResource::of(handle, hashes_for)).collect()
}

/// Returns the groups of a catalog. `hashes_for` are the releases that determine storage version hashes; `None` omits
/// the hashes.
pub fn groups_of(catalog: &Catalog, hashes_for: Option<Effective>) -> Vec<Group> {
    let version = |version: &catalog::Version| {
        let (source, discovery) = match &version.owner {
            Owner::Builtin => (Source::Builtin, None),
            Owner::Custom => (Source::Custom, None),
            Owner::Proxied(proxied) => (Source::Proxied { stale: proxied.stale }, proxied.discovery.clone()),
        };
        Version {
            name: version.name.clone().into(),
            source,
            discovery,
            resources: resources_of(version, hashes_for),
        }
    };
    let groups = catalog.groups().map(|group| Group {
        name: group.name.clone().into(),
        priority: group.priority,
        versions: group.versions.iter().map(version).collect(),
    });
    groups.collect()
}

pub(super) fn sort(groups: &mut [Group]) {
    groups.sort_by(|a, b| Reverse(a.priority).cmp(&Reverse(b.priority)).then_with(|| a.name.cmp(&b.name)));
}

impl Group {
    pub fn group_version(&self, version: &Version) -> String {
        match self.name.as_ref() {
            "" => version.name.to_string(),
            group => format!("{group}/{}", version.name),
        }
    }
}
