//! What discovery is made from: groups, versions, resources; built-in ones from the rows, custom
//! and proxied ones from whoever serves them.

use std::borrow::Cow;
use std::cmp::Reverse;

use api::resources::{self, Resource};
use apimachinery::gvk::split_api_version;

/// Text of a row, or owned text of a custom resource.
pub type Text = Cow<'static, str>;

/// The priority that upstream's aggregator gives its own group.
const AGGREGATOR_PRIORITY: u32 = 20_000;

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
    /// Whether `resources` may be out of date, because the backend did not answer.
    pub stale: bool,
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
    Proxied,
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

impl From<&'static Resource<'static>> for ApiResource {
    fn from(row: &'static Resource<'static>) -> Self {
        let texts = |names: &'static [&'static str]| names.iter().map(|&name| Text::from(name)).collect();
        let foreign = (row.kind_group_version != row.group_version)
            .then(|| split_api_version(row.kind_group_version))
            .map(|(group, version)| (group.into(), version.into()));
        ApiResource {
            name: if row.subresource.is_empty() { row.plural.into() } else { row.path().into() },
            singular: row.singular.into(),
            namespaced: row.namespaced,
            kind_group_version: foreign,
            kind: row.kind.into(),
            verbs: row.verbs.into(),
            short_names: texts(row.short_names),
            categories: texts(row.categories),
            storage_version_hash: row.storage_version_hash.into(),
        }
    }
}

/// The built-in groups with those of their resources that `served` lets pass. Versions and groups
/// that are left empty are left out.
pub fn builtin_groups(served: impl Fn(&Resource) -> bool) -> Vec<Group> {
    let version = |group: &resources::Group, version: &resources::GroupVersion| {
        let rows = group.resources_of(version.version).iter().filter(|row| served(row));
        Version {
            name: version.version.into(),
            source: Source::Builtin,
            stale: false,
            resources: rows.map(ApiResource::from).collect(),
        }
    };
    let groups = resources::groups().iter().map(|group| Group {
        name: group.name.into(),
        priority: group.priority.unwrap_or(AGGREGATOR_PRIORITY),
        versions: group
            .versions
            .iter()
            .map(|v| version(group, v))
            .filter(|v| !v.resources.is_empty())
            .collect(),
    });
    groups.filter(|group| !group.versions.is_empty()).collect()
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
