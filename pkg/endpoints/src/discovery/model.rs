//! What discovery is made from: groups, versions, resources; built-in ones from the rows, custom
//! and proxied ones from whoever serves them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use api::catalog::{self, Catalog, Owner};
use api::resources::{Handle, Resource};
use apimachinery::gvk::split_api_version;
use schema::object::Object;

/// Text of a row, or owned text of a custom resource.
pub type Text = Cow<'static, str>;

/// An API group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Group name; empty for the core group.
    pub name: Text,
    /// Groups are listed by descending priority, then by name.
    pub priority: u32,
    /// In order of preference.
    pub versions: Vec<Version>,
}

/// A served version of a group.
#[derive(Debug, Clone)]
pub struct Version {
    /// For example `v1`.
    pub name: Text,
    /// Who answers for the version.
    pub source: Source,
    /// What another server says of the version, which is nothing if that server never told.
    pub described: Option<Arc<Object>>,
    /// In the order in which they are listed; subresources anywhere.
    pub resources: Vec<ApiResource>,
}

/// Who answers for a group version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// This server. Its paths are strict about methods and media types.
    Builtin,
    /// A CustomResourceDefinition.
    Custom,
    /// Another server, which also answers the version's own document.
    Proxied {
        /// What is known may be out of date, because the server did not answer.
        stale: bool,
    },
}

/// A resource or subresource of a version.
#[derive(Debug, Clone)]
pub struct ApiResource {
    /// `pods` or `pods/status`.
    pub name: Text,
    /// Empty for subresources.
    pub singular: Text,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Group and version of `kind` where they are not those of the endpoint.
    pub kind_group_version: Option<(Text, Text)>,
    /// Kind of the body.
    pub kind: Text,
    /// Kubernetes verbs, in the order in which they are listed.
    pub verbs: Cow<'static, [&'static str]>,
    /// Abbreviations.
    pub short_names: Vec<Text>,
    /// Groups of resources such as `all`.
    pub categories: Vec<Text>,
    /// Empty where nothing is stored.
    pub storage_version_hash: Text,
}

impl From<&Handle> for ApiResource {
    fn from(handle: &Handle) -> Self {
        match handle {
            Handle::Builtin(row) => described(row, Text::Borrowed),
            Handle::Custom(_) => described(handle.row(), |text| Text::Owned(text.to_owned())),
        }
    }
}

/// What upstream lists of a custom resource whose definition is being deleted.
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

fn is_ending(row: &Resource<'_>) -> bool {
    row.subresource.is_empty() && row.custom.is_some_and(|custom| custom.kind.terminating)
}

/// Describes a row; `text` keeps its words.
fn described<'r>(row: &Resource<'r>, text: impl Fn(&'r str) -> Text) -> ApiResource {
    let foreign = (row.kind_group_version != row.group_version)
        .then(|| split_api_version(row.kind_group_version))
        .map(|(group, version)| (text(group), text(version)));
    ApiResource {
        name: if row.subresource.is_empty() { text(row.plural) } else { row.path().into() },
        singular: text(row.singular),
        namespaced: row.namespaced,
        kind_group_version: foreign,
        kind: text(row.kind),
        verbs: if is_ending(row) { TERMINATING_VERBS.into() } else { row.verbs.into() },
        short_names: row.short_names.iter().map(|name| text(name)).collect(),
        categories: row.categories.iter().map(|name| text(name)).collect(),
        storage_version_hash: text(row.storage_version_hash),
    }
}

/// The resources of a version in the order in which upstream lists them: of custom resources the status comes before
/// the scale.
fn resources_of(version: &catalog::Version) -> Vec<ApiResource> {
    let mut rows: Vec<&Handle> = version.endpoints.iter().map(|endpoint| &endpoint.row).collect();
    if version.owner == Owner::Custom {
        rows.sort_by_key(|handle| {
            let row = handle.row();
            (row.plural, row.subresource == "scale", row.subresource)
        });
    }
    rows.into_iter().map(ApiResource::from).collect()
}

/// The groups of a catalog.
pub fn groups_of(catalog: &Catalog) -> Vec<Group> {
    let version = |version: &catalog::Version| {
        let (source, described) = match &version.owner {
            Owner::Builtin => (Source::Builtin, None),
            Owner::Custom => (Source::Custom, None),
            Owner::Proxied(proxied) => (Source::Proxied { stale: proxied.stale }, proxied.described.clone()),
        };
        Version { name: version.name.clone().into(), source, described, resources: resources_of(version) }
    };
    let groups = catalog.groups().map(|group| Group {
        name: group.name.clone().into(),
        priority: group.priority,
        versions: group.versions.iter().map(version).collect(),
    });
    groups.collect()
}

/// Sorts groups as discovery lists them.
pub(super) fn sort(groups: &mut [Group]) {
    groups.sort_by(|a, b| Reverse(a.priority).cmp(&Reverse(b.priority)).then_with(|| a.name.cmp(&b.name)));
}

impl Group {
    /// `v1` or `apps/v1`.
    pub fn group_version(&self, version: &Version) -> String {
        match self.name.as_ref() {
            "" => version.name.to_string(),
            group => format!("{group}/{}", version.name),
        }
    }
}
