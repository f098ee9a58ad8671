//! Rules of webhooks and policies: operations, groups, versions, resources and scope (upstream's
//! `plugin/webhook/predicates/rules`).

use api::resources::Resource;
use api::tree::{maybe_text, texts};
use schema::object::Object;

use crate::Operation;

/// Scope of the matched resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Any,
    /// Namespaced resources. Namespaces themselves are cluster-scoped.
    Namespaced,
    Cluster,
    /// An invalid scope. It matches nothing.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    operations: Vec<Box<str>>,
    groups: Vec<Box<str>>,
    versions: Vec<Box<str>>,
    /// Resource and subresource.
    resources: Vec<(Box<str>, Box<str>)>,
    /// Empty for all names.
    names: Vec<Box<str>>,
    scope: Scope,
}

/// Properties of a request that rules match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleTarget<'a> {
    pub operation: Operation,
    pub group: &'a str,
    pub version: &'a str,
    pub plural: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// True if the request has a namespace. A request about a namespace object has one too.
    pub namespaced: bool,
}

impl<'a> RuleTarget<'a> {
    pub fn of(operation: Operation, endpoint: &'a Resource<'_>) -> Self {
        let Resource { group, version, plural, subresource, namespaced, .. } = *endpoint;
        let is_namespace = (group, plural) == ("", "namespaces");
        RuleTarget { operation, group, version, plural, subresource, namespaced: namespaced || is_namespace }
    }
}

fn to_boxed_texts(object: &Object, name: &str) -> Vec<Box<str>> {
    texts(object, name).map(Box::from).collect()
}

fn has(items: &[Box<str>], value: &str) -> bool {
    items.iter().any(|item| &**item == "*" || &**item == value)
}

impl Rule {
    /// Reads a `RuleWithOperations` or `NamedRuleWithOperations`.
    pub fn read(rule: &Object) -> Self {
        let resources = texts(rule, "resources").map(|resource| {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            (resource.into(), subresource.into())
        });
        Rule {
            operations: to_boxed_texts(rule, "operations"),
            groups: to_boxed_texts(rule, "apiGroups"),
            versions: to_boxed_texts(rule, "apiVersions"),
            resources: resources.collect(),
            names: to_boxed_texts(rule, "resourceNames"),
            scope: match maybe_text(rule, "scope") {
                None | Some("*") => Scope::Any,
                Some("Namespaced") => Scope::Namespaced,
                Some("Cluster") => Scope::Cluster,
                Some(_) => Scope::Unknown,
            },
        }
    }

    /// True if the rule matches, regardless of object names.
    pub fn matches(&self, target: &RuleTarget<'_>) -> bool {
        let is_namespace = (target.group, target.version, target.plural) == ("", "v1", "namespaces");
        let in_scope = match self.scope {
            Scope::Any => true,
            Scope::Namespaced => !is_namespace && target.namespaced,
            Scope::Cluster => is_namespace || !target.namespaced,
            Scope::Unknown => false,
        };
        let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        in_scope
            && has(&self.operations, target.operation.name())
            && has(&self.groups, target.group)
            && has(&self.versions, target.version)
            && self
                .resources
                .iter()
                .any(|(plural, sub)| fits(plural, target.plural) && fits(sub, target.subresource))
    }

    /// True if the rule applies to objects with this name.
    pub fn names(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|listed| &**listed == name)
    }

    /// True if the rule is limited to certain names.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }
}
