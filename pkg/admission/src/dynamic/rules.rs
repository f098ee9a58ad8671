//! Rules of webhooks and policies: operations, groups, versions, resources and scope (upstream's
//! `plugin/webhook/predicates/rules`).

use api::resources::Resource;
use api::tree::{maybe_text, texts};
use schema::object::Object;

use crate::Operation;

/// Which resources a request may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Any,
    /// In a namespace, which namespaces themselves are not.
    Namespaced,
    Cluster,
    /// What the API does not know, and nothing has.
    Unknown,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    operations: Vec<Box<str>>,
    groups: Vec<Box<str>>,
    versions: Vec<Box<str>>,
    /// Resource and subresource.
    resources: Vec<(Box<str>, Box<str>)>,
    /// Empty: whatever their names are.
    names: Vec<Box<str>>,
    scope: Scope,
}

/// What rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// API group.
    pub group: &'a str,
    /// Version.
    pub version: &'a str,
    /// Resource.
    pub plural: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Whether the request is in a namespace. One about a namespace is in that.
    pub namespaced: bool,
}

impl<'a> Place<'a> {
    /// Of an operation at an endpoint.
    pub fn of(operation: Operation, endpoint: &'a Resource<'_>) -> Self {
        let Resource { group, version, plural, subresource, namespaced, .. } = *endpoint;
        let is_namespace = (group, plural) == ("", "namespaces");
        Place { operation, group, version, plural, subresource, namespaced: namespaced || is_namespace }
    }
}

fn owned(object: &Object, name: &str) -> Vec<Box<str>> {
    texts(object, name).map(Box::from).collect()
}

fn has(items: &[Box<str>], wanted: &str) -> bool {
    items.iter().any(|item| &**item == "*" || &**item == wanted)
}

impl Rule {
    /// A `RuleWithOperations` or `NamedRuleWithOperations`.
    pub fn read(rule: &Object) -> Self {
        let resources = texts(rule, "resources").map(|resource| {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            (resource.into(), subresource.into())
        });
        Rule {
            operations: owned(rule, "operations"),
            groups: owned(rule, "apiGroups"),
            versions: owned(rule, "apiVersions"),
            resources: resources.collect(),
            names: owned(rule, "resourceNames"),
            scope: match maybe_text(rule, "scope") {
                None | Some("*") => Scope::Any,
                Some("Namespaced") => Scope::Namespaced,
                Some("Cluster") => Scope::Cluster,
                Some(_) => Scope::Unknown,
            },
        }
    }

    /// Whether it matches, the names of objects aside.
    pub fn matches(&self, place: &Place<'_>) -> bool {
        let is_namespace = (place.group, place.version, place.plural) == ("", "v1", "namespaces");
        let in_scope = match self.scope {
            Scope::Any => true,
            Scope::Namespaced => !is_namespace && place.namespaced,
            Scope::Cluster => is_namespace || !place.namespaced,
            Scope::Unknown => false,
        };
        let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        in_scope
            && has(&self.operations, place.operation.name())
            && has(&self.groups, place.group)
            && has(&self.versions, place.version)
            && self
                .resources
                .iter()
                .any(|(plural, sub)| fits(plural, place.plural) && fits(sub, place.subresource))
    }

    /// Whether it is about an object of this name.
    pub fn names(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|known| &**known == name)
    }

    /// Whether it is about objects of some names alone.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }
}
